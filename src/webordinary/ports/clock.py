"""Time and chance. The only way to either, so that the whole system runs on virtual time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time and chance of one process."""

    def now(self) -> float:
        """Seconds since 1970, as this machine believes."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps; only differences mean anything."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after so many seconds."""
        ...

    def chance(self) -> float:
        """Draw a number from 0 up to 1."""
        ...

    def unique(self) -> str:
        """Make up a short name that nobody else has; later ones sort later."""
        ...
