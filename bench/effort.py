"""How much is measured: all of it for a table that is kept, next to nothing to see that it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """As many rounds as a part finds right, or so many; and such a share of all sizes and times."""

    rounds: int | None = None
    share: float = 1.0
    peers: bool = True  # those that are installed

    def times(self, usual: int) -> int:
        """How many rounds to measure."""
        return usual if self.rounds is None else self.rounds

    def size(self, usual: int, *, least: int = 1) -> int:
        """How many jobs, lanes or requests."""
        return max(int(usual * self.share), least)

    def seconds(self, usual: float) -> float:
        """How long to measure a rate."""
        return usual * self.share


FULL = Effort()
SMALLEST = Effort(rounds=1, share=0.002, peers=False)
