"""What must hold in every state, and of every step. Each check yields the promises that were broken.

They keep books of their own: none asks the rules whether a claim is held or a job has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from webordinary.claim.rows import CLAIMS, job_topic, lane_topic, worker_topic
from webordinary.core.job import MOVES, JobState
from webordinary.simulation.search.calls import REFUSED, Answer, Call, Names, Verb
from webordinary.simulation.search.rows import (
    NOBODY,
    Frozen,
    FrozenJob,
    FrozenLane,
    SearchedRows,
    is_changed,
    worker_name,
)

NEW = FrozenLane(NOBODY, 0, 0, None, 0, 0, 0, NOBODY, ())
FENCED = (Verb.NEXT_JOB, Verb.SETTLE, Verb.RELEASE, Verb.KEEP)
CHANGES_HANDS = (Verb.CLAIM, Verb.RELEASE, Verb.EVICT, Verb.BURY)
STOPS = (Verb.SUBMIT, Verb.INTERRUPT)


# --- of every state ---------------------------------------------------------------------------------


def in_its_lane(rows: SearchedRows) -> Iterator[str]:
    """A job that has not ended is in its lane's queue, in order; one that has ended is not."""
    for lane in rows.lanes.values():
        wanted = [row.job.id for row in rows.jobs.values() if row.job.lane == lane.lane and row.open]
        if [row.job.id for row in lane.open] != wanted:
            yield f"jobs {wanted} have not ended, and their lane's queue is {[r.job.id for r in lane.open]}"


def of_rows(rows: Frozen, *, clock_moved: bool) -> Iterator[str]:
    """Check what must hold whenever no call is at work."""
    for lane in rows.lanes:
        if lane is None:
            continue
        for job in lane.open[1:]:
            if job.state is not JobState.QUEUED:
                yield f"job {job.number + 1} is {job.state} behind job {lane.open[0].number + 1}"
        for job in lane.jobs:
            yield from _of_job(job)
        if lane.since is not None and not lane.open:
            yield "a claim request is left for a lane without work"
        if lane.since is not None and lane.owned and not clock_moved:
            yield "a claim request is left for a lane with a live owner"


def _of_job(job: FrozenJob) -> Iterator[str]:
    redriven = JobState.DEAD in job.letters
    if job.open and len(job.letters) > redriven:
        yield f"job {job.number + 1} is {job.state}, and its end is told: {job.letters}"
    if not job.open and not 1 <= len(job.letters) <= 1 + redriven:
        yield f"job {job.number + 1} is {job.state} and owes {len(job.letters)} letters about its end"
    if job.interrupted and job.state is not JobState.RUNNING:
        yield f"job {job.number + 1} was asked to stop and is {job.state}"


def stranded(rows: Frozen) -> bool:
    """Whether a lane has open jobs, no live owner and no claim request."""
    return any(lane and lane.open and not lane.owned and lane.since is None for lane in rows.lanes)


# --- of every step ----------------------------------------------------------------------------------


def of_step(before: Frozen, after: Frozen, worker: int, call: Call, answer: Answer) -> Iterator[str]:
    """Check what one call did."""
    if answer == REFUSED and before != after:
        yield f"{call.verb} was refused and left a trace"
    for number, (was, now) in enumerate(zip(before.lanes, after.lanes, strict=True)):
        if now is None or not is_changed(was, now):
            continue
        yield from _of_ownership(number, was or NEW, now, worker, call)
        yield from _of_jobs(was or NEW, now, call)


def _of_ownership(number: int, was: FrozenLane, now: FrozenLane, worker: int, call: Call) -> Iterator[str]:
    held, changed_hands = (was.worker, was.fence), (now.worker, now.fence) != (was.worker, was.fence)
    named = [fence for lane, fence in call.fences() if lane == number]
    if now.fence < was.fence:
        yield "the fence of a lane restarts"
    if changed_hands and call.verb not in CHANGES_HANDS:
        yield f"{call.verb} changed the owner of a lane"
    if call.verb is Verb.CLAIM and changed_hands and not named:
        if was.owned:
            yield "a lane was claimed while the lease of its owner runs"
        if was.since is None or not was.open:
            yield "a lane was claimed that nobody asked an owner for"
        if (now.worker, now.fence) != (worker, was.fence + 1):
            yield "a claim has no fence of its own"
    if call.verb in FENCED and held != (worker, *named):
        yield f"{call.verb} was accepted from a claim that is no longer the lane's"


def _of_jobs(was: FrozenLane, now: FrozenLane, call: Call) -> Iterator[str]:
    jobs = {job.number: job for job in was.jobs}
    if not jobs.keys() <= {job.number for job in now.jobs}:
        yield "a job is gone"
    for place, job in enumerate(now.jobs):
        old, name = jobs.get(job.number), f"job {job.number + 1}"
        if old is None or old == job:
            continue
        if job.state is not old.state and job.state not in MOVES[old.state]:
            yield f"{name} moved from {old.state} to {job.state}"
        if not old.open and call.verb not in (Verb.REDRIVE, Verb.DROP):
            yield f"{name} was {old.state} and was accepted again"
        if job.interrupted and not old.interrupted and call.verb not in STOPS:
            yield f"{name} is asked to stop by nobody"
        if job.state is old.state is JobState.RUNNING and (job.fence == old.fence) != (
            job.attempt == old.attempt
        ):
            yield f"{name} runs twice under one claim"
        if old.open and not job.open:
            yield from _of_end(name, old, job, [one for one in now.jobs[:place] if one.open], call)


def _of_end(name: str, old: FrozenJob, job: FrozenJob, ahead: list[FrozenJob], call: Call) -> Iterator[str]:
    called_off = job.state is JobState.PREEMPTED and old.state is not JobState.RUNNING
    if ahead and not called_off:
        yield f"{name} ended before job {ahead[0].number + 1}"
    if job.state.value not in job.letters:
        yield f"{name} is {job.state}, and no letter says so"
    if job.state is JobState.PREEMPTED and not (
        old.interrupted or call.outcome == "preempted" or call.verb in STOPS
    ):
        yield f"{name} was stopped without a cause"


def of_wakeups(before: Frozen, after: Frozen, topics: Collection[str], names: Names) -> Iterator[str]:
    """Whoever has something to do by now was woken. Only a hint, but with it nobody waits for the sweep."""
    for lane, was, now in zip(names.lanes, before.lanes, after.lanes, strict=True):
        if now is None or was == now:
            continue
        jobs = {job.number: job for job in was.jobs} if was else {}
        if now.since is not None and (was is None or was.since is None) and CLAIMS not in topics:
            yield "a lane waits, and no worker was woken"
        arrived = len(now.open) > len(was.open if was else ())
        if now.owned and arrived and lane_topic(lane) not in topics:
            yield "a job arrived, and the lane's owner was not woken"
        for job in now.jobs:
            old, owner = jobs.get(job.number), worker_name(now.worker)
            if (
                job.interrupted
                and owner
                and not (old and old.interrupted)
                and worker_topic(owner) not in topics
            ):
                yield "a job is to stop, and its worker was not woken"
            if old and old.open and not job.open and job_topic(names.jobs[job.number].id) not in topics:
                yield "a job ended, and who waits for it was not woken"
