"""Letters that came back, in plain Python."""

from __future__ import annotations

from webordinary.core.text import storable
from webordinary.ports.bounces import Bouncing
from webordinary.ports.clock import Clock


class MemoryBounces:
    """See `Bounces`."""

    def __init__(self, clock: Clock) -> None:
        """Start with none."""
        self._clock = clock
        self._known: dict[str, Bouncing] = {}

    async def note(self, address: str, letter: str, reason: str) -> Bouncing:
        """See `Bounces.note`."""
        address = storable(address)
        known = self._known.get(address) or Bouncing(address, (), self._clock.now(), "")
        self._known[address] = known.after(storable(letter), storable(reason))
        return self._known[address]

    async def forget(self, address: str) -> bool:
        """See `Bounces.forget`."""
        return self._known.pop(storable(address), None) is not None

    async def of(self, address: str) -> Bouncing | None:
        """See `Bounces.of`."""
        return self._known.get(storable(address))

    async def all(self, *, limit: int) -> list[Bouncing]:
        """See `Bounces.all`."""
        return [self._known[address] for address in sorted(self._known)][:limit]
