"""Lanes and jobs as items of tables, and back as the rows that the rules of the protocol work on.

A lane's item holds what decisions hang on: owner, fence, claim request, and its open jobs in order. A job's
item is only ever written together with its lane's, and only if the lane did not change meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from webordinary.backends.aws.values import Item, lengthened, shortened
from webordinary.backends.facts_json import facts_from_json, facts_to_json, facts_tree
from webordinary.claim.rows import JobRow, LaneRow
from webordinary.core.claim import Ownership, WorkerId
from webordinary.core.facts import Facts, LetterFacts
from webordinary.core.job import Arrival, Intent, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits

JOB = "job"  # the part of a job's items that is the job itself
FACTS_BYTES = 200_000  # an item has at most 400 KB
FACT_LEFT_OUT = "(too long to be kept)"

UNREAD = "(unread)"


def lane_key(lane: Lane) -> dict[str, str]:
    """The key of a lane's item."""
    return {"projectKey": lane.key}


def job_key(job: str, part: str = JOB) -> dict[str, str]:
    """The key of one of a job's items."""
    return {"jobId": job, "part": part}


# --- lanes ------------------------------------------------------------------------------------------


def lane_row(item: Item, jobs: dict[JobId, JobRow], skew: float) -> LaneRow:
    """Read a lane. For a stranger a lease lasts a little longer: clocks differ."""
    lane = Lane.from_key(item["projectKey"])
    lease = _moment(item.get("leaseUntil"))
    row = LaneRow(
        lane,
        worker=item.get("containerId"),
        fence=item["fence"],
        claimed_at=_moment(item.get("claimedAt")),
        last_activity=_moment(item.get("lastActivity")),
        lease_until=None if lease is None else lease + skew,
        last_worker=item.get("lastWorker"),
        wanted_since=_moment(item.get("wantedSince")),
        wanted_from=float(item["wantedFrom"]),
        failures=item["failures"],
        parked_until=_moment(item.get("parkedUntil")),
    )
    for place, name in enumerate(item["open"]):
        row.open.append(jobs.get(name) or _unread(lane, JobId(name), item if place == 0 else {}))
    return row


def _unread(lane: Lane, job: JobId, head: Item) -> JobRow:
    """A job as its lane's item tells it: enough to be counted, and to judge whether its lane may be taken."""
    return JobRow(
        Job(job, lane, UNREAD, UNREAD),
        submitted_at=0.0,
        state=JobState(head.get("headState", JobState.QUEUED)),
        fence=head.get("headFence", 0),
        due_at=_moment(head.get("headDue")),
        interrupted="interruptedJob" in head,
        interrupted_by=head.get("interruptedBy"),
    )


def lane_item(row: LaneRow, before: Item, skew: float) -> Item:
    """Write a lane; attributes that are not ours stay as they were."""
    head = row.head
    stopping = head is not None and head.state is JobState.RUNNING and head.interrupted
    lease = row.lease_until
    if lease is not None and before.get("leaseUntil") is not None and lease == before["leaseUntil"] + skew:
        lease = before["leaseUntil"]  # as it was read
    ours = {
        "projectKey": row.lane.key,
        "all": "lane",
        "containerId": row.worker,
        "fence": row.fence,
        "claimedAt": row.claimed_at,
        "lastActivity": row.last_activity,
        "leaseUntil": lease,
        "beatAt": before.get("beatAt") if before.get("fence") == row.fence and row.worker else None,
        "lastWorker": row.last_worker,
        "status": "active" if row.worker else "free",
        "wanted": "yes" if row.wanted_since is not None else None,
        "wantedSince": row.wanted_since,
        "wantedFrom": row.wanted_from,
        "failures": row.failures,
        "parkedUntil": row.parked_until,
        "open": [job.job.id for job in row.open],
        "busy": _busy(row),
        "headState": head.state.value if head else None,
        "headDue": head.due_at if head else None,
        "headFence": head.fence if head else None,
        "interruptedJob": head.job.id if head and stopping else None,
        "interruptedBy": head.interrupted_by if head and stopping else None,
    }
    return _overlaid(before, ours)


OPEN, IDLE = "open", "idle"  # the two kinds of busy lanes


def _busy(row: LaneRow) -> str | None:
    if row.open or row.wanted_since is not None:
        return OPEN
    return IDLE if row.worker else None


def ownership(item: Item | None, now: float, limits: Limits) -> Ownership | None:
    """Read who owns a lane: the lease decides, never the item's mere existence."""
    if item is None or item.get("containerId") is None or not limits.lease_holds(item["leaseUntil"], now):
        return None
    return Ownership(
        Lane.from_key(item["projectKey"]),
        WorkerId(item["containerId"]),
        item["fence"],
        float(item["claimedAt"]),
        float(item["lastActivity"]),
        float(item["leaseUntil"]),
    )


# --- jobs -------------------------------------------------------------------------------------------


def job_row(item: Item, instruction: str) -> JobRow:
    """Read a job; its instruction may have items of its own."""
    return JobRow(
        Job(
            JobId(item["jobId"]),
            Lane.from_key(item["lane"]),
            instruction,
            item["messageId"],
            Arrival(item["arrival"]),
            item["wantsReply"],
            item["session"],
            Intent(item["intent"]),
        ),
        submitted_at=float(item["submittedAt"]),
        state=JobState(item["state"]),
        attempt=item["attempt"],
        fence=item["fence"],
        worker=item.get("worker"),
        started_at=_moment(item.get("startedAt")),
        finished_at=_moment(item.get("finishedAt")),
        due_at=_moment(item.get("dueAt")),
        interrupted=item["interrupted"],
        interrupted_by=item.get("interruptedBy"),
        note=item["note"],
        facts=facts_of(item.get("facts")),
        replies_owed=frozenset(item["replies"]),
    )


def job_item(row: JobRow, before: Item, task_token: str | None) -> Item:
    """Write a job; its instruction and its order are as they were."""
    job = row.job
    ours = {
        **job_key(job.id),
        "all": "job",
        "lane": job.lane.key,
        "messageId": job.message_id,
        "arrival": job.arrival.value,
        "wantsReply": job.wants_reply,
        "session": job.session,
        "intent": job.intent.value,
        "state": row.state.value,
        "attempt": row.attempt,
        "fence": row.fence,
        "worker": row.worker,
        "submittedAt": row.submitted_at,
        "startedAt": row.started_at,
        "finishedAt": row.finished_at,
        "dueAt": row.due_at,
        "interrupted": row.interrupted,
        "interruptedBy": row.interrupted_by,
        "note": row.note,
        "facts": kept_facts(row.facts) if row.facts else None,
        "replies": sorted(row.replies_owed),
        "taskToken": task_token,
    }
    return _overlaid(before, ours)


def kept_facts(facts: Facts | LetterFacts | None) -> str | bytes:
    """Write facts; the longest go first if they don't fit."""
    written = shortened(facts_to_json(facts))
    if len(written) <= FACTS_BYTES or facts is None:
        return written
    tree = facts_tree(facts)
    while len(written := shortened(json.dumps(tree))) > FACTS_BYTES:
        holder, longest = max(_fields(tree), key=lambda one: len(json.dumps(one[0][one[1]])))
        holder[longest] = FACT_LEFT_OUT if isinstance(holder[longest], str) else []
    return written


def _fields(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every text and every list, however deep, by what holds it."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _fields(value)
        else:
            yield tree, name


def facts_of(written: str | bytes | None) -> Facts:
    """Read what a job left."""
    return facts_from_json(lengthened(written) if written is not None else None)


def _moment(value: Any) -> float | None:  # noqa: ANN401 - a number of either kind, or nothing
    return None if value is None else float(value)


def _overlaid(before: Item, ours: Item) -> Item:
    kept = {name: value for name, value in before.items() if name not in ours}
    return kept | {name: value for name, value in ours.items() if value is not None}
