"""Members whose mail comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

BOUNCES_TO_MARK = 3  # letters in a row, without a mail of the member's in between
BOUNCES_KEPT = 10


@dataclass(frozen=True, slots=True)
class Bouncing:
    """An address from which letters came back, since a mail last came from it."""

    address: str
    letters: tuple[str, ...]  # which, the latest last; never more than are kept
    since: float
    reason: str  # of the latest

    @property
    def marked(self) -> bool:
        """Whether that was often enough to write there no more than necessary."""
        return len(self.letters) >= BOUNCES_TO_MARK

    def after(self, letter: str, reason: str) -> Bouncing:
        """The same after one more letter came back; one that is told of twice counts once."""
        others = [known for known in self.letters if known != letter]
        return Bouncing(self.address, (*others, letter)[-BOUNCES_KEPT:], self.since, reason)


class Bounces(Protocol):
    """Addresses with the letters that came back from them, in the store."""

    async def note(self, address: str, letter: str, reason: str) -> Bouncing:
        """Note that a letter came back for good; the same letter counts once."""
        ...

    async def forget(self, address: str) -> bool:
        """A mail came from this address, so it works: forget what came back. False if nothing had."""
        ...

    async def of(self, address: str) -> Bouncing | None:
        """What came back from an address; None if nothing did since a mail last came from it."""
        ...

    async def all(self, *, limit: int) -> list[Bouncing]:
        """List all of them, by address."""
        ...
