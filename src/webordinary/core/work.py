"""The work on a site as plain values: what the agent is asked, what it says, and what changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from webordinary.core.facts import FailureDetails
from webordinary.core.failure import FailureKind

EVENT_CHARACTERS = 2_000  # of one event; longer ones are cut
EVENTS_MAX = 500  # kept of one attempt; the rest is counted, not kept


@dataclass(frozen=True, slots=True)
class Room:
    """The folders an agent or a build is let into. Nothing of another project is in them."""

    tree: Path  # the site's files: to be read and changed; no git directory is in it
    mail: Path  # the mail's files: to be read only
    home: Path  # a private home that is empty but for what we put there


@dataclass(frozen=True, slots=True)
class MailedFile:
    """A file of the mail, in the room's mail folder."""

    name: str
    kind: str  # MIME type
    claimed_name: str = ""  # what its sender calls it; for people, never for a path

    @property
    def called(self) -> str:
        """What to call it when people are spoken to."""
        return self.claimed_name or self.name


@dataclass(frozen=True, slots=True)
class Earlier:
    """A request that was interrupted by the one at hand, and is to be carried out with it."""

    instruction: str
    files: tuple[MailedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What the agent is asked to do. `instruction` and `earlier` are orders; all else is material."""

    job: str
    instruction: str
    prompt: str  # the instruction and its material, fenced, for agents that read text
    subject: str = ""
    files: tuple[MailedFile, ...] = ()
    conflicts: tuple[str, ...] = ()  # files with conflict markers that must be resolved first
    resume: bytes | None = None  # the agent's own session as an earlier job of the conversation left it
    earlier: tuple[Earlier, ...] = ()  # what this one took over, oldest first
    recap: str = ""  # the conversation so far in a few lines, for when the session can't be resumed


class EventKind(StrEnum):
    """What an agent can tell about itself while it works."""

    STARTED = "started"
    SAID = "said"
    USED = "used"  # a tool, on something
    WARNED = "warned"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One thing a running agent did or said, for people."""

    kind: EventKind
    text: str


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event as it is kept with its job."""

    number: int  # grows within the job, over all attempts
    at: float
    attempt: int
    kind: EventKind
    text: str


@dataclass(frozen=True, slots=True)
class Worked:
    """The agent says it is done; what it changed is in the tree."""

    summary: str
    session: bytes | None = field(default=None, repr=False)  # for `AgentTask.resume` of the next job
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Declined:
    """The agent can't do this and changed nothing; of kind `DECLINED` its reason is in the letter."""

    reason: str
    kind: FailureKind = FailureKind.DECLINED
    details: FailureDetails | None = None  # for the letter


@dataclass(frozen=True, slots=True)
class Stopped:
    """The agent was interrupted; what it had changed until then is in the tree."""

    summary: str = ""
    session: bytes | None = field(default=None, repr=False)
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Broke:
    """The run failed. `again`: another attempt may well succeed (the model was busy, the program died)."""

    reason: str  # for the operator
    again: bool
    cost_usd: float = 0.0
    kind: FailureKind = FailureKind.AGENT_BROKE


AgentResult = Worked | Declined | Stopped | Broke


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after. Content is None where there is none or where it is too large."""

    path: str
    kind: ChangeKind
    old: bytes | None = field(default=None, repr=False)
    new: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Built:
    """The site as it is to be published: the folder that holds it."""

    output: Path


@dataclass(frozen=True, slots=True)
class BuildFailed:
    """The build failed; the tail of its log is for the person who asked."""

    reason: str
    log_tail: str = ""
