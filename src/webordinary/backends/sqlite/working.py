"""Handing out the head of a lane, and settling it."""

from __future__ import annotations

from webordinary.backends.facts_json import facts_to_json
from webordinary.backends.sqlite.records import event, owe_end
from webordinary.backends.sqlite.submitting import OPEN, end
from webordinary.backends.sqlite.tx import Tx
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.claim import Claim, Delivery
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, Intent, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import (
    Done,
    Failed,
    HandedBack,
    Outcome,
    Preempted,
    Retry,
    Verdict,
    interrupted_verdict,
    judge,
    lost_verdict,
)
from webordinary.core.views import Happening

_HEAD = (
    "SELECT id, message_id, instruction, arrival, wants_reply, state, attempt, fence, due_at,"
    " interrupted, interrupted_by, worker, session, intent FROM jobs"
    f" WHERE lane = ? AND {OPEN} ORDER BY seq LIMIT 1"
)


def parked_until(tx: Tx, claim: Claim) -> float:
    """Check that the claim is the lane's current one; say until when the lane is parked (0: it is not)."""
    row = tx.one("SELECT worker, fence, parked_until FROM lanes WHERE lane = ?", (claim.lane.key,))
    if row is None or row[0] != claim.worker or row[1] != claim.fence:
        raise ClaimLost(f"{claim.worker} no longer holds {claim.lane} with fence {claim.fence}")
    return float(row[2] or 0.0)


def anything_to_deliver(tx: Tx, claim: Claim) -> Nothing | None:
    """Look before writing: an idle owner asks often."""
    parked = parked_until(tx, claim)
    head = tx.one(_HEAD, (claim.lane.key,))
    if head is None:
        return Nothing()
    due = max(parked, head[8] or 0.0)
    return Nothing(due - tx.now) if due > tx.now and head[5] != JobState.RUNNING else None


def next_job(tx: Tx, limits: Limits, claim: Claim) -> Delivery | Nothing:
    """See `Broker.next_job`."""
    return _next(tx, limits, claim, parked_until(tx, claim), touched=False)


def _touch(tx: Tx, claim: Claim) -> None:
    tx.do("UPDATE lanes SET last_activity = ? WHERE lane = ?", (tx.now, claim.lane.key))


def _next(tx: Tx, limits: Limits, claim: Claim, parked: float, *, touched: bool) -> Delivery | Nothing:
    while (head := tx.one(_HEAD, (claim.lane.key,))) is not None:
        job, state, attempt, fence, due_at = _job_of(head, claim), head[5], head[6], head[7], head[8]
        if state == JobState.RUNNING and fence == claim.fence:
            return Delivery(claim, job, attempt)
        due = max(parked, due_at or 0.0)
        if due > tx.now:
            return Nothing(due - tx.now)
        if state == JobState.RUNNING:
            redeliver, parked = _judge_lost(tx, limits, claim, head)
            if not redeliver:
                continue
        tx.do(
            "UPDATE jobs SET state = 'running', fence = ?, worker = ?, attempt = attempt + 1,"
            " started_at = ?, due_at = NULL WHERE id = ?",
            (claim.fence, claim.worker, tx.now, job.id),
        )
        if not touched:
            _touch(tx, claim)
        return Delivery(claim, job, attempt + 1)
    drop_request(tx, claim.lane)
    return Nothing()


def drop_request(tx: Tx, lane: Lane) -> None:
    """Drop a claim request that was left while this owner beat late, if nothing is left to ask for."""
    tx.do(
        "UPDATE lanes SET wanted_since = NULL WHERE lane = ? AND wanted_since IS NOT NULL"
        f" AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})",
        (lane.key,),
    )


def _job_of(head: tuple[object, ...], claim: Claim) -> Job:
    job, message_id, instruction, arrival, wants_reply = head[:5]
    return Job(
        JobId(str(job)),
        claim.lane,
        str(instruction),
        str(message_id),
        Arrival(str(arrival)),
        bool(wants_reply),
        str(head[12]),
        Intent(str(head[13])),
    )


def _judge_lost(tx: Tx, limits: Limits, claim: Claim, head: tuple[object, ...]) -> tuple[bool, float]:
    """Judge a job whose owner was lost: may this owner run it again, and is the lane parked now?"""
    job, attempt, interrupted, by, worker = (
        JobId(str(head[0])),
        int(str(head[6])),
        head[9],
        head[10],
        head[11],
    )
    if interrupted:
        end(tx, job, interrupted_verdict(JobId(str(by)) if by else None))
        return False, 0.0
    parked = count_failure(tx, limits, claim)
    if attempt >= limits.deliveries_max:
        verdict = lost_verdict(attempt)
        event(tx, claim.lane, Happening.DEAD, job=job, note=verdict.note)
        end(tx, job, verdict)
        return False, parked
    note = f"{worker} was lost"
    if parked > tx.now:
        _retry(tx, claim.lane, job, note, tx.now)
        return False, parked
    event(tx, claim.lane, Happening.REDELIVERED, job=job, note=note)
    return True, 0.0


def _retry(tx: Tx, lane: Lane, job: JobId, note: str, due_at: float) -> None:
    event(tx, lane, Happening.RETRY, job=job, note=note)
    tx.do("UPDATE jobs SET state = 'retrying', note = ?, due_at = ? WHERE id = ?", (note, due_at, job))


def count_failure(tx: Tx, limits: Limits, claim: Claim) -> float:
    """Count a failed attempt; too many in a row park the lane. Say until when (0: not parked)."""
    row = tx.one(
        "UPDATE lanes SET failures = failures + 1 WHERE lane = ? RETURNING failures", (claim.lane.key,)
    )
    assert row is not None
    if row[0] < limits.breaker_failures:
        return 0.0
    until = tx.now + limits.breaker_seconds
    tx.do("UPDATE lanes SET failures = 0, parked_until = ? WHERE lane = ?", (until, claim.lane.key))
    event(tx, claim.lane, Happening.PARKED, note=f"{limits.breaker_failures} failures in a row")
    return until


def settle(tx: Tx, limits: Limits, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
    """See `Broker.settle`."""
    claim = delivery.claim
    parked = parked_until(tx, claim)
    match outcome:
        case Done() | Failed() | Preempted():
            settled = _settle_for_good(tx, limits, delivery, outcome)
        case Retry() | HandedBack():
            settled, parked_now = _settle_for_now(tx, limits, delivery, outcome)
            parked = max(parked, parked_now)
    if more:
        return _next(tx, limits, claim, parked, touched=settled)
    drop_request(tx, claim.lane)
    return Nothing()


def _settle_for_good(tx: Tx, limits: Limits, delivery: Delivery, outcome: Done | Failed | Preempted) -> bool:
    """End the job: the busiest path, one conditional write. What an interrupt asked for no longer matters.

    False if the job was settled before.
    """
    job, claim = delivery.job, delivery.claim
    verdict = judge(outcome, attempt=delivery.attempt, interrupted=False, by=None, limits=limits)
    ended = tx.do(
        "UPDATE jobs SET state = ?, note = ?, finished_at = ?, facts = ?"
        " WHERE id = ? AND state = 'running' AND fence = ? AND attempt = ?",
        (
            verdict.state.value,
            verdict.note,
            tx.now,
            facts_to_json(verdict.facts) if verdict.facts else None,
            job.id,
            claim.fence,
            delivery.attempt,
        ),
    )
    if not ended:
        _delivered_and_unsettled(tx, delivery)
        return False
    if job.wants_reply:
        owe_end(tx, job.id, verdict.state, verdict.ending)
    tx.wake(job_topic(job.id))
    if verdict.state is JobState.PREEMPTED:
        _touch(tx, claim)
    else:
        tx.do("UPDATE lanes SET last_activity = ?, failures = 0 WHERE lane = ?", (tx.now, claim.lane.key))
    return True


def _settle_for_now(
    tx: Tx, limits: Limits, delivery: Delivery, outcome: Retry | HandedBack
) -> tuple[bool, float]:
    """Put the job back for another attempt, if it may have one, and say until when the lane is parked.

    False if the job was settled before.
    """
    unsettled = _delivered_and_unsettled(tx, delivery)
    if unsettled is None:
        return False, 0.0
    interrupted, by = unsettled
    verdict = judge(outcome, attempt=delivery.attempt, interrupted=bool(interrupted), by=by, limits=limits)
    _touch(tx, delivery.claim)
    parked = count_failure(tx, limits, delivery.claim) if verdict.failed_attempt else 0.0
    _apply(tx, delivery, verdict)
    return True, parked


def _delivered_and_unsettled(tx: Tx, delivery: Delivery) -> tuple[int, JobId | None] | None:
    """Refuse a word about a job that this claim was not given; None if the job was settled before."""
    row = tx.one(
        "SELECT state, attempt, fence, interrupted, interrupted_by FROM jobs WHERE id = ?", (delivery.job.id,)
    )
    if row is None or row[2] != delivery.claim.fence:
        raise ClaimLost(f"job {delivery.job.id} was not delivered under this claim")
    if row[0] != JobState.RUNNING:
        return None
    if row[1] != delivery.attempt:
        raise ClaimLost(f"job {delivery.job.id} is at attempt {row[1]}, not {delivery.attempt}")
    return row[3], row[4]


def hand_back(tx: Tx, limits: Limits, claim: Claim) -> None:
    """Hand back the job that this claim was given and has not settled, if there is one."""
    head = tx.one(_HEAD, (claim.lane.key,))
    if head is not None and head[5] == JobState.RUNNING and head[7] == claim.fence:
        settle(tx, limits, Delivery(claim, _job_of(head, claim), head[6]), HandedBack(), more=False)


def _apply(tx: Tx, delivery: Delivery, verdict: Verdict) -> None:
    lane, job = delivery.claim.lane, delivery.job.id
    match verdict.state:
        case JobState.RETRYING:
            _retry(tx, lane, job, verdict.note, tx.now + verdict.retry_in)
        case JobState.QUEUED:
            event(tx, lane, Happening.HANDED_BACK, job=job, note=verdict.note)
            tx.do(
                "UPDATE jobs SET state = 'queued', note = ?, started_at = NULL, attempt = attempt - 1"
                " WHERE id = ?",
                (verdict.note, job),
            )
        case _:
            if verdict.state is JobState.DEAD:
                event(tx, lane, Happening.DEAD, job=job, note=verdict.note)
            end(tx, job, verdict)
