"""What an attempt at a job leaves beside its outcome, and what a letter is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from webordinary.core.failure import DemoObstacle, FailureKind, MailProblem
from webordinary.core.job import JobId
from webordinary.core.page_changes import PageChange
from webordinary.core.release import BrokenLink

RECAP_LINES, SINCE_LINES = 12, 12


@dataclass(frozen=True, slots=True)
class PagePictures:
    """A page of the site before and after, as the blobs that hold its pictures."""

    page: str
    before: str  # "" if there is none
    after: str


@dataclass(frozen=True, slots=True)
class PreviewFacts:
    """A change that can be seen in the preview."""

    commit: str
    release: str = ""
    former_release: str = ""  # what was previewed until then; "" if that was the same, or nothing
    address: str = ""
    changes: tuple[PageChange, ...] = ()
    broken_links: tuple[BrokenLink, ...] = ()
    more_broken_links: int = 0
    patch: str = ""  # the blob that holds it
    pictures: tuple[PagePictures, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """A change by who asked for it; nobody's name means the reader."""

    user: str
    request: str
    taken_back: bool = False  # since then


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """A preview that was made live."""

    address: str
    changes: tuple[PageChange, ...] = ()
    unchanged: bool = False  # everybody saw it like this already
    later: tuple[RequestedChange, ...] = ()  # made after the preview that its reader had
    by_others: tuple[RequestedChange, ...] = ()
    upstream_conflicts: tuple[str, ...] = ()  # files that upstream changed, too; that is not live


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """What the next job of a conversation knows of those before it."""

    agent: str = ""
    agent_session: str = ""  # the blob that holds the agent's own session
    recap: tuple[str, ...] = ()
    since: tuple[str, ...] = ()  # what happened without the agent
    shown_commit: str = ""  # that the last letter with a preview showed

    def after_agent(self, agent: str, agent_session: str, turn: str) -> SessionMemory:
        """What is remembered after a turn of the agent: it knows all that happened until then."""
        recap = (*self.recap, turn)[-RECAP_LINES:]
        return replace(self, agent=agent, agent_session=agent_session, recap=recap, since=())

    def after(self, *happened: str) -> SessionMemory:
        """What is remembered after something happened without the agent."""
        recap, since = (*self.recap, *happened)[-RECAP_LINES:], (*self.since, *happened)[-SINCE_LINES:]
        return replace(self, recap=recap, since=since)


@dataclass(frozen=True, slots=True)
class UnfinishedWork:
    """A request whose work did not come into the site, and where that is kept."""

    request: str
    commit: str = ""  # "": nothing was kept
    why: str = ""  # "": it was interrupted
    ref: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoFacts:
    """What an undo or redo came to; one of the three is there."""

    request: str = ""  # whose change was taken back, or brought back
    elsewhere: bool = False  # that was asked for in another conversation
    stopped: str = ""  # the request that was still being carried out: stopping it was all
    never_made: str = ""  # the request that had changed nothing


@dataclass(frozen=True, slots=True)
class FailureDetails:
    """What the sentence about a failure names."""

    who: str = ""
    words: str = ""
    demo: DemoObstacle | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. Whatever is not there has its default; `NO_FACTS` is nothing at all."""

    preview: PreviewFacts | None = None
    live: LiveFacts | None = None
    undo: UndoFacts | None = None
    failure: FailureDetails | None = None
    unchanged: bool = False  # the agent ran and changed nothing
    also: tuple[str, ...] = ()  # earlier requests that were carried out with this one
    used_files: tuple[str, ...] = ()  # of the mail, by our names
    unused_files: tuple[str, ...] = ()
    read_quote: bool = False  # text of the mail that was read as quoted, not as a request
    read_ending: bool = False  # ... or as a signature
    unfinished: UnfinishedWork | None = None
    unfinished_before: tuple[UnfinishedWork, ...] = ()  # of jobs before, oldest first
    memory: SessionMemory = SessionMemory()

    def __bool__(self) -> bool:
        """Say whether anything was left."""
        return self is not NO_FACTS and self != NO_FACTS

    @property
    def address(self) -> str:
        """Where what was done can be seen."""
        place = self.live or self.preview
        return place.address if place else ""

    @property
    def changes(self) -> tuple[PageChange, ...]:
        """What is different there."""
        place = self.live or self.preview
        return place.changes if place else ()

    @property
    def next_memory(self) -> SessionMemory:
        """What the conversation's next job starts from."""
        return replace(self.memory, shown_commit=self.preview.commit) if self.preview else self.memory


NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Accepted:
    """Where a job stands in its lane."""

    ahead: int = 0
    interrupts: JobId | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended. For people who ask for the job itself, its row says the same."""

    note: str = ""
    failure: FailureKind | None = None
    by: JobId | None = None  # the newer job that interrupted or replaced it
    facts: Facts = NO_FACTS


@dataclass(frozen=True, slots=True)
class Question:
    """A mail that needs its sender's yes, and the token that such an answer carries."""

    token: str = ""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class NotAMember:
    """Whose conversation it was that the sender wrote in; "" if it was none."""

    project: str = ""


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    """The projects that the sender may mean."""

    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnclearWords:
    """Words that may be an order or not."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class MailFault:
    """Why a mail can't be read."""

    problem: MailProblem = MailProblem.DAMAGED


@dataclass(frozen=True, slots=True)
class StopRequest:
    """The jobs that are stopped, the running one first."""

    jobs: tuple[JobId, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusReport:
    """How things stand in a lane, and on its site."""

    project: str = ""
    running: str = ""
    waiting: int = 0
    previewed: tuple[RequestedChange, ...] = ()  # changes that are not live yet
    preview: str = ""
    live: str = ""


LetterFacts = (
    Accepted
    | Ending
    | Question
    | NotAMember
    | ProjectChoice
    | UnclearWords
    | MailFault
    | StopRequest
    | StatusReport
)
