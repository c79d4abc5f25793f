"""The store's rows as values that can be compared, hashed and shared between states.

Moments are kept relative to the store's clock, in ticks. A lease lasts two ticks, everything else that a rule
waits for at most one. Of a moment that is over only that is kept, and the order in which lanes began to wait:
so the states are finite however long the search goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from webordinary.backends.memory.rows import MemoryRows
from webordinary.claim.rows import JobRow, LaneRow, WorkerRow
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.job import OPEN, Job, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter
from webordinary.core.views import LaneEvent

LEASE = 2.0  # in ticks, as seconds of the rules
NOW = 1_000_000.0  # where thawed rows are on the clock
FAR = 100_000  # ticks that a clock set back by hours is behind: nothing that was written believes it
NOBODY, GONE = -1, 9  # workers by number: none, one that never comes back
Fences = tuple[tuple[int, ...], ...]  # of each lane, those that somebody may come back with, in order


class Clock(Enum):
    """How the store's clock moves."""

    TICK = "a tick passes"
    BACK = "the store's clock is set back by a tick"
    FAR_BACK = "the store's clock is set back by hours"


class FrozenJob(NamedTuple):
    """A job; what only people read is left out."""

    number: int
    state: JobState
    attempt: int
    fence: int
    worker: int
    due: int  # 0: now or earlier, or no back-off
    interrupted: bool
    by: int
    letters: tuple[str, ...]  # the kinds of letters about its end

    @property
    def open(self) -> bool:
        """Whether it holds its place in the lane."""
        return self.state in OPEN


class FrozenLane(NamedTuple):
    """A lane and all its jobs, in the order in which they were queued."""

    worker: int
    fence: int
    lease: int  # 0: run out
    since: int | None  # the claim request; below 0 only the order counts
    begins: int  # it waits from then on; 0: at once
    failures: int
    parked: int
    last_worker: int
    jobs: tuple[FrozenJob, ...]

    @property
    def owned(self) -> bool:
        """Whether there is a live owner."""
        return self.worker != NOBODY and 0 < self.lease < FAR

    @property
    def open(self) -> list[FrozenJob]:
        """The open jobs in order."""
        return [job for job in self.jobs if job.open]


class Frozen(NamedTuple):
    """All rows. A lane that nothing was submitted to is None."""

    lanes: tuple[FrozenLane | None, ...]
    seen: tuple[tuple[int, int], ...] = ()  # workers, and for how long they count as alive

    def jobs(self) -> set[int]:
        """The jobs that there are."""
        return {job.number for lane in self.lanes if lane for job in lane.jobs}


class SearchedRows(MemoryRows):
    """Rows that remember what one call owed, and keep no history."""

    def owe(self, letter: Letter, due_at: float) -> None:
        """Letters about ends are in their job's row."""

    def record(self, event: LaneEvent) -> None:
        """Nothing decides by what happened before."""


@dataclass(slots=True)
class RowStore:
    """Every version of the rows that was ever seen, by number."""

    limits: Limits
    lanes: Sequence[Lane]
    jobs: Sequence[Job]
    warm: bool  # workers are remembered, so that a lane's last one goes first
    counts_failures: bool
    _numbers: dict[Frozen, int] = field(default_factory=dict)
    _versions: list[Frozen] = field(default_factory=list)
    _renamed: dict[tuple[object, ...], int] = field(default_factory=dict)

    def number(self, rows: Frozen) -> int:
        """Give equal rows the same number."""
        found = self._numbers.setdefault(rows, len(self._versions))
        if found == len(self._versions):
            self._versions.append(rows)
        return found

    def __getitem__(self, number: int) -> Frozen:
        """Find rows by their number."""
        return self._versions[number]

    # --- rows that rules can work on --------------------------------------------------------------

    def thaw(self, rows: Frozen) -> SearchedRows:
        """Make rows for one call."""
        thawed = SearchedRows(self.limits)
        thawed.now = NOW
        for lane, frozen in zip(self.lanes, rows.lanes, strict=True):
            if frozen is None:
                continue
            row = thawed.lanes[lane] = LaneRow(
                lane,
                worker_name(frozen.worker),
                frozen.fence,
                claimed_at=NOW,
                last_activity=NOW,
                lease_until=NOW + frozen.lease if frozen.worker != NOBODY else None,
                last_worker=worker_name(frozen.last_worker),
                wanted_since=None if frozen.since is None else NOW + frozen.since,
                wanted_from=NOW + frozen.begins if frozen.begins else 0.0,
                failures=frozen.failures,
                parked_until=NOW + frozen.parked if frozen.parked else None,
            )
            for job in frozen.jobs:
                self._thaw_job(thawed, row, job)
        for worker, ticks in rows.seen:
            name = WorkerId(f"w{worker}")
            thawed.workers[name] = WorkerRow(Presence(name, 1, NOW), NOW + ticks - LEASE)
        return thawed

    def _thaw_job(self, rows: SearchedRows, lane: LaneRow, frozen: FrozenJob) -> None:
        row = JobRow(
            self.jobs[frozen.number],
            NOW,
            frozen.state,
            frozen.attempt,
            frozen.fence,
            worker_name(frozen.worker),
            due_at=NOW + frozen.due if frozen.state is JobState.RETRYING else None,
            interrupted=frozen.interrupted,
            interrupted_by=None if frozen.by < 0 else self.jobs[frozen.by].id,
            replies_owed=frozenset(frozen.letters),
        )
        rows.queue(lane, row)
        if not row.open:
            lane.open.remove(row)

    def freeze(self, rows: SearchedRows) -> Frozen:
        """Make a value of rows after a call."""
        lanes = [self._freeze_lane(rows.lanes.get(lane), rows) for lane in self.lanes]
        alive = [(number_of(name), _ahead(row.seen_at + LEASE)) for name, row in rows.workers.items()]
        return Frozen(_ranked(lanes), tuple(sorted(one for one in alive if one[1])) if self.warm else ())

    def _freeze_lane(self, row: LaneRow | None, rows: SearchedRows) -> FrozenLane | None:
        if row is None:
            return None
        since = None if row.wanted_since is None else int(row.wanted_since - NOW)
        begins = 0 if since is None else _ahead(row.wanted_from)
        return FrozenLane(
            number_of(row.worker),
            row.fence,
            _ahead(row.lease_until),
            0 if begins and since is not None and since < 0 else since,
            begins,
            row.failures if self.counts_failures else 0,
            _ahead(row.parked_until),
            number_of(row.last_worker) if self.warm else NOBODY,
            tuple(_freeze_job(job) for job in rows.jobs.values() if job.job.lane == row.lane),
        )

    # --- the same rows, later or under other names --------------------------------------------------

    def moved(self, number: int, clock: Clock) -> int:
        """Move the clock."""
        return self._remembered(number, clock, lambda rows: _moved(rows, clock))

    def renamed(self, number: int, workers: tuple[int, ...], fences: Fences | None = None) -> int:
        """Give workers other names, and fences their ranks. A fence that nobody has any more is forgotten."""
        return self._remembered(number, (workers, fences), lambda rows: _renamed(rows, workers, fences))

    def _remembered(self, number: int, key: object, change: Callable[[Frozen], Frozen]) -> int:
        found = self._renamed.get((number, key))
        if found is None:
            found = self._renamed[number, key] = self.number(change(self._versions[number]))
        return found


def worker_name(number: int) -> WorkerId | None:
    """Name a worker."""
    return None if number == NOBODY else WorkerId(f"w{number}")


def number_of(name: WorkerId | None) -> int:
    """Number a worker; one that nobody here started counts as gone."""
    if name is None:
        return NOBODY
    return int(name[1:]) if name[1:].isdigit() else GONE


def _freeze_job(row: JobRow) -> FrozenJob:
    return FrozenJob(
        int(row.job.id) - 1,
        row.state,
        row.attempt if row.open else 0,
        row.fence,
        number_of(row.worker) if row.state is JobState.RUNNING else NOBODY,
        _ahead(row.due_at),
        row.interrupted and row.open,
        int(row.interrupted_by) - 1 if row.interrupted_by and row.open else -1,
        tuple(sorted(row.replies_owed)),
    )


def _ahead(moment: float | None) -> int:
    """Ticks until a moment; 0 if it is over."""
    return 0 if moment is None else max(int(moment - NOW), 0)


def _moved(rows: Frozen, clock: Clock) -> Frozen:
    def left(ticks: int) -> int:
        """Until a moment, once the clock has moved. What is over stays over."""
        if not ticks or ticks == FAR:
            return ticks
        return FAR if clock is Clock.FAR_BACK else ticks + (1 if clock is Clock.BACK else -1)

    def moved(lane: FrozenLane) -> FrozenLane:
        since, begins = lane.since, left(lane.begins)
        if since is not None and since != FAR and clock is not Clock.BACK:
            since = FAR if clock is Clock.FAR_BACK else 0 if begins != lane.begins else since - 1
        jobs = tuple(job._replace(due=left(job.due)) for job in lane.jobs)
        return lane._replace(
            lease=left(lane.lease), since=since, begins=begins, parked=left(lane.parked), jobs=jobs
        )

    seen = ((worker, left(ticks)) for worker, ticks in rows.seen)
    lanes = [lane and moved(lane) for lane in rows.lanes]
    return Frozen(_ranked(lanes), tuple(one for one in seen if 0 < one[1] < FAR))


def _ranked(lanes: Sequence[FrozenLane | None]) -> tuple[FrozenLane | None, ...]:
    """Keep of waits that began in the past only their order."""
    past = sorted({lane.since for lane in lanes if lane and lane.since is not None and lane.since < 0})
    ranks: dict[int | None, int] = {since: place - len(past) for place, since in enumerate(past)}
    return tuple(
        lane._replace(since=ranks[lane.since]) if lane and lane.since in ranks else lane for lane in lanes
    )


def _renamed(rows: Frozen, workers: tuple[int, ...], fences: Fences | None) -> Frozen:
    names = {NOBODY: NOBODY, GONE: GONE, **dict(enumerate(workers))}

    def renamed(lane: FrozenLane, number: int) -> FrozenLane:
        def rank(fence: int) -> int:
            if fences is None:
                return fence
            return fences[number].index(fence) if fence in fences[number] else 0

        return lane._replace(
            worker=names[lane.worker],
            last_worker=names[lane.last_worker],
            fence=rank(lane.fence),
            jobs=tuple(job._replace(worker=names[job.worker], fence=rank(job.fence)) for job in lane.jobs),
        )

    lanes = tuple(lane and renamed(lane, number) for number, lane in enumerate(rows.lanes))
    return Frozen(lanes, tuple(sorted((names[worker], ticks) for worker, ticks in rows.seen)))


def is_changed(was: FrozenLane | None, now: FrozenLane | None) -> bool:
    """Whether a lane is another. Its rank among those that wait is not its own."""
    if was and now and was.since and now.since and was.since < 0 and now.since < 0:
        return was != now._replace(since=was.since)
    return was != now
