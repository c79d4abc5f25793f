"""The operator's hand on the memory store."""

from __future__ import annotations

from webordinary.backends.memory.rows import JobRow, LaneRow
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.wakeups import lane_topic, worker_topic
from webordinary.core.errors import NotAllowed, NotFound
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import Happening


class OperatedStore(MemoryStore):
    """A memory store that an operator may act on. See `Control`."""

    async def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        """See `Control.interrupt`."""
        row = self._known(lane)
        meant = row.head if job is None else next((one for one in row.open if one.job.id == job), None)
        stopped = self._interrupt(row, meant, None, waiting=job is not None) if meant else None
        self._announce(row)
        return stopped

    async def evict(self, lane: Lane) -> bool:
        """See `Control.evict`."""
        row = self._known(lane)
        row.parked_until, row.failures = None, 0
        evicted = row.worker
        if evicted is None:
            self._announce(row)
            return False
        self._let_go(row, Happening.EVICTED)
        self._wakeups.send([worker_topic(evicted), lane_topic(lane)])
        return True

    async def redrive(self, job: JobId) -> None:
        """See `Control.redrive`."""
        row = self._dead(job, JobState.QUEUED)
        lane = self.lanes[row.job.lane]
        row.state, row.attempt, row.note = JobState.QUEUED, 0, "redriven"
        row.interrupted, row.interrupted_by = False, None
        row.started_at = row.finished_at = None
        self.jobs[job] = self.jobs.pop(job)  # behind everything that waits
        lane.open.append(row)
        self._event(lane, Happening.REDRIVEN, job=row)
        self._announce(lane)

    async def drop(self, job: JobId) -> None:
        """See `Control.drop`."""
        row = self._dead(job, JobState.DROPPED)
        row.state = JobState.DROPPED
        self._event(self.lanes[row.job.lane], Happening.DROPPED, job=row)

    def _dead(self, job: JobId, wanted: JobState) -> JobRow:
        row = self.jobs.get(job)
        if row is None:
            raise NotFound(f"there is no job {job}")
        if row.state is not JobState.DEAD:
            raise NotAllowed(f"job {job} is {row.state}; only a dead job can become {wanted}")
        return row

    def _known(self, lane: Lane) -> LaneRow:
        row = self.lanes.get(lane)
        if row is None:
            raise NotFound(f"nothing was ever submitted to {lane}")
        return row
