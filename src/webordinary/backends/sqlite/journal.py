"""What jobs say and leave, in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.facts_json import facts_from_json
from webordinary.backends.polling import poll
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.claim import Delivery
from webordinary.core.errors import ClaimLost
from webordinary.core.facts import Facts
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.text import storable
from webordinary.core.work import EVENT_CHARACTERS, EVENTS_MAX, AgentEvent, EventKind, KeptEvent
from webordinary.ports.clock import Clock


class SqliteJournal:
    """See `Journal`."""

    def __init__(self, engine: Engine, wakeups: Wakeups, clock: Clock) -> None:
        """Keep events in a file."""
        self._engine, self._wakeups, self._clock = engine, wakeups, clock

    async def tell(self, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
        """See `Journal.tell`."""
        await self._engine.write(lambda tx: _tell(tx, delivery, events))

    async def events(self, job: JobId, *, after: int = 0, limit: int, wait: float = 0.0) -> list[KeptEvent]:
        """See `Journal.events`."""
        sql = (
            "SELECT number, at, attempt, kind, text FROM job_events"
            " WHERE job = ? AND number > ? ORDER BY number LIMIT ?"
        )

        async def ask() -> list[KeptEvent] | Nothing:
            rows = self._engine.read(lambda tx: tx.all(sql, (job, after, limit)))
            return [KeptEvent(row[0], row[1], row[2], EventKind(row[3]), row[4]) for row in rows] or Nothing()

        return await poll(self._wakeups, self._clock, job_topic(job), wait, ask) or []

    async def left(self, lane: Lane, session: str | None = None) -> Facts:
        """See `Journal.left`."""
        of_session = "" if session is None else " AND session = :session"
        which = f"lane = :lane AND facts IS NOT NULL{of_session}"
        sql = f"SELECT facts FROM jobs WHERE {which} ORDER BY seq DESC LIMIT 1"
        row = self._engine.read(lambda tx: tx.one(sql, {"lane": lane.key, "session": session}))
        return facts_from_json(row[0] if row else None)


def _tell(tx: Tx, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
    job, attempt = delivery.job.id, delivery.attempt
    running = tx.one(
        "SELECT 1 FROM jobs WHERE id = ? AND state = 'running' AND fence = ? AND attempt = ?",
        (job, delivery.claim.fence, attempt),
    )
    if running is None:
        raise ClaimLost(f"job {job} does not run under this claim")
    counted = tx.one(
        "SELECT COUNT(*) FILTER (WHERE attempt = ?), COUNT(*) FROM job_events WHERE job = ?", (attempt, job)
    )
    assert counted is not None
    kept, last = counted
    for number, event in enumerate(events[: max(EVENTS_MAX - kept, 0)], last + 1):
        tx.do(
            "INSERT INTO job_events (job, number, at, attempt, kind, text) VALUES (?, ?, ?, ?, ?, ?)",
            (job, number, tx.now, attempt, event.kind.value, storable(event.text[:EVENT_CHARACTERS])),
        )
    tx.wake(job_topic(job))
