"""What the page can do: redrive, drop, interrupt, release, ask for an undo or a publish. Needs the token."""

from __future__ import annotations

from webordinary.core.errors import BadInput
from webordinary.core.job import Arrival, Duplicate, Intent, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.dashboard.parts import Parts
from webordinary.dispatch.arrival_policy import arrival_of
from webordinary.dispatch.submitting import project_of_member

# What a job without a mail says of itself.
WORDS = {Intent.UNDO: "undo", Intent.REDO: "redo", Intent.PUBLISH: "publish"}


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


async def submit(
    parts: Parts, lane: Lane, instruction: str, intent: Intent = Intent.EDIT, arrival: Arrival | None = None
) -> Submitted | Duplicate:
    """Queue a job for somebody who may edit the project; nobody is written to about it."""
    project = await project_of_member(parts.backend.directory, lane)
    if intent is Intent.EDIT and not instruction.strip():
        raise BadInput("the instruction is empty")
    unique = parts.clock.unique()
    words = instruction if intent is Intent.EDIT else WORDS[intent]
    chosen = arrival or await arrival_of(intent, parts.backend.ledger, lane, "", project.arrival)
    return await parts.backend.broker.submit(
        Job(JobId(unique), lane, words, f"<{unique}@dashboard>", chosen, intent=intent)
    )
