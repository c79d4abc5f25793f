"""What jobs say and leave, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.polling import poll
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.claim import Delivery
from webordinary.core.errors import ClaimLost
from webordinary.core.facts import NO_FACTS, Facts
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.text import storable
from webordinary.core.work import EVENT_CHARACTERS, EVENTS_MAX, AgentEvent, KeptEvent
from webordinary.ports.clock import Clock


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
        told = self._events.setdefault(delivery.job.id, [])
        kept = sum(event.attempt == delivery.attempt for event in told)
        for event in events[: max(EVENTS_MAX - kept, 0)]:
            text = storable(event.text[:EVENT_CHARACTERS])
            number = len(told) + 1
            told.append(KeptEvent(number, self._clock.now(), delivery.attempt, event.kind, text))
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
