"""Questions about all lanes, answered from indexes: the cost is the same however many there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from webordinary.backends.loading import SweepCursor
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.claim.fairness import ProjectLoad, Seats, WaitingLane
from webordinary.claim.rows import LaneRow
from webordinary.core.claim import WorkerId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits

WAITING_COUNTED_MAX = 1_000

# What makes a job open; the index on open jobs has the very same words.
OPEN = "finished_at IS NULL"

# From when on a lane waits; the indexes have the very same words.
SINCE = "MAX(wanted_since, wanted_from)"
WAITS = "wanted_since IS NOT NULL"
# See `Limits.lease_holds`. An owner that beats late clears its lane's request only then.
LEASED = "lease_until > :now AND lease_until <= :latest_lease"
_UNOWNED = f"(worker IS NULL OR NOT ({LEASED}))"

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
# Lanes of workers that died, by their leases. They weigh nothing, though nobody has taken them over yet.
_ENDED_LEASES = """
    SELECT lane, project, wanted_since FROM lanes WHERE worker IS NOT NULL AND lease_until <= :now
    UNION ALL
    SELECT lane, project, wanted_since FROM lanes WHERE worker IS NOT NULL AND lease_until > :latest_lease
"""
_DEAD = f"SELECT project, COUNT(*) FROM ({_ENDED_LEASES}) GROUP BY project"
_ABANDONED = f"""
    SELECT lane FROM ({_ENDED_LEASES}) AS ended WHERE wanted_since IS NULL
        AND EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = ended.lane AND {OPEN})
    LIMIT :most
"""
# The next few lanes with work, found by their jobs: no lane is left out because something else forgot it.
_WITH_WORK = f"""
    WITH RECURSIVE busy (lane) AS (
        SELECT MIN(lane) FROM jobs WHERE {OPEN} AND lane > :after
        UNION ALL SELECT (SELECT MIN(lane) FROM jobs WHERE {OPEN} AND lane > busy.lane)
        FROM busy WHERE busy.lane IS NOT NULL LIMIT :most)
    SELECT lane, (wanted_since IS NULL) = {_UNOWNED} FROM busy JOIN lanes USING (lane)
"""
# Lanes that would begin to wait at a moment that only a clock which was set back since can have written.
_MISDATED = f"""
    SELECT lane FROM lanes WHERE {WAITS} AND {SINCE} > :now AND (wanted_since > :now
        OR wanted_from > :latest_parking OR (wanted_from > :latest_retry AND wanted_from IS NOT parked_until))
    LIMIT :most
"""


_OTHERS = """
    SELECT (SELECT COUNT(*) FROM lanes WHERE lanes.worker = workers.worker), slots, seen_at
    FROM workers WHERE worker <> :worker AND NOT draining
"""


class SqliteIndex:
    """See `Index`. Looks at the tables as they are in a transaction."""

    def __init__(
        self, tx: Tx, limits: Limits, read: Callable[[Sequence[str]], list[LaneRow]], sweep: SweepCursor
    ) -> None:
        """Look at lanes, and have those that a sweep finds read by `read`."""
        self._tx, self._limits, self._read, self._sweep = tx, limits, read, sweep
        self._at = {"now": tx.now, "latest_lease": limits.latest_lease(tx.now)}

    def waiting(self, only: Lane | None) -> WaitingTables:
        """See `Index.waiting`."""
        if only is None:
            return WaitingTables(self._tx, self._limits)
        return OneWaiting(self._tx, self._limits, only)

    def pressure(self) -> tuple[int, float]:
        """See `Index.pressure`. Counts up to a bound."""
        waiting = f"SELECT {SINCE} FROM lanes WHERE {WAITS} AND {SINCE} <= :now"
        first = self._tx.one(f"{waiting} ORDER BY {SINCE} LIMIT 1", self._at)
        if first is None:
            return 0, 0.0
        (count,) = self._tx.one(
            f"SELECT COUNT(*) FROM ({waiting} LIMIT {WAITING_COUNTED_MAX})", self._at
        ) or (0,)
        return count, self._tx.now - first[0]

    def held_with_work(self, worker: WorkerId) -> int:
        """See `Index.held_with_work`."""
        row = self._tx.one(
            f"SELECT COUNT(*) FROM lanes WHERE worker = :worker AND {LEASED}"
            f" AND EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})",
            {"worker": worker, **self._at},
        )
        return int(row[0]) if row else 0

    def suspects(self, most: int) -> Iterable[LaneRow]:
        """See `Index.suspects`. All whose owner died, and the next few with work behind the last sweep's."""
        now, limits = self._tx.now, self._limits
        at = {"most": most, "after": self._sweep.after, **self._at}
        at |= {"latest_parking": limits.latest_parking(now), "latest_retry": limits.latest_retry(now)}
        found = [row[0] for row in self._tx.all(_ABANDONED, at)]
        busy = self._tx.all(_WITH_WORK, at)
        found += [lane for lane, is_suspect in busy if is_suspect]
        self._sweep.looked_to = busy[-1][0] if len(busy) == most else ""
        found += [row[0] for row in self._tx.all(_MISDATED, at)]
        return self._read(list(dict.fromkeys(found))[:most])

    def forget_workers(self, seen_before: float) -> None:
        """See `Index.forget_workers`."""
        if self._tx.one("SELECT 1 FROM workers WHERE seen_at < ?", (seen_before,)) is not None:
            self._tx.do("DELETE FROM workers WHERE seen_at < ?", (seen_before,))


class WaitingTables:
    """See `WaitingLanes`."""

    def __init__(self, tx: Tx, limits: Limits) -> None:
        """Look at the tables as they are in a transaction."""
        self._tx, self._limits = tx, limits
        self._at: dict[str, object] = {"now": tx.now, "latest_lease": limits.latest_lease(tx.now)}

    def longest(self, before: float) -> Iterator[WaitingLane]:
        """See `WaitingLanes.longest`."""
        return map(_waiting, self._tx.each(_LONGEST, {"before": before, **self._at}))

    def projects(self) -> Iterator[ProjectLoad]:
        """See `WaitingLanes.projects`."""
        dead: dict[str, int] = dict(self._tx.all(_DEAD, self._at))
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
            for row in self._tx.each(_LOADS, {"in_hand": in_hand, **self._at}):
                yield ProjectLoad(*row)

    def _revised(self, project: str, dead: int) -> ProjectLoad:
        row = self._tx.one("SELECT in_hand, since FROM project_load WHERE project = ?", (project,))
        in_hand, since = row or (dead, None)
        return ProjectLoad(in_hand - dead, math.inf if since is None else since, project)

    def of(self, project: str) -> Iterator[WaitingLane]:
        """See `WaitingLanes.of`."""
        return map(_waiting, self._tx.each(_OF_PROJECT, {"project": project, **self._at}))

    def next_begins(self) -> float:
        """See `WaitingLanes.next_begins`."""
        row = self._tx.one(f"SELECT MIN({SINCE}) FROM lanes WHERE {WAITS} AND {SINCE} > ?", (self._tx.now,))
        return row[0] if row and row[0] is not None else math.inf

    def takes_lanes(self, worker: WorkerId) -> bool:
        """See `WaitingLanes.takes_lanes`."""
        found = self._tx.one("SELECT seen_at FROM workers WHERE worker = ? AND NOT draining", (worker,))
        return found is not None and self._limits.lease_holds(
            found[0] + self._limits.lease_seconds, self._tx.now
        )

    def held(self, worker: WorkerId) -> int:
        """See `WaitingLanes.held`."""
        row = self._tx.one("SELECT COUNT(*) FROM lanes WHERE worker = ?", (worker,))
        return int(row[0]) if row else 0

    def others_with_room(self, worker: WorkerId) -> list[Seats]:
        """See `WaitingLanes.others_with_room`."""
        now, limits = self._tx.now, self._limits
        found = self._tx.all(_OTHERS, {"worker": worker})
        return [
            Seats(held, slots)
            for held, slots, seen_at in found
            if held < slots and limits.lease_holds(seen_at + limits.lease_seconds, now)
        ]

    def count(self, most: int) -> int:
        """See `WaitingLanes.count`."""
        sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM lanes WHERE {WAITS} AND {SINCE} <= :now LIMIT :most)"
        row = self._tx.one(sql, {"most": most, **self._at})
        return int(row[0]) if row else 0


class OneWaiting(WaitingTables):
    """The one lane that a worker is tied to, if it waits."""

    def __init__(self, tx: Tx, limits: Limits, only: Lane) -> None:
        """Look at no other lane."""
        super().__init__(tx, limits)
        found = tx.one(_ONE, {"only": only.key, **self._at})
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
