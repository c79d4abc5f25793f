"""Our conventions in a repository: names of refs and folders, and what commits say.

Nothing that came by mail becomes a name unchecked, and nobody else can forge the trailers that we read back.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from webordinary.core.claim import Delivery
from webordinary.core.errors import BadInput
from webordinary.core.text import one_line, storable
from webordinary.ports.workspaces import Signed

EDIT = "refs/heads/webordinary/edit"  # what is previewed
UNFINISHED = "refs/webordinary/unfinished/"
TRACKED = "refs/upstream/"  # in a mirror: the repository's refs as they were seen last
MAIN_SEEN = TRACKED + "main"  # where the repository's HEAD was

# No underscore: a name that is made of something else has one, so the two never clash.
_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?", re.ASCII)
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)


def seen(ref: str) -> str:
    """Where a mirror keeps what it saw of a ref of the repository."""
    return TRACKED + ref.removeprefix("refs/")


def plain(name: str) -> str:
    """A name that is safe as a file and as a part of a ref; different for different names."""
    if _PLAIN.fullmatch(name):
        return name
    return "hash_" + hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]


def checked_commit(commit: str) -> str:
    """Refuse what is no name of a commit: it would become a word of a command."""
    if not _OBJECT.fullmatch(commit):
        raise BadInput(f"{commit!r} is no name of a commit")
    return commit


@dataclass(frozen=True, slots=True)
class Names:
    """What one job reads and writes in its project's repository."""

    project: str
    conversation: str  # the folder of its tree
    fence: str
    session: str
    unfinished: str

    @classmethod
    def of(cls, delivery: Delivery) -> Names:
        """Name them for a delivery."""
        lane, job = delivery.claim.lane, delivery.job
        conversation = plain(job.session) if job.session else f"lane_{lane.user}"
        return cls(
            lane.project,
            conversation,
            f"refs/webordinary/lanes/{lane.project}-{lane.user}",
            f"refs/heads/session/{conversation}",
            UNFINISHED + plain(job.id),
        )

    @property
    def fetched(self) -> tuple[str, ...]:
        """What is fetched. With a star: a ref that is not there yet is no error then."""
        stars = (EDIT, self.session, self.fence)
        return (f"+HEAD:{MAIN_SEEN}", *(f"+{ref}*:{seen(ref)}*" for ref in stars))


# --- what our commits say: for people in the first lines, for ourselves in trailers ----------------------

NAME, ADDRESS = "Webordinary", "webordinary@localhost"
GIST_CHARACTERS = 72
BODY_CHARACTERS = 4_000
VALUE_CHARACTERS = 320

JOB, LANE, SESSION = "Webordinary-Job", "Webordinary-Lane", "Webordinary-Session"
UNDOES, REDOES, SENDER = "Webordinary-Undoes", "Webordinary-Redoes", "Requested-by"
_FORGED = re.compile(r"\s*(webordinary-[a-z-]*|requested-by)\s*:", re.IGNORECASE)
FORMAT = "%H%n%P%n%ce%n%B"  # of `git log -z`, read by `Kept.read`


def message_of(delivery: Delivery, signed: Signed, **turned: str) -> str:
    """Write the message of a job's commit. Only the last paragraph is ever read back, and it is ours."""
    job = delivery.job
    trailers = {JOB: job.id, LANE: str(job.lane), SESSION: job.session}
    trailers |= {{"undoes": UNDOES, "redoes": REDOES}[way]: target for way, target in turned.items()}
    gist = one_line(signed.gist, GIST_CHARACTERS) or "A change by mail"
    body = "\n".join(_harmless(line) for line in storable(signed.body)[:BODY_CHARACTERS].splitlines()).strip()
    last = _block(trailers | {SENDER: signed.sender})
    return "\n\n".join(part for part in (gist, body, last) if part) + "\n"


def merge_message(delivery: Delivery, gist: str) -> str:
    """Write the message of a merge that no job asked for: it is nobody's change, and never undone."""
    return f"{gist}\n\n{_block({LANE: str(delivery.job.lane)})}\n"


def author_line(sender: str, seconds: float) -> str:
    """Name the author: the person who asked, at our address."""
    name = one_line(re.sub(r"[<>]", "", sender), VALUE_CHARACTERS).strip(" .,:;\"'\\") or NAME
    return f"{name} <{ADDRESS}> {max(0, int(seconds))} +0000"


def _harmless(line: str) -> str:
    """A line of the body that no tool takes for a trailer of ours."""
    clean = "".join(char if char.isprintable() else " " for char in line).rstrip()
    return f"> {clean.lstrip()}" if _FORGED.match(clean) else clean


def _block(trailers: Mapping[str, str]) -> str:
    lines = ((key, one_line(value, VALUE_CHARACTERS)) for key, value in trailers.items())
    return "\n".join(f"{key}: {value}" for key, value in lines if value)


@dataclass(frozen=True, slots=True)
class Kept:
    """A commit of the repository, as far as it is one of ours."""

    commit: str
    parents: tuple[str, ...]
    gist: str
    trailers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""  # between the gist and the trailers

    @classmethod
    def read(cls, text: str) -> Kept:
        """Read one commit of `git log`. Somebody else's copy of our commit has no trailers for us."""
        commit, parents, committer, message = text.split("\n", 3)
        paragraphs = message.strip("\n").split("\n\n")
        found: dict[str, str] = {}
        if committer == ADDRESS and len(paragraphs) > 1:
            for line in paragraphs[-1].splitlines():
                key, _, value = line.partition(": ")
                found.setdefault(key, value)
        return cls(commit, tuple(parents.split()), paragraphs[0], found, "\n\n".join(paragraphs[1:-1]))

    def is_of(self, job: str) -> bool:
        """Whether this job made it."""
        return self.trailers.get(JOB) == one_line(job, VALUE_CHARACTERS)
