"""What the page can do: redrive, drop, interrupt, release, ask for an undo or a publish. Needs the token."""

from __future__ import annotations

from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.dashboard.parts import Parts


async def redrive(parts: Parts, job: JobId) -> JobId:
    """Queue a dead job again."""
    whole = (await parts.backend.ledger.job(job)).id
    await parts.backend.control.redrive(whole)
    return whole


async def drop(parts: Parts, job: JobId) -> JobId:
    """Put a dead job aside."""
    whole = (await parts.backend.ledger.job(job)).id
    await parts.backend.control.drop(whole)
    return whole


async def interrupt(parts: Parts, lane: Lane) -> JobId | None:
    """Ask a lane's running job to stop."""
    await parts.backend.ledger.lane(lane)
    return await parts.backend.control.interrupt(lane)


async def release(parts: Parts, lane: Lane) -> bool:
    """Take a lane from its owner."""
    await parts.backend.ledger.lane(lane)
    return await parts.backend.control.evict(lane)
