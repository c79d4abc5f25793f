"""How many workers does a crowd need? Rehearse a working day of bursty mail on virtual time and look.

The real worker and the memory backend serve it; nothing fails here. People come in visits of a few mails,
and many of them at the same hour. What counts is how long a lane that could go on waits for the pool.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from webordinary.backends.broker import TransactionalBroker
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.wakeups import LocalWakeups
from webordinary.claim.rows import JobRow
from webordinary.claim.worker import Worker
from webordinary.core.claim import Delivery, Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Outcome
from webordinary.ports.handler import Stop
from webordinary.simulation.clock import SimClock
from webordinary.simulation.kernel import Kernel, Process

MINUTE, HOUR = 60.0, 3600.0
RUSH_HOURS = (1.5, 5.5)  # after the start of the day
RUSH_MINUTES = 30.0
MOST_DAYS = 10  # a pool that has not answered by then never will


@dataclass(frozen=True, slots=True)
class Plan:
    """A crowd, its day, and the pool that shall serve it."""

    projects: int = 10
    users: int = 10  # of each project
    workers: int = 3
    slots: int = 4  # of each worker
    day_hours: float = 8.0
    visits: int = 2  # of each user, a day
    rush_share: float = 0.5  # of the visits, in the rush
    mails: tuple[int, int] = (1, 4)  # of a visit
    pause_minutes: tuple[float, float] = (0.5, 4.0)  # between two mails of a visit
    job_minutes: tuple[float, float] = (1.0, 6.0)

    @property
    def lanes(self) -> list[Lane]:
        """All project+user pairs."""
        return [Lane(f"p{p}", f"u{u}") for p in range(self.projects) for u in range(self.users)]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a day showed. A wait is the time from when a job was its lane's next until it started."""

    jobs: int
    wait_seconds_median: float
    wait_seconds_p95: float
    wait_seconds_most: float
    utilisation: float  # share of the day's slot time with a job in it
    busiest: int  # jobs at the same time, at most
    fewer_workers: float  # than one worker a lane, as a share

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"{self.jobs} jobs; wait for the pool: median {self.wait_seconds_median:.0f} s, p95"
            f" {self.wait_seconds_p95:.0f} s, most {self.wait_seconds_most:.0f} s; slots used"
            f" {self.utilisation:.0%}, at most {self.busiest} at once; {self.fewer_workers:.0%} fewer workers"
        )


class _TakesMinutes:
    """See `Handler`."""

    def __init__(self, plan: Plan, rng: random.Random) -> None:
        self._plan, self._rng = plan, rng

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        del delivery, stop
        await asyncio.sleep(self._rng.uniform(*self._plan.job_minutes) * MINUTE)
        return Done()


def rehearse(plan: Plan, *, seed: int = 0) -> Rehearsal:
    """Play one day; the same plan and seed always play the same day."""
    with Kernel(seed) as kernel:
        clock, wakeups = SimClock(kernel, "day"), LocalWakeups()
        store = MemoryStore(Limits(), clock, wakeups)
        broker, handler = TransactionalBroker(store, wakeups, clock), _TakesMinutes(plan, kernel.rng)
        pool: dict[Process, Worker] = {}
        for number in range(plan.workers):
            presence = Presence(WorkerId(f"worker-{number}"), plan.slots, clock.now())
            worker = Worker(presence, broker, handler, clock, Limits())
            pool[kernel.spawn(presence.worker, worker.run)] = worker
        kernel.run(_day(plan, store, pool, clock), max_virtual_seconds=MOST_DAYS * 24 * HOUR)
        return _measured(plan, list(store.rows.jobs.values()))


async def _day(plan: Plan, store: MemoryStore, pool: dict[Process, Worker], clock: SimClock) -> None:
    """Send every mail at its time, wait until all are answered, and send the workers home."""
    for at, lane in sorted(_mails(plan, random.Random(clock.chance()))):
        await clock.sleep(max(at - clock.monotonic(), 0.0))
        name = clock.unique()
        await store.submit(Job(JobId(name), lane, "change something", name, Arrival.QUEUE))
    while any(lane.open for lane in store.rows.lanes.values()):
        await clock.sleep(MINUTE)
    for process, worker in pool.items():
        worker.drain()
        await process.gone.wait()


def _mails(plan: Plan, rng: random.Random) -> Iterator[tuple[float, Lane]]:
    for lane in plan.lanes:
        for _ in range(plan.visits):
            if rng.random() < plan.rush_share:
                at = rng.choice(RUSH_HOURS) * HOUR + rng.uniform(0, RUSH_MINUTES) * MINUTE
            else:
                at = rng.uniform(0, plan.day_hours - 1) * HOUR
            for _ in range(rng.randint(*plan.mails)):
                yield at, lane
                at += rng.uniform(*plan.pause_minutes) * MINUTE


def _measured(plan: Plan, jobs: list[JobRow]) -> Rehearsal:
    waits, busy, ended = [], [], dict.fromkeys(plan.lanes, 0.0)
    for job in jobs:  # in the order of submission
        assert job.started_at is not None and job.finished_at is not None  # noqa: PT018 - one fact: it ended
        waits.append(job.started_at - max(job.submitted_at, ended[job.job.lane]))
        busy.append((job.started_at, job.finished_at))
        ended[job.job.lane] = job.finished_at
    waits.sort()
    changes = sorted([(start, 1) for start, _ in busy] + [(end, -1) for _, end in busy])
    slot_seconds = plan.workers * plan.slots * plan.day_hours * HOUR
    return Rehearsal(
        jobs=len(jobs),
        wait_seconds_median=waits[len(waits) // 2],
        wait_seconds_p95=waits[len(waits) * 95 // 100],
        wait_seconds_most=waits[-1],
        utilisation=sum(end - start for start, end in busy) / slot_seconds,
        busiest=max(accumulate(change for _, change in changes)),
        fewer_workers=1 - plan.workers / len(plan.lanes),
    )
