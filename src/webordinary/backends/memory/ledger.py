"""What happened and what is happening, read from the rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from webordinary.backends.broker import poll, poll_result
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.claim import Delivery
from webordinary.core.errors import ClaimLost, NotFound
from webordinary.core.facts import NO_FACTS, Facts
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.text import storable
from webordinary.core.views import JobView, LaneEvent, LaneView, WorkerView
from webordinary.core.work import EVENT_CHARACTERS, EVENTS_MAX, AgentEvent, KeptEvent
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


class MemoryJournal:
    """See `Journal`."""

    def __init__(self, store: MemoryStore, wakeups: Wakeups, clock: Clock) -> None:
        """Keep events beside the jobs of a store."""
        self._jobs, self._wakeups, self._clock = store.rows.jobs, wakeups, clock
        self._events: dict[JobId, list[KeptEvent]] = {}

    async def tell(self, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
        """See `Journal.tell`."""
        row = self._jobs.get(delivery.job.id)
        current = row and (row.state, row.fence, row.attempt)
        if row is None or current != (JobState.RUNNING, delivery.claim.fence, delivery.attempt):
            raise ClaimLost(f"job {delivery.job.id} does not run under this claim")
        kept_events = self._events.setdefault(delivery.job.id, [])
        kept = sum(event.attempt == delivery.attempt for event in kept_events)
        for event in events[: max(EVENTS_MAX - kept, 0)]:
            text = storable(event.text[:EVENT_CHARACTERS])
            number = len(kept_events) + 1
            kept_events.append(KeptEvent(number, self._clock.now(), delivery.attempt, event.kind, text))
        self._wakeups.send([job_topic(delivery.job.id)])

    async def events(self, job: JobId, *, after: int = 0, limit: int, wait: float = 0.0) -> list[KeptEvent]:
        """See `Journal.events`."""

        async def ask() -> list[KeptEvent] | Nothing:
            return self._events.get(job, [])[after : after + limit] or Nothing()

        return await poll(self._wakeups, self._clock, job_topic(job), wait, ask) or []

    async def left(self, lane: Lane, session: str | None = None) -> Facts:
        """See `Journal.left`."""
        for row in reversed(self._jobs.values()):
            if row.job.lane == lane and row.facts and session in (None, row.job.session):
                return row.facts
        return NO_FACTS
