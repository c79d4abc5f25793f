"""Numbers over the latest jobs and claims, never over all there is: time to claim, latency, depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webordinary.core.job import OPEN, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import Happening, JobView, LaneEvent
from webordinary.dashboard.parts import Parts

JOBS_WINDOW = 200
EVENTS_WINDOW = 400
HIGH_SHARE = 0.95

TAKES = frozenset({Happening.CLAIMED, Happening.TAKEN_OVER})
CLAIM_EVENTS = {
    Happening.CLAIMED: "claimed",
    Happening.TAKEN_OVER: "taken over",
    Happening.EXCHANGED: "given in exchange",
    Happening.RELEASED: "released",
    Happening.EVICTED: "released",
    Happening.BURIED: "released",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured time."""

    at: float
    seconds: float
    kind: str
    of: str


@dataclass(frozen=True, slots=True)
class Spread:
    """A few numbers for many samples."""

    count: int
    median: float
    high: float  # 95 of 100 are below
    most: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """All that is measured, oldest first."""

    now: float
    time_to_claim: list[Sample]
    latency: list[Sample]
    depth: list[tuple[float, int]]
    claims: list[tuple[float, str]]
    jobs: dict[JobState, int]


async def measure(parts: Parts) -> Metrics:
    """Measure the latest jobs and claims."""
    ledger = parts.backend.ledger
    jobs = (await ledger.jobs(limit=JOBS_WINDOW))[::-1]
    events = await ledger.history(None, limit=EVENTS_WINDOW)
    counts = await ledger.counts()
    return Metrics(
        now=parts.clock.now(),
        time_to_claim=_times_to_claim(events, jobs),
        latency=sorted(_latencies(jobs), key=lambda sample: sample.at),
        depth=_depths(jobs, sum(counts[state] for state in OPEN)),
        claims=[(event.at, CLAIM_EVENTS[event.what]) for event in events if event.what in CLAIM_EVENTS],
        jobs=counts,
    )


def spread(samples: Sequence[Sample]) -> Spread | None:
    """Sum samples up; None if there are none."""
    ordered = sorted(sample.seconds for sample in samples)
    if not ordered:
        return None
    last = len(ordered) - 1
    return Spread(len(ordered), ordered[last // 2], ordered[round(last * HIGH_SHARE)], ordered[last])


def _times_to_claim(events: Sequence[LaneEvent], jobs: Sequence[JobView]) -> list[Sample]:
    """From the oldest job that a claim found waiting until the claim."""
    of_lane: dict[Lane, list[JobView]] = {}
    for job in jobs:
        of_lane.setdefault(job.lane, []).append(job)
    samples = []
    for event in events:
        if event.what not in TAKES:
            continue
        found = [
            job.submitted_at
            for job in of_lane.get(event.lane, ())
            if job.submitted_at <= event.at and (job.started_at is None or job.started_at >= event.at)
        ]
        if found:
            samples.append(Sample(event.at, event.at - min(found), event.what.value, str(event.lane)))
    return samples


def _latencies(jobs: Sequence[JobView]) -> list[Sample]:
    return [
        Sample(job.finished_at, job.finished_at - job.submitted_at, job.state.value, job.id)
        for job in jobs
        if job.finished_at is not None
    ]


def _depths(jobs: Sequence[JobView], open_now: int) -> list[tuple[float, int]]:
    """How many jobs were open, counted backwards from now over the jobs of the window."""
    steps = [(job.submitted_at, 1) for job in jobs]
    steps += [(job.finished_at, -1) for job in jobs if job.finished_at is not None]
    depths, depth = [], open_now
    for at, step in sorted(steps, reverse=True):
        depths.append((at, depth))
        depth = max(depth - step, 0)
    return depths[::-1]
