"""Submitting: a job becomes durable in its lane; the lane's owner is woken, or a claim request is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webordinary.backends.sqlite.records import event, owe_accepted, owe_end
from webordinary.backends.sqlite.tx import Tx
from webordinary.claim.rows import CLAIMS, job_topic, lane_topic, worker_topic
from webordinary.core.claim import WorkerId
from webordinary.core.job import (
    AHEAD_COUNTED_MAX,
    Arrival,
    Duplicate,
    Intent,
    Job,
    JobId,
    JobState,
    Submitted,
)
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Verdict, interrupted_note, interrupted_verdict, replaced_verdict
from webordinary.core.views import Happening

# What makes a job open; the index on open jobs has the very same words.
OPEN = "finished_at IS NULL"

# From when on a lane's head may be delivered: its back-off and the lane's parking decide.
DUE_FROM = f"""
    MAX(IFNULL(lanes.parked_until, 0),
        IFNULL((SELECT CASE WHEN jobs.state = 'retrying' THEN jobs.due_at END
                FROM jobs WHERE jobs.lane = lanes.lane AND jobs.{OPEN}
                ORDER BY jobs.seq LIMIT 1), 0))
"""


def submit(tx: Tx, limits: Limits, job: Job) -> Submitted | Duplicate:
    """See `Broker.submit`."""
    lane = job.lane.key
    known = tx.one("SELECT id FROM jobs WHERE lane = ? AND message_id = ?", (lane, job.message_id))
    if known is not None:
        return Duplicate(JobId(known[0]))
    tx.do("INSERT INTO lanes (lane, project) VALUES (?, ?) ON CONFLICT DO NOTHING", (lane, job.lane.project))
    interrupts = make_way(tx, job)
    ahead = tx.one(
        f"SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE lane = ? AND {OPEN} LIMIT ?)",
        (lane, AHEAD_COUNTED_MAX),
    )
    tx.do(
        "INSERT INTO jobs (id, lane, message_id, instruction, arrival, wants_reply, session, intent, state,"
        " submitted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?)",
        (
            *(job.id, lane, job.message_id, job.instruction),
            *(job.arrival.value, job.wants_reply, job.session, job.intent.value, tx.now),
        ),
    )
    submitted = Submitted(job.id, ahead[0] if ahead else 0, interrupts)
    if job.wants_reply:
        owe_accepted(tx, job, submitted, limits.acknowledge_seconds)
    announce(tx, job.lane)
    return submitted


def make_way(tx: Tx, newer: Job) -> JobId | None:
    """Do to the jobs ahead what the newer one's arrival policy says."""
    if newer.arrival is Arrival.REPLACE_PENDING:
        pending = tx.all(
            "SELECT id FROM jobs WHERE lane = ? AND finished_at IS NULL AND state <> 'running' ORDER BY seq",
            (newer.lane.key,),
        )
        for (job,) in pending:
            end(tx, JobId(job), replaced_verdict(newer.id))
    head = tx.one(
        f"SELECT session, intent FROM jobs WHERE lane = ? AND {OPEN} ORDER BY seq LIMIT 1",
        (newer.lane.key,),
    )
    if head is not None and newer.interrupts(head[0], Intent(head[1])):
        return interrupt_head(tx, newer.lane, newer.id)
    return None


def interrupt_head(tx: Tx, lane: Lane, by: JobId | None) -> JobId | None:
    """Ask the lane's running job to stop; one that waits for its next attempt ends at once."""
    head = tx.one(
        f"SELECT id, state, interrupted FROM jobs WHERE lane = ? AND {OPEN} ORDER BY seq LIMIT 1",
        (lane.key,),
    )
    if head is None or head[1] == JobState.QUEUED:
        return None
    return _interrupt(tx, lane, by, head)


def interrupt_job(tx: Tx, lane: Lane, job: JobId) -> JobId | None:
    """Have this very job stopped; one that waits ends at once."""
    found = tx.one(
        f"SELECT id, state, interrupted FROM jobs WHERE lane = ? AND id = ? AND {OPEN}", (lane.key, job)
    )
    return _interrupt(tx, lane, None, found) if found is not None else None


def _interrupt(tx: Tx, lane: Lane, by: JobId | None, row: Sequence[Any]) -> JobId:
    job, state, interrupted = row
    if not interrupted:
        event(tx, lane, Happening.INTERRUPTED, job=job, note=interrupted_note(by))
        tx.do("UPDATE jobs SET interrupted = 1, interrupted_by = ? WHERE id = ?", (by, job))
    if state != JobState.RUNNING:
        end(tx, job, interrupted_verdict(by))
        return JobId(job)
    owner = tx.one("SELECT worker FROM lanes WHERE lane = ?", (lane.key,))
    if owner is not None and owner[0] is not None:
        tx.wake(worker_topic(WorkerId(owner[0])))
    return JobId(job)


def end(tx: Tx, job: JobId, verdict: Verdict) -> None:
    """End a job; the owed reply is stored with it."""
    tx.do(
        "UPDATE jobs SET state = ?, note = ?, finished_at = ?, due_at = NULL WHERE id = ?",
        (verdict.state.value, verdict.note, tx.now, job),
    )
    owe_end(tx, job, verdict.state, verdict.ending)
    tx.wake(job_topic(job))


def announce(tx: Tx, lane: Lane) -> None:
    """Wake the lane's owner; a lane without a live one gets a claim request, if it has work."""
    owned = tx.one(
        "SELECT 1 FROM lanes WHERE lane = ? AND worker IS NOT NULL AND lease_until > ?", (lane.key, tx.now)
    )
    if owned:
        tx.wake(lane_topic(lane))
    elif not want(tx, lane):
        tx.do("UPDATE lanes SET wanted_since = NULL WHERE lane = ?", (lane.key,))


def want(tx: Tx, lane: Lane) -> bool:
    """Leave a claim request for a lane that has work; False if it has none."""
    wanted = tx.do(
        f"UPDATE lanes SET wanted_since = IFNULL(wanted_since, ?), wanted_from = {DUE_FROM}"
        f" WHERE lane = ? AND EXISTS (SELECT 1 FROM jobs WHERE lane = lanes.lane AND {OPEN})",
        (tx.now, lane.key),
    )
    if wanted:
        tx.wake(CLAIMS)
    return bool(wanted)
