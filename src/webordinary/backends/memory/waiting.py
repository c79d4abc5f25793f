"""Lanes that wait, sorted out of all there are: a small store needs no index."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from webordinary.backends.memory.rows import LaneRow
from webordinary.claim.fairness import ProjectLoad, WaitingLane
from webordinary.core.claim import WorkerId


class WaitingRows:
    """See `WaitingLanes`."""

    def __init__(
        self,
        rows: Iterable[LaneRow],
        everybody: Iterable[LaneRow],
        takes_lanes: Callable[[WorkerId], bool],
        now: float,
    ) -> None:
        """Look for lanes that wait among these rows; all others count as in hand where they are."""
        wanted = sorted(
            WaitingLane(max(row.wanted_since, row.wanted_from), row.lane, row.last_worker)
            for row in rows
            if row.wanted_since is not None and row.open and not row.owned(now)
        )
        self._waiting = [one for one in wanted if one.since <= now]
        self._begin = [one.since for one in wanted if one.since > now]
        self._in_hand = Counter(row.lane.project for row in everybody if row.owned(now))
        self.takes_lanes = takes_lanes

    def longest(self, before: float) -> Iterator[WaitingLane]:
        """See `WaitingLanes.longest`."""
        return (one for one in self._waiting if one.since <= before)

    def projects(self) -> Iterator[ProjectLoad]:
        """See `WaitingLanes.projects`."""
        longest = {one.lane.project: one.since for one in reversed(self._waiting)}
        loads = (ProjectLoad(self._in_hand[project], since, project) for project, since in longest.items())
        return iter(sorted(loads))

    def of(self, project: str) -> Iterator[WaitingLane]:
        """See `WaitingLanes.of`."""
        return (one for one in self._waiting if one.lane.project == project)

    def next_begins(self) -> float:
        """See `WaitingLanes.next_begins`."""
        return self._begin[0] if self._begin else math.inf
