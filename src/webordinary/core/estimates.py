"""When a lane goes on, estimated from what is known: jobs that ended lately, and what runs now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.views import JobView, LaneView

OWN_JOBS_MIN = 3  # fewer of a lane's own say less about it than those of everybody


@dataclass(frozen=True, slots=True)
class Known:
    """What estimates are made from; whoever reads it keeps it short."""

    ended: Sequence[JobView] = ()  # the latest
    busy: Sequence[LaneView] = ()  # lanes that have work or an owner


@dataclass(frozen=True, slots=True)
class Pace:
    """How long jobs took lately: half of them no longer than `seconds`."""

    seconds: float
    jobs: int
    own: bool  # of this lane, not of all


def pace(lane: Lane, ended: Sequence[JobView]) -> Pace | None:
    """Measure a lane's own jobs, or everybody's where it has too few; None: nothing has ended yet."""
    own = _durations([job for job in ended if job.lane == lane])
    if len(own) >= OWN_JOBS_MIN:
        return Pace(median_low(own), len(own), own=True)
    everybody = _durations(ended)
    return Pace(median_low(everybody), len(everybody), own=False) if everybody else None


def _durations(jobs: Sequence[JobView]) -> list[float]:
    return [
        max(job.finished_at - job.started_at, 0.0)
        for job in jobs
        if job.started_at is not None and job.finished_at is not None
    ]


@dataclass(frozen=True, slots=True)
class Turn:
    """When a slot comes to a lane that waits for one."""

    expected: float | None  # None: nothing to go by, or what runs takes longer than usual
    latest: float | None  # when every job before it takes all the time it may; None: not within one round
    ahead: int  # lanes that have waited longer


def turn(lane: LaneView, known: Known, limits: Limits, now: float) -> Turn | None:
    """Estimate when a slot is free for a lane: those that waited longer go first. None: nobody holds one."""
    held = [one for one in known.busy if one.owned_at(now)]
    if not held:
        return None
    ahead = sum(_before(one, lane, now) for one in known.busy)
    rounds, place = divmod(ahead, len(held))
    latest = None if rounds else sorted(_latest(one, limits, now) for one in held)[place]
    usual = pace(lane.lane, known.ended)
    if usual is None:
        return Turn(None, latest, ahead)
    free = sorted(_free_at(one, pace(one.lane, known.ended) or usual, limits, now) for one in held)[place]
    return Turn(free + rounds * usual.seconds if free > now else None, latest, ahead)


def _started(lane: LaneView, now: float) -> float:
    return (lane.running.started_at if lane.running else None) or now


def _latest(lane: LaneView, limits: Limits, now: float) -> float:
    if lane.head is None:
        return (lane.last_activity or now) + limits.idle_release_seconds
    return _started(lane, now) + limits.job_budget_seconds


def _free_at(lane: LaneView, usual: Pace, limits: Limits, now: float) -> float:
    """When the running job ends; with more jobs behind it, not before the lane has had its turn."""
    if lane.head is None:  # idle: given in exchange after a moment
        return now + limits.exchange_grace_seconds
    ends = max(_started(lane, now) + usual.seconds, now)
    if lane.depth > 1 and lane.claimed_at is not None:
        return max(ends, lane.claimed_at + limits.turn_seconds)
    return ends


def _before(other: LaneView, lane: LaneView, now: float) -> bool:
    if other.lane == lane.lane or other.waiting_since is None or other.owned_at(now):
        return False
    return lane.waiting_since is None or other.waiting_since < lane.waiting_since
