"""Trying again, later and later, and never all at once."""

from __future__ import annotations

from webordinary.ports.clock import Clock

FIRST_SECONDS = 0.1
MOST_SECONDS = 5.0


class Backoff:
    """Waits that double up to a bound, with jitter, until something succeeds."""

    def __init__(self, clock: Clock) -> None:
        """Start from the shortest wait."""
        self._clock = clock
        self._seconds = FIRST_SECONDS

    async def wait(self) -> None:
        """Wait after a failure: between half and all of the current step."""
        seconds = self._seconds * (0.5 + self._clock.chance() / 2)
        self._seconds = min(self._seconds * 2, MOST_SECONDS)
        await self._clock.sleep(seconds)

    def succeeded(self) -> None:
        """Start over from the shortest wait."""
        self._seconds = FIRST_SECONDS
