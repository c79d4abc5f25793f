"""Clocks on virtual time: the store's true one, and the workers' that may be wrong."""

from __future__ import annotations

import asyncio

from webordinary.simulation.kernel import Kernel

EPOCH = 1_700_000_000.0


class SimClock:
    """See `Clock`. `skew` is how wrong this process's wall clock is, in seconds; it may change."""

    def __init__(self, kernel: Kernel, name: str, skew: float = 0.0) -> None:
        """Tell the kernel's time."""
        self._kernel, self._name, self.skew = kernel, name, skew
        self._made = 0

    def now(self) -> float:
        """See `Clock.now`."""
        return EPOCH + self._kernel.time() + self.skew

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._kernel.time()

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        await asyncio.sleep(seconds)

    def chance(self) -> float:
        """See `Clock.chance`."""
        return self._kernel.rng.random()

    def unique(self) -> str:
        """See `Clock.unique`."""
        self._made += 1
        return f"{self._name}-{self._made:03}"
