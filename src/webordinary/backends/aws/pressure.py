"""How many lanes wait for an owner, as this process last saw it: who sweeps or claims has read it anyway."""

from __future__ import annotations

import math
from collections.abc import Iterable

from webordinary.claim.rows import LaneRow
from webordinary.core.limits import Limits
from webordinary.ports.clock import Clock


class Pressure:
    """What was seen of lanes that wait. An owner gives way for their sake, a little late if this is old."""

    def __init__(self, clock: Clock, limits: Limits, good_for_seconds: float) -> None:
        """Start with nothing seen."""
        self._clock, self._limits, self._good_for = clock, limits, good_for_seconds
        self._seen_at = -math.inf
        self._waiting_from: list[float] = []

    def saw(self, lanes: Iterable[LaneRow]) -> None:
        """Note which lanes wait, among all that may."""
        now = self._seen_at = self._clock.now()
        self._waiting_from = [
            max(row.wanted_since, row.wanted_from)
            for row in lanes
            if row.wanted_since is not None and row.open and not row.owned(now, self._limits)
        ]

    @property
    def known(self) -> bool:
        """Whether what was seen is good enough still."""
        return self._clock.now() - self._seen_at < self._good_for

    def current(self) -> tuple[int, float]:
        """Say how many lanes wait, and the longest wait in seconds."""
        now = self._clock.now()
        waits = [now - since for since in self._waiting_from if since <= now]
        return len(waits), max(waits, default=0.0)
