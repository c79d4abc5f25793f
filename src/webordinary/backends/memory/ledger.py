"""What people are shown of the memory store."""

from __future__ import annotations

from itertools import islice

from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.polling import poll_result
from webordinary.backends.wakeups import Wakeups
from webordinary.core.errors import NotFound
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import JobView, LaneEvent, LaneView, WorkerView
from webordinary.ports.clock import Clock


class MemoryLedger:
    """Reads only."""

    def __init__(self, store: MemoryStore, wakeups: Wakeups, clock: Clock) -> None:
        """Look at a store."""
        self._rows, self._limits = store.rows, store.limits
        self._wakeups, self._clock = wakeups, clock

    async def workers(self) -> list[WorkerView]:
        """See `Ledger.workers`."""
        now, rows, limits = self._clock.now(), self._rows, self._limits
        return [
            WorkerView(
                worker=worker,
                host=row.presence.host,
                pid=row.presence.pid,
                slots=row.presence.slots,
                since=row.presence.since,
                seen_at=row.seen_at,
                draining=row.presence.draining,
                lanes=tuple(
                    sorted(
                        lane.lane
                        for lane in rows.lanes.values()
                        if lane.worker == worker and lane.owned(now, limits)
                    )
                ),
            )
            for worker, row in sorted(rows.workers.items())
            if limits.lease_holds(row.seen_at + limits.lease_seconds, now)
        ]

    async def lanes(self, *, limit: int, after: Lane | None = None, busy: bool = False) -> list[LaneView]:
        """See `Ledger.lanes`."""
        now = self._clock.now()
        keys = sorted(
            (
                lane
                for lane, row in self._rows.lanes.items()
                if (after is None or lane.key > after.key)
                and (not busy or row.open or row.owned(now, self._limits))
            ),
            key=lambda lane: lane.key,
        )
        return [self._view(lane) for lane in keys[:limit]]

    async def lane(self, lane: Lane) -> LaneView:
        """See `Ledger.lane`."""
        if lane not in self._rows.lanes:
            raise NotFound(f"nothing was ever submitted to {lane}")
        return self._view(lane)

    def _view(self, lane: Lane) -> LaneView:
        dead = sum(row.job.lane == lane and row.state is JobState.DEAD for row in self._rows.jobs.values())
        return self._rows.lanes[lane].view(dead)

    async def jobs(
        self,
        *,
        limit: int,
        lane: Lane | None = None,
        state: JobState | None = None,
        before: JobId | None = None,
    ) -> list[JobView]:
        """See `Ledger.jobs`."""
        rows = list(self._rows.jobs.values())
        if before is not None:
            rows = rows[: [row.job.id for row in rows].index((await self.job(before)).id)]
        found = (
            row.view()
            for row in reversed(rows)
            if lane in (None, row.job.lane) and state in (None, row.state)
        )
        return list(islice(found, limit))

    async def job(self, job: JobId) -> JobView:
        """See `Ledger.job`."""
        if (exact := self._rows.jobs.get(job)) is not None:
            return exact.view()
        found = [row for known, row in self._rows.jobs.items() if known.startswith(job)]
        if len(found) != 1:
            raise NotFound(f"there is no job {job}" if not found else f"several jobs begin with {job}")
        return found[0].view()

    async def history(self, lane: Lane | None, *, limit: int, job: JobView | None = None) -> list[LaneEvent]:
        """See `Ledger.history`."""
        events = [
            event
            for event in self._rows.events
            if lane in (None, event.lane) and (job is None or event.is_about(job))
        ]
        return events[-limit:]

    async def counts(self) -> dict[JobState, int]:
        """See `Ledger.counts`."""
        counts = dict.fromkeys(JobState, 0)
        for row in self._rows.jobs.values():
            counts[row.state] += 1
        return counts

    async def result(self, job: JobId, *, wait: float) -> JobView:
        """See `Ledger.result`."""
        return await poll_result(self._wakeups, self._clock, job, wait, self.job)
