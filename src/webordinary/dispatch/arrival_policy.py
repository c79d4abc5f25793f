"""What a new job does to those before it, and what an undo means that was sent before they had ended.

A project's policy says what a newer *instruction* does to the edit that runs. By default it interrupts that
of its own conversation and waits behind another's; the store decides as it takes the job (`Job.interrupts`).
One word is no instruction: `publish` and `redo` are about what is there when their turn comes, so they wait.
`undo` is about the last change; while that is still being made, stopping it is all there is to take back, and
nothing older is meant.
"""

from __future__ import annotations

from webordinary.core.job import OPEN, Arrival, Intent, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import JobView
from webordinary.ports.ledger import Ledger

LOOKED_AT = 50  # jobs of a lane; who has sent more than that meanwhile gets the plain meaning of each word
INTERRUPTING = frozenset({Arrival.INTERRUPT, Arrival.INTERRUPT_ALWAYS})
CHANGING = frozenset({Intent.EDIT, Intent.UNDO, Intent.REDO})


async def arrival_of(
    intent: Intent, ledger: Ledger, lane: Lane, session: str, policy: Arrival = Arrival.INTERRUPT
) -> Arrival:
    """Choose what a new job does to those before it; the policy is for instructions."""
    if intent is Intent.EDIT:
        return policy
    if intent is not Intent.UNDO or policy not in INTERRUPTING:
        return Arrival.QUEUE
    jobs = await ledger.jobs(limit=LOOKED_AT, lane=lane)
    waiting = [job for job in jobs if job.state in OPEN]
    meant = _meant(waiting, jobs, session)
    if meant is None or meant is not waiting[0] or meant.state is JobState.QUEUED:
        return Arrival.QUEUE
    return Arrival.INTERRUPT if meant.session == session else Arrival.INTERRUPT_ALWAYS


async def stop_means(ledger: Ledger, lane: Lane, session: str) -> list[JobId]:
    """Find what a stop is about: all that its conversation has under way, else the job that runs.

    Who answers the letter about one request calls off that one, whatever else is being done.
    """
    jobs = await ledger.jobs(limit=LOOKED_AT, lane=lane)
    unended = [job for job in jobs if job.state in OPEN]
    own = [job for job in unended if job.session == session]
    return [job.id for job in own or unended if own or job.state is not JobState.QUEUED]


async def taken_over(ledger: Ledger, job: Job) -> tuple[JobView, ...]:
    """Find the edits that this one interrupted and carries out in their place, oldest first.

    With those that they had taken over themselves. What a stop, an undo or the operator ended is nobody's.
    """
    if job.intent is not Intent.EDIT:
        return ()
    takers, found = {job.id}, []
    for one in await ledger.jobs(limit=LOOKED_AT, lane=job.lane, before=job.id):  # the newest first
        preempted = one.state is JobState.PREEMPTED and one.intent is Intent.EDIT
        if preempted and one.interrupted_by in takers:
            takers.add(one.id)
            found.append(one)
    return tuple(reversed(found))


async def never_made(ledger: Ledger, undo: Job) -> JobView | None:
    """Find the edit that an undo was sent after, had it not ended by then, and had it left nothing to undo.

    None: the undo means the last change, as always. That is also the edit if it was completed after all.
    """
    came = (await ledger.job(undo.id)).submitted_at
    jobs = await ledger.jobs(limit=LOOKED_AT, lane=undo.lane, before=undo.id)
    unended = [
        job
        for job in jobs
        if job.interrupted_by == undo.id or job.finished_at is None or job.finished_at > came
    ]
    meant = _meant(unended, jobs, undo.session)
    return meant if meant is not None and not _made_something(meant) else None


def _meant(unended: list[JobView], jobs: list[JobView], session: str) -> JobView | None:
    """The edit that an undo means, of those that had not ended; both lists newest first.

    The conversation's own if it has changed anything, else the lane's: as with changes that were made.
    """
    changing = [job for job in unended if job.intent in CHANGING]
    own = [job for job in changing if job.session == session]
    has_own = bool(own) or any(job.session == session and _made_something(job) for job in jobs)
    last = next(iter(own if has_own else changing), None)
    return last if last is not None and last.intent is Intent.EDIT else None


def _made_something(job: JobView) -> bool:
    return job.state is JobState.DONE and job.facts.preview is not None
