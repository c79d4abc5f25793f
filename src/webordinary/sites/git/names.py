"""Names in a repository and in a worker's folder. Nothing that came by mail becomes one unchecked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from webordinary.core.claim import Delivery
from webordinary.core.errors import BadInput

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
