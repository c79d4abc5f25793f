"""When a lane goes on, estimated from what is known: jobs that ended lately, and what runs now."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low

from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.views import JobView, LaneView

OWN_JOBS_MIN = 3  # fewer of a lane's own say less about it than those of everybody


@dataclass(frozen=True, slots=True)
class Pace:
    """How long jobs took lately: half of them no longer than `seconds`."""

    seconds: float
    jobs: int
    own: bool  # of this lane, not of all


@dataclass(frozen=True, slots=True)
class Turn:
    """When a slot comes to a lane that waits for one."""

    expected: float | None  # None: nothing to go by, or what runs takes longer than usual
    latest: float | None  # when every job before it takes all the time it may; None: not within one round
    ahead: int  # lanes that have waited longer


class Estimates:
    """Estimates at one moment, from the latest jobs that ended and the lanes that have work or an owner.

    Whoever reads these keeps them short. What is the same for all lanes is worked out once.
    """

    def __init__(
        self, limits: Limits, now: float, ended: Sequence[JobView] = (), busy: Sequence[LaneView] = ()
    ) -> None:
        """Go by these."""
        self._limits, self._now, self._ended = limits, now, ended
        self._held = [lane for lane in busy if lane.owned_at(now)]
        self._waits = sorted(
            lane.waiting_since for lane in busy if lane.waiting_since is not None and not lane.owned_at(now)
        )

    def pace(self, lane: Lane) -> Pace | None:
        """Measure a lane's own jobs, or everybody's where it has too few; None: nothing has ended yet."""
        return self._own_paces.get(lane, self._common_pace)

    @cached_property
    def _own_paces(self) -> dict[Lane, Pace]:
        own: dict[Lane, list[JobView]] = {}
        for job in self._ended:
            own.setdefault(job.lane, []).append(job)
        paces = {lane: _pace(jobs, own=True) for lane, jobs in own.items()}
        return {lane: pace for lane, pace in paces.items() if pace and pace.jobs >= OWN_JOBS_MIN}

    @cached_property
    def _common_pace(self) -> Pace | None:
        return _pace(self._ended, own=False)

    def turn(self, lane: LaneView) -> Turn | None:
        """Estimate when a slot is free for a lane: those that waited longer go first. None: all are free."""
        if not self._held:
            return None
        ahead = self._ahead(lane)
        rounds, place = divmod(ahead, len(self._held))
        latest = None if rounds else self._latest[place]
        usual = self.pace(lane.lane)
        if usual is None:
            return Turn(None, latest, ahead)
        free = self._free[place]
        return Turn(free + rounds * usual.seconds if free > self._now else None, latest, ahead)

    def _ahead(self, lane: LaneView) -> int:
        """Count the lanes that have waited longer; with no request of its own, all that wait."""
        if lane.waiting_since is None:
            return len(self._waits)
        return bisect_left(self._waits, lane.waiting_since)

    @cached_property
    def _latest(self) -> list[float]:
        """When a slot is free at the latest: the first, the second and so on."""
        limits, now = self._limits, self._now
        return sorted(
            (lane.last_activity or now) + limits.idle_release_seconds
            if lane.head is None
            else self._started(lane) + limits.job_budget_seconds
            for lane in self._held
        )

    @cached_property
    def _free(self) -> list[float]:
        """When a slot is free as things usually go: the first, the second and so on."""
        return sorted(self._free_at(lane) for lane in self._held)

    def _free_at(self, lane: LaneView) -> float:
        """When the running job ends; with more jobs behind it, not before the lane has had its turn."""
        usual = self.pace(lane.lane)
        if lane.head is None or usual is None:  # idle: given in exchange after a moment
            return self._now + self._limits.exchange_grace_seconds
        ends = max(self._started(lane) + usual.seconds, self._now)
        if lane.depth > 1 and lane.claimed_at is not None:
            return max(ends, lane.claimed_at + self._limits.turn_seconds)
        return ends

    def _started(self, lane: LaneView) -> float:
        return (lane.running.started_at if lane.running else None) or self._now


def _pace(jobs: Iterable[JobView], *, own: bool) -> Pace | None:
    took = [
        max(job.finished_at - job.started_at, 0.0)
        for job in jobs
        if job.started_at is not None and job.finished_at is not None
    ]
    return Pace(median_low(took), len(took), own) if took else None
