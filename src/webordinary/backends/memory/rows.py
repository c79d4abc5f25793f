"""Rows in dictionaries: all that the memory store keeps, or what a call to another store has read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from webordinary.backends.memory.outbox import Letters
from webordinary.claim.fairness import ProjectLoad, Seats, WaitingLane
from webordinary.claim.rows import LETTERS, JobRow, LaneRow, WorkerRow
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter
from webordinary.core.views import LaneEvent


class MemoryRows:
    """See `Rows` and `Index`: so few rows need no index."""

    def __init__(self, limits: Limits) -> None:
        """Start empty."""
        self.now = 0.0
        self.limits = limits
        self.lanes: dict[Lane, LaneRow] = {}
        self.jobs: dict[JobId, JobRow] = {}  # in the order in which they were queued
        self.workers: dict[WorkerId, WorkerRow] = {}
        self.letters = Letters()
        self.events: list[LaneEvent] = []
        self.topics: dict[str, None] = {}
        self._by_message: dict[tuple[Lane, str], JobId] = {}

    def lane(self, lane: Lane) -> LaneRow | None:
        """See `Rows.lane`."""
        return self.lanes.get(lane)

    def find_lanes(self, lanes: Sequence[Lane]) -> list[LaneRow]:
        """See `Rows.find_lanes`."""
        return [self.lanes[lane] for lane in lanes if lane in self.lanes]

    def add_lane(self, lane: Lane) -> LaneRow:
        """See `Rows.add_lane`."""
        row = self.lanes[lane] = LaneRow(lane)
        return row

    def job(self, job: JobId) -> JobRow | None:
        """See `Rows.job`."""
        return self.jobs.get(job)

    def job_of_message(self, lane: Lane, message_id: str) -> JobId | None:
        """See `Rows.job_of_message`."""
        return self._by_message.get((lane, message_id))

    def queue(self, lane: LaneRow, job: JobRow) -> None:
        """See `Rows.queue`."""
        self.jobs.pop(job.job.id, None)
        self.jobs[job.job.id] = job
        self._by_message[job.job.lane, job.job.message_id] = job.job.id
        lane.open.append(job)

    def index(self) -> MemoryRows:
        """See `Rows.index`."""
        return self

    def show(self, presence: Presence) -> None:
        """See `Rows.show`."""
        if presence.gone:
            self.workers.pop(presence.worker, None)
        else:
            self.workers[presence.worker] = WorkerRow(presence, self.now)

    def owe(self, letter: Letter, due_at: float) -> None:
        """See `Rows.owe`."""
        if self.letters.owe(letter, self.now, due_at):
            self.wake(LETTERS)

    def record(self, event: LaneEvent) -> None:
        """See `Rows.record`."""
        self.events.append(event)

    def wake(self, topic: str) -> None:
        """See `Rows.wake`."""
        self.topics[topic] = None

    # --- what an index would answer ---------------------------------------------------------------

    def waiting(self, only: Lane | None) -> WaitingRows:
        """See `Index.waiting`."""
        return WaitingRows(self, only)

    def pressure(self) -> tuple[int, float]:
        """See `Index.pressure`."""
        waits = [self.now - one.since for one in self.waiting(None).longest(self.now)]
        return len(waits), max(waits, default=0.0)

    def held_with_work(self, worker: WorkerId) -> int:
        """See `Index.held_with_work`."""
        return sum(
            bool(row.open) for row in self.lanes.values() if row.worker == worker and self.is_owned(row)
        )

    def suspects(self, most: int) -> Iterable[LaneRow]:
        """See `Index.suspects`."""
        stranded = [
            row
            for row in self.lanes.values()
            if row.open and row.wanted_since is None and not self.is_owned(row)
        ]
        return [*stranded[:most], *(row for row in self.lanes.values() if row.wanted_since is not None)]

    def forget_workers(self, seen_before: float) -> None:
        """See `Index.forget_workers`."""
        for worker, row in list(self.workers.items()):
            if row.seen_at < seen_before:
                del self.workers[worker]

    def held(self, worker: WorkerId) -> int:
        """How many lanes a worker holds."""
        return sum(row.worker == worker for row in self.lanes.values())

    def is_owned(self, row: LaneRow) -> bool:
        """Whether a lane has a live owner now."""
        return row.owned(self.now, self.limits)


class WaitingRows:
    """See `WaitingLanes`."""

    def __init__(self, rows: MemoryRows, only: Lane | None) -> None:
        """Look for lanes that wait."""
        wanted = sorted(
            WaitingLane(max(row.wanted_since, row.wanted_from), row.lane, row.last_worker)
            for row in rows.lanes.values()
            if row.wanted_since is not None
            and row.open
            and not rows.is_owned(row)
            and only in (None, row.lane)
        )
        self._rows = rows
        self._waiting = [one for one in wanted if one.since <= rows.now]
        self._begin = [one.since for one in wanted if one.since > rows.now]

    def longest(self, before: float) -> Iterator[WaitingLane]:
        """See `WaitingLanes.longest`."""
        return (one for one in self._waiting if one.since <= before)

    def projects(self) -> Iterator[ProjectLoad]:
        """See `WaitingLanes.projects`."""
        in_hand = Counter(row.lane.project for row in self._rows.lanes.values() if self._rows.is_owned(row))
        longest = {one.lane.project: one.since for one in reversed(self._waiting)}
        return iter(
            sorted(ProjectLoad(in_hand[project], since, project) for project, since in longest.items())
        )

    def of(self, project: str) -> Iterator[WaitingLane]:
        """See `WaitingLanes.of`."""
        return (one for one in self._waiting if one.lane.project == project)

    def next_begins(self) -> float:
        """See `WaitingLanes.next_begins`."""
        return self._begin[0] if self._begin else math.inf

    def takes_lanes(self, worker: WorkerId) -> bool:
        """See `WaitingLanes.takes_lanes`."""
        seen = self._rows.workers.get(worker)
        return seen is not None and seen.takes_lanes(self._rows.now, self._rows.limits)

    def held(self, worker: WorkerId) -> int:
        """See `WaitingLanes.held`."""
        return self._rows.held(worker)

    def others_with_room(self, worker: WorkerId) -> list[Seats]:
        """See `WaitingLanes.others_with_room`."""
        rows = self._rows
        others = [row.presence for other, row in rows.workers.items() if other != worker]
        seats = (Seats(rows.held(one.worker), one.slots) for one in others if self.takes_lanes(one.worker))
        return [one for one in seats if one.held < one.slots]

    def count(self, most: int) -> int:
        """See `WaitingLanes.count`."""
        return min(len(self._waiting), most)
