"""Why a lane waits: one reason for each lane, found from what the store shows and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from webordinary.core.claim import WorkerId
from webordinary.core.estimates import Estimates, Pace
from webordinary.core.job import JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.views import LaneView, WorkerView

SILENT_BEATS = 2  # an owner that missed so many beats is probably lost
TAKEN_WITHIN_SECONDS = 5.0  # a free worker takes a waiting lane at once; longer means it does not want to
SWEEP_JITTER = 1.5  # a sweep comes after at most so many times its interval


class Cause(StrEnum):
    """What a lane is waiting for, if anything."""

    EMPTY = "empty"
    IDLE = "idle"
    RUNNING = "running"
    OWNER_BUSY = "owner busy"
    STARTING = "starting"
    RETRY = "retry back-off"
    PARKED = "parked"
    OWNER_SILENT = "owner silent"
    OWNER_LOST = "owner lost"
    NO_WORKER = "no worker"
    NO_FREE_WORKER = "no free worker"
    BEING_CLAIMED = "being claimed"
    NOT_TAKEN = "not taken"


QUIET = frozenset({Cause.EMPTY, Cause.IDLE})
MOVING = frozenset({Cause.RUNNING, Cause.OWNER_BUSY, Cause.STARTING, Cause.BEING_CLAIMED})
UNOWNED = frozenset(
    {Cause.NO_WORKER, Cause.OWNER_LOST, Cause.NO_FREE_WORKER, Cause.NOT_TAKEN, Cause.BEING_CLAIMED}
)
ESTIMATED = frozenset({Cause.RUNNING, Cause.OWNER_BUSY, Cause.NO_FREE_WORKER})


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a lane waits, in words and as values."""

    cause: Cause
    text: str
    until: float | None = None  # when this ends by itself, at the latest, where that is known
    worker: WorkerId | None = None
    job: JobId | None = None
    behind: int = 0  # jobs that wait behind the one the lane is at
    expected: float | None = None  # when it goes on, estimated


def why(
    lane: LaneView,
    workers: Sequence[WorkerView],
    limits: Limits,
    now: float,
    estimates: Estimates | None = None,
) -> Reason:
    """Say what a lane waits for. `workers` are those that showed themselves within a lease.

    Causes in `ESTIMATED` say when it goes on, as far as that can be estimated.
    """
    estimates = estimates or Estimates(limits, now)
    if lane.head is None:
        return _without_work(lane, limits, now)
    if lane.owned_at(now):
        return _silent(lane, workers, limits, now) or _owned(lane, limits, now, estimates)
    return _held_back(lane, now) or _unowned(lane, workers, limits, now, estimates)


def _without_work(lane: LaneView, limits: Limits, now: float) -> Reason:
    # A dead job holds nobody up; whoever wonders where it is should hear of it all the same.
    dead = f"; {counted(lane.dead, 'dead letter')} can be redriven" if lane.dead else ""
    if not lane.owned_at(now):
        return Reason(Cause.EMPTY, f"nothing waits here and nobody holds it{dead}")
    until = (lane.last_activity or now) + limits.idle_release_seconds
    text = f"nothing waits here; {lane.worker} keeps it for {span(until - now)}, or until another lane waits"
    return Reason(Cause.IDLE, text + dead, until, lane.worker)


def _silent(lane: LaneView, workers: Sequence[WorkerView], limits: Limits, now: float) -> Reason | None:
    """An owner whose lease still counts, but who stopped beating."""
    assert lane.lease_until is not None
    left = lane.lease_until - now
    quiet = limits.lease_seconds - left
    if quiet <= SILENT_BEATS * limits.beat_seconds and any(one.worker == lane.worker for one in workers):
        return None
    text = (
        f"its owner {lane.worker} has not been heard of for {span(quiet)}; "
        f"if it is lost, its lease runs out in {span(left)} and another worker goes on"
    )
    return Reason(Cause.OWNER_SILENT, text, lane.lease_until, lane.worker, _head(lane), lane.depth - 1)


def _owned(lane: LaneView, limits: Limits, now: float, estimates: Estimates) -> Reason:
    running, behind = lane.running, lane.depth - 1
    if running is None:
        starting = f"{lane.worker} holds it and starts its next job now"
        return _held_back(lane, now) or Reason(
            Cause.STARTING, starting, worker=lane.worker, job=_head(lane), behind=behind
        )
    began = running.started_at or now
    until = began + limits.job_budget_seconds
    usual = estimates.pace(lane.lane)
    expected = min(began + usual.seconds, until) if usual else None
    if expected is not None and expected <= now:
        expected = None  # it takes longer than usual: how much longer, nobody knows
    text = f"{lane.worker} has been on job {running.id} for {span(now - began)}"
    if behind:
        text += f"; {counted(behind, 'job')} behind it"
    if usual:
        text += f"; {_end_in_words(usual, expected, now, 'the next one starts' if behind else 'done')}"
    cause = Cause.OWNER_BUSY if behind else Cause.RUNNING
    return Reason(cause, text, until, lane.worker, running.id, behind, expected)


def _end_in_words(usual: Pace, expected: float | None, now: float, what: str, late: str = "") -> str:
    whose = " of this lane" if usual.own else ""
    basis = f"half of the last {usual.jobs} jobs{whose} took up to {span(usual.seconds)}"
    if usual.jobs == 1:
        basis = f"the last job took {span(usual.seconds)}"
    if expected is None:
        return f"{late}longer than usual ({basis})"
    return f"{what} in about {span(expected - now)}, as an estimate ({basis})"


def _held_back(lane: LaneView, now: float) -> Reason | None:
    """Held by a rule and not for want of a worker: parked, or its head waits for its next attempt."""
    behind, head = lane.depth - 1, lane.head
    if lane.parked_until is not None and lane.parked_until > now:
        left = span(lane.parked_until - now)
        text = f"too many attempts in a row failed: its breaker is open, it is parked for another {left}"
        return Reason(Cause.PARKED, text, lane.parked_until, lane.worker, _head(lane), behind)
    if head and head.state is JobState.RETRYING and head.due_at is not None and head.due_at > now:
        left = span(head.due_at - now)
        text = f"attempt {head.attempt} of job {head.id} failed; the next one starts in {left}"
        return Reason(Cause.RETRY, text, head.due_at, lane.worker, head.id, behind)
    return None


def _unowned(
    lane: LaneView, workers: Sequence[WorkerView], limits: Limits, now: float, estimates: Estimates
) -> Reason:
    behind, job = lane.depth - 1, _head(lane)
    taking = [worker for worker in workers if not worker.draining]
    sweep = limits.sweep_seconds * SWEEP_JITTER
    if not taking:
        text = "no worker is running" if not workers else "every worker is shutting down"
        return Reason(Cause.NO_WORKER, text, job=job, behind=behind)
    if lane.waiting_since is None and lane.worker is not None:
        text = (
            f"the lease of {lane.worker} ran out; the next sweep, within {span(sweep)}, asks for a new owner"
        )
        return Reason(Cause.OWNER_LOST, text, now + sweep, lane.worker, job, behind)
    if all(len(worker.lanes) >= worker.slots for worker in taking):
        return _all_taken(lane, taking, now, estimates)
    waited = now - lane.waiting_since if lane.waiting_since is not None else 0.0
    if waited > TAKEN_WITHIN_SECONDS:
        text = "a worker has a free slot and does not take it: is it tied to another lane (--only), or stuck?"
        return Reason(Cause.NOT_TAKEN, text, job=job, behind=behind)
    return Reason(Cause.BEING_CLAIMED, "a free worker claims it now", job=job, behind=behind)


def _all_taken(lane: LaneView, taking: Sequence[WorkerView], now: float, estimates: Estimates) -> Reason:
    text = f"{_taken(sum(worker.slots for worker in taking), len(taking))}; it goes on when one is free"
    text += " or idle, or has had its turn"
    coming, usual = estimates.turn(lane), estimates.pace(lane.lane)
    if coming and coming.ahead:
        text += f"; {counted(coming.ahead, 'lane')} waited longer"
    if coming and usual:
        text += f"; {_end_in_words(usual, coming.expected, now, 'that is', 'what runs takes ')}"
    return Reason(
        Cause.NO_FREE_WORKER,
        text,
        coming.latest if coming else None,
        job=_head(lane),
        behind=lane.depth - 1,
        expected=coming.expected if coming else None,
    )


def _taken(slots: int, workers: int) -> str:
    if slots == 1:
        return "the one slot of the one worker is taken"
    return f"all {slots:,} slots of {'the one worker' if workers == 1 else f'{workers:,} workers'} are taken"


def _head(lane: LaneView) -> JobId | None:
    return lane.head.id if lane.head else None


# --- words ----------------------------------------------------------------------------------------


def counted(number: int, noun: str) -> str:
    """Write `1 job`, `2 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def span(seconds: float) -> str:
    """Write a length of time as people say it: `0.4 s`, `12 s`, `3 min`, `1 h 5 min`, `2 d 3 h`."""
    seconds = max(seconds, 0.0)
    if seconds < 9.95:  # noqa: PLR2004 - where one decimal stops being of use
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 2 * 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min"
    if hours < 24:  # noqa: PLR2004 - hours of a day
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"
