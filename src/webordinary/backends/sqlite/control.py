"""The operator's hand on lanes and jobs."""

from __future__ import annotations

from functools import partial

from webordinary.backends.sqlite import claiming
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.records import event
from webordinary.backends.sqlite.submitting import announce, interrupt_head, interrupt_job
from webordinary.backends.sqlite.tx import Tx
from webordinary.claim.rows import lane_topic, worker_topic
from webordinary.core.errors import NotAllowed, NotFound
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import Happening


class SqliteControl:
    """See `Control`."""

    def __init__(self, engine: Engine) -> None:
        """Act on a file."""
        self._engine = engine

    async def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        """See `Control.interrupt`."""
        return await self._engine.write(partial(_interrupt, lane=lane, job=job))

    async def evict(self, lane: Lane) -> bool:
        """See `Control.evict`."""
        return await self._engine.write(partial(_evict, lane=lane))

    async def redrive(self, job: JobId) -> None:
        """See `Control.redrive`."""
        await self._engine.write(partial(_redrive, job=job))

    async def drop(self, job: JobId) -> None:
        """See `Control.drop`."""
        await self._engine.write(partial(_drop, job=job))


def _interrupt(tx: Tx, lane: Lane, job: JobId | None) -> JobId | None:
    _known(tx, lane)
    stopped = interrupt_head(tx, lane, None) if job is None else interrupt_job(tx, lane, job)
    announce(tx, lane)
    return stopped


def _evict(tx: Tx, lane: Lane) -> bool:
    _known(tx, lane)
    evicted = claiming.evict(tx, lane)
    if evicted is None:
        return False
    tx.wake(worker_topic(evicted))
    tx.wake(lane_topic(lane))
    return True


def _redrive(tx: Tx, job: JobId) -> None:
    lane = _dead(tx, job, JobState.QUEUED)
    tx.do(
        "UPDATE jobs SET seq = (SELECT MAX(seq) + 1 FROM jobs), state = 'queued', attempt = 0,"
        " note = 'redriven', interrupted = 0, interrupted_by = NULL, started_at = NULL, finished_at = NULL"
        " WHERE id = ?",
        (job,),
    )
    event(tx, lane, Happening.REDRIVEN, job=job)
    announce(tx, lane)


def _drop(tx: Tx, job: JobId) -> None:
    lane = _dead(tx, job, JobState.DROPPED)
    tx.do("UPDATE jobs SET state = 'dropped' WHERE id = ?", (job,))
    event(tx, lane, Happening.DROPPED, job=job)


def _dead(tx: Tx, job: JobId, wanted: JobState) -> Lane:
    row = tx.one("SELECT lane, state FROM jobs WHERE id = ?", (job,))
    if row is None:
        raise NotFound(f"there is no job {job}")
    if row[1] != JobState.DEAD:
        raise NotAllowed(f"job {job} is {row[1]}; only a dead job can become {wanted}")
    return Lane.from_key(row[0])


def _known(tx: Tx, lane: Lane) -> None:
    if tx.one("SELECT 1 FROM lanes WHERE lane = ?", (lane.key,)) is None:
        raise NotFound(f"nothing was ever submitted to {lane}")
