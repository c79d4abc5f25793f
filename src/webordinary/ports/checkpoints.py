"""How far a mailbox on somebody else's server was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Which mails of an IMAP folder are still to be received.

    Those with a UID from `first_uid` on, and the `unsettled` ones below it. UIDs mean something only together
    with the folder's UIDVALIDITY; when that changes, `since` says where to begin: the rest is settled.
    """

    uid_validity: int
    first_uid: int
    since: float
    unsettled: tuple[int, ...] = ()
    took_all: bool = False  # whether mail from before the first contact was asked for, and counted in


class Checkpoints(Protocol):
    """One checkpoint a folder, replaced as a whole. Losing the latest costs a second look, never a mail."""

    async def load(self, folder: str) -> Checkpoint | None:
        """Give the checkpoint of a folder; None if it was never read."""
        ...

    async def save(self, folder: str, checkpoint: Checkpoint) -> None:
        """Keep the checkpoint of a folder instead of what was kept before."""
        ...
