"""Handing out the head of a lane, and settling it."""

from __future__ import annotations

from webordinary.backends.sqlite.records import event, owe_reply
from webordinary.backends.sqlite.submitting import OPEN_STATES, end
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.polling import Nothing
from webordinary.backends.wakeups import job_topic
from webordinary.core.claim import Claim, Delivery
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, Job, JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import HandedBack, Outcome, Verdict, interrupted_note, judge
from webordinary.core.views import Happening

_HEAD = (
    "SELECT id, message_id, instruction, arrival, wants_reply, state, attempt, fence, due_at,"
    f" interrupted, interrupted_by, worker FROM jobs WHERE lane = ? AND state IN {OPEN_STATES}"
    " ORDER BY seq LIMIT 1"
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
    return _next(tx, limits, claim, parked_until(tx, claim))


def _next(tx: Tx, limits: Limits, claim: Claim, parked: float) -> Delivery | Nothing:
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
        tx.do("UPDATE lanes SET last_activity = ? WHERE lane = ?", (tx.now, claim.lane.key))
        return Delivery(claim, job, attempt + 1)
    return Nothing()


def _job_of(head: tuple[object, ...], claim: Claim) -> Job:
    job, message_id, instruction, arrival, wants_reply = head[:5]
    return Job(JobId(str(job)), claim.lane, str(instruction), str(message_id), Arrival(str(arrival)), bool(wants_reply))


def _judge_lost(tx: Tx, limits: Limits, claim: Claim, head: tuple[object, ...]) -> tuple[bool, float]:
    """Judge a job whose owner was lost: may this owner run it again, and is the lane parked now?"""
    job, attempt, interrupted, by, worker = JobId(str(head[0])), int(str(head[6])), head[9], head[10], head[11]
    if interrupted:
        end(tx, job, JobState.PREEMPTED, interrupted_note(JobId(str(by)) if by else None))
        return False, 0.0
    parked = count_failure(tx, limits, claim)
    if attempt >= limits.deliveries_max:
        note = f"its worker was lost {attempt} times"
        event(tx, claim.lane, Happening.DEAD, job=job, note=note)
        end(tx, job, JobState.DEAD, note)
        return False, parked
    if parked > tx.now:
        return False, parked
    event(tx, claim.lane, Happening.REDELIVERED, job=job, note=f"{worker} was lost")
    return True, 0.0


def count_failure(tx: Tx, limits: Limits, claim: Claim) -> float:
    """Count a failed attempt; too many in a row park the lane. Say until when (0: not parked)."""
    row = tx.one("UPDATE lanes SET failures = failures + 1 WHERE lane = ? RETURNING failures", (claim.lane.key,))
    assert row is not None
    if row[0] < limits.breaker_failures:
        return 0.0
    until = tx.now + limits.breaker_seconds
    tx.do("UPDATE lanes SET failures = 0, parked_until = ? WHERE lane = ?", (until, claim.lane.key))
    event(tx, claim.lane, Happening.PARKED, note=f"{limits.breaker_failures} failures in a row")
    return until


def settle(
    tx: Tx, limits: Limits, delivery: Delivery, outcome: Outcome, *, more: bool
) -> Delivery | Nothing:
    """See `Broker.settle`."""
    claim = delivery.claim
    parked = parked_until(tx, claim)
    row = tx.one(
        "SELECT state, attempt, fence, interrupted, interrupted_by FROM jobs WHERE id = ?", (delivery.job.id,)
    )
    if row is None or row[2] != claim.fence:
        raise ClaimLost(f"job {delivery.job.id} was not delivered under this claim")
    state, attempt, _, interrupted, by = row
    if state == JobState.RUNNING:
        if attempt != delivery.attempt:
            raise ClaimLost(f"job {delivery.job.id} is at attempt {attempt}, not {delivery.attempt}")
        verdict = judge(outcome, attempt=attempt, interrupted=bool(interrupted), by=by, limits=limits)
        parked = max(parked, _apply(tx, limits, delivery, verdict))
    return _next(tx, limits, claim, parked) if more else Nothing()


def hand_back(tx: Tx, limits: Limits, claim: Claim) -> None:
    """Hand back the job that this claim was given and has not settled, if there is one."""
    head = tx.one(_HEAD, (claim.lane.key,))
    if head is not None and head[5] == JobState.RUNNING and head[7] == claim.fence:
        settle(tx, limits, Delivery(claim, _job_of(head, claim), head[6]), HandedBack(), more=False)


def _apply(tx: Tx, limits: Limits, delivery: Delivery, verdict: Verdict) -> float:
    claim, job = delivery.claim, delivery.job.id
    parked = count_failure(tx, limits, claim) if verdict.failed_attempt else 0.0
    match verdict.state:
        case JobState.DONE | JobState.FAILED:
            tx.do("UPDATE lanes SET last_activity = ?, failures = 0 WHERE lane = ?", (tx.now, claim.lane.key))
        case _:
            tx.do("UPDATE lanes SET last_activity = ? WHERE lane = ?", (tx.now, claim.lane.key))
    match verdict.state:
        case JobState.RETRYING:
            event(tx, claim.lane, Happening.RETRY, job=job, note=verdict.note)
            tx.do(
                "UPDATE jobs SET state = 'retrying', note = ?, due_at = ? WHERE id = ?",
                (verdict.note, tx.now + verdict.retry_in, job),
            )
        case JobState.QUEUED:
            event(tx, claim.lane, Happening.HANDED_BACK, job=job, note=verdict.note)
            tx.do(
                "UPDATE jobs SET state = 'queued', note = ?, started_at = NULL, attempt = attempt - 1"
                " WHERE id = ?",
                (verdict.note, job),
            )
        case _:
            if verdict.state is JobState.DEAD:
                event(tx, claim.lane, Happening.DEAD, job=job, note=verdict.note)
            _end_delivered(tx, delivery, verdict)
    return parked


def _end_delivered(tx: Tx, delivery: Delivery, verdict: Verdict) -> None:
    """Like `end`, on the busiest path: whether a reply is owed is already known."""
    tx.do(
        "UPDATE jobs SET state = ?, note = ?, finished_at = ? WHERE id = ?",
        (verdict.state.value, verdict.note, tx.now, delivery.job.id),
    )
    if delivery.job.wants_reply:
        owe_reply(tx, delivery.job.id, verdict.state)
    tx.wake(job_topic(delivery.job.id))
