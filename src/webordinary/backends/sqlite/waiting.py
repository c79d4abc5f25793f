"""Lanes that wait, in the order of indexes: reading a few costs the same however many there are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.claim.fairness import ProjectLoad, WaitingLane
from webordinary.core.claim import WorkerId
from webordinary.core.lane import Lane

# From when on a lane waits; the indexes have the very same words.
SINCE = "MAX(wanted_since, wanted_from)"
WAITS = "wanted_since IS NOT NULL"
_UNOWNED = "(worker IS NULL OR lease_until <= :now)"  # an owner that beats late clears its request only then

_LONGEST = f"""
    SELECT {SINCE}, lane, last_worker FROM lanes
    WHERE {WAITS} AND {SINCE} <= :before AND {_UNOWNED} ORDER BY {SINCE}, lane
"""
_OF_PROJECT = f"""
    SELECT {SINCE}, lane, last_worker FROM lanes
    WHERE project = :project AND {WAITS} AND {SINCE} <= :now AND {_UNOWNED} ORDER BY {SINCE}, lane
"""
_ONE = f"""
    SELECT {SINCE}, lane, last_worker FROM lanes WHERE lane = :only AND {WAITS} AND {_UNOWNED}
"""
_LOADS = """
    SELECT in_hand, since, project FROM project_load WHERE in_hand = :in_hand AND since <= :now
    ORDER BY since, project
"""
# Lanes of workers that died weigh nothing, though nobody has taken them over yet.
_DEAD = """
    SELECT project, COUNT(*) FROM lanes WHERE worker IS NOT NULL AND lease_until <= :now GROUP BY project
"""


class WaitingTables:
    """See `WaitingLanes`."""

    def __init__(self, tx: Tx, lease_seconds: float) -> None:
        """Look at the tables as they are in a transaction."""
        self._tx, self._lease_seconds = tx, lease_seconds

    def longest(self, before: float) -> Iterator[WaitingLane]:
        """See `WaitingLanes.longest`."""
        return map(_waiting, self._tx.each(_LONGEST, {"now": self._tx.now, "before": before}))

    def projects(self) -> Iterator[ProjectLoad]:
        """See `WaitingLanes.projects`."""
        dead: dict[str, int] = dict(self._tx.all(_DEAD, {"now": self._tx.now}))
        revised = sorted(self._revised(project, lanes) for project, lanes in dead.items())
        revised = [load for load in revised if load.since <= self._tx.now]
        for load in self._loads():
            while revised and revised[0] < load:
                yield revised.pop(0)
            if load.project not in dead:
                yield load
        yield from revised

    def _loads(self) -> Iterator[ProjectLoad]:
        """All loads, one number of lanes in hand after the other; projects in back-off cost nothing."""
        in_hand: int | None = -1
        while True:
            (in_hand,) = self._tx.one(
                "SELECT MIN(in_hand) FROM project_load WHERE since IS NOT NULL AND in_hand > ?", (in_hand,)
            ) or (None,)
            if in_hand is None:
                return
            for row in self._tx.each(_LOADS, {"in_hand": in_hand, "now": self._tx.now}):
                yield ProjectLoad(*row)

    def _revised(self, project: str, dead: int) -> ProjectLoad:
        row = self._tx.one("SELECT in_hand, since FROM project_load WHERE project = ?", (project,))
        in_hand, since = row or (dead, None)
        return ProjectLoad(in_hand - dead, math.inf if since is None else since, project)

    def of(self, project: str) -> Iterator[WaitingLane]:
        """See `WaitingLanes.of`."""
        return map(_waiting, self._tx.each(_OF_PROJECT, {"now": self._tx.now, "project": project}))

    def next_begins(self) -> float:
        """See `WaitingLanes.next_begins`."""
        row = self._tx.one(f"SELECT MIN({SINCE}) FROM lanes WHERE {WAITS} AND {SINCE} > ?", (self._tx.now,))
        return row[0] if row and row[0] is not None else math.inf

    def takes_lanes(self, worker: WorkerId) -> bool:
        """See `WaitingLanes.takes_lanes`."""
        found = self._tx.one(
            "SELECT 1 FROM workers WHERE worker = ? AND NOT draining AND seen_at + ? > ?",
            (worker, self._lease_seconds, self._tx.now),
        )
        return found is not None


class OneWaiting(WaitingTables):
    """The one lane that a worker is tied to, if it waits."""

    def __init__(self, tx: Tx, lease_seconds: float, only: Lane) -> None:
        """Look at no other lane."""
        super().__init__(tx, lease_seconds)
        found = tx.one(_ONE, {"now": tx.now, "only": only.key})
        self._one = _waiting(found) if found else None

    def longest(self, before: float) -> Iterator[WaitingLane]:
        """See `WaitingLanes.longest`."""
        return iter((self._one,) if self._one and self._one.since <= before else ())

    def projects(self) -> Iterator[ProjectLoad]:
        """See `WaitingLanes.projects`."""
        for one in self.longest(self._tx.now):
            yield ProjectLoad(0, one.since, one.lane.project)

    def of(self, project: str) -> Iterator[WaitingLane]:
        """See `WaitingLanes.of`."""
        del project
        return self.longest(self._tx.now)

    def next_begins(self) -> float:
        """See `WaitingLanes.next_begins`."""
        return self._one.since if self._one and self._one.since > self._tx.now else math.inf


def _waiting(row: Row) -> WaitingLane:
    since, lane, last_worker = row
    return WaitingLane(since, Lane.from_key(lane), WorkerId(last_worker) if last_worker else None)
