"""Submitting: a job becomes durable in its lane; then the lane's owner is told, or one is asked for."""

from __future__ import annotations

from webordinary.backends.aws.changes import message_key
from webordinary.backends.aws.changing import Lanes
from webordinary.backends.aws.model import Model
from webordinary.backends.aws.rows import UNREAD
from webordinary.backends.aws.values import Item
from webordinary.backends.loading import ALL, HEAD, Needs
from webordinary.core.errors import BadInput
from webordinary.core.job import Arrival, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane

REPLACED_AT_ONCE = 30  # a transaction has room for so many endings, each with its letter


async def submit(lanes: Lanes, job: Job, task_token: str | None = None) -> Submitted | Duplicate:
    """See `Broker.submit`. With a task token somebody waits for the job's end."""
    if job.arrival is Arrival.REPLACE_PENDING:
        await _make_room(lanes, job)
    message = message_key(job.lane.key, job.message_id)

    def verb(model: Model) -> Submitted | Duplicate:
        for item in model.found[lanes.settings.jobs]:
            if item["jobId"] == message["jobId"]:
                return Duplicate(JobId(item["job"]))
            if item["lane"] != job.lane.key:
                raise BadInput(f"there is a job {job.id} in another lane already")
            return Duplicate(job.id)
        if task_token is not None:
            model.new_tokens[job.id] = task_token
        return model.rules.submit(job)

    also = {lanes.settings.jobs: [message]}
    return await lanes.change(Needs([job.lane], _SEEN_BY[job.arrival], [job.id]), verb, also)


async def _make_room(lanes: Lanes, newer: Job) -> None:
    """End what waits in batches, until the rest fits into the transaction of the newer job itself."""
    message = message_key(newer.lane.key, newer.message_id)
    also = {lanes.settings.jobs: [message]}

    def verb(model: Model) -> bool:
        known = any(item["jobId"] == message["jobId"] for item in model.found[lanes.settings.jobs])
        row = model.lanes.get(newer.lane)
        if known or row is None or len(row.open) <= REPLACED_AT_ONCE:
            return False
        pending = [job for job in row.open if job.state is not JobState.RUNNING]
        read = [job for job in pending if job.job.message_id != UNREAD]
        model.rules.replace(row, read, newer.id)
        return True

    while await lanes.change(Needs([newer.lane], REPLACED_AT_ONCE + 1), verb, also):
        continue


# How many of the open jobs before it a new one has to see; what else it needs is in the lane's item.
_SEEN_BY = {
    Arrival.QUEUE: 0,
    Arrival.INTERRUPT: HEAD,
    Arrival.INTERRUPT_ALWAYS: HEAD,
    Arrival.REPLACE_PENDING: ALL,
}


async def attach_token(lanes: Lanes, lane: Lane, job: JobId, task_token: str) -> Item | None:
    """Have a job's end told to this token. If it has ended already, give its item: it is to be told now."""

    def verb(model: Model) -> Item | None:
        item = model.jobs_read.get(job)
        if item is None:
            raise BadInput(f"{lane} has no job {job}")
        if not model.jobs[job].open:
            return item
        model.new_tokens[job] = task_token
        return None

    return await lanes.change(Needs([lane], HEAD, [job]), verb)
