"""A claim's cost against the lanes that wait: 64 slots, one job a lane, CPU of the worker's process a job."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from bench.checkout import SystemClock
from bench.effort import Effort
from bench.plot import Plot
from bench.pool import SUBMITS_AT_ONCE, open_store
from bench.report import Row, ratios, row
from webordinary.claim.worker import Worker
from webordinary.core.claim import Delivery, Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Outcome
from webordinary.ports.handler import Stop

ROUNDS = 3
WAITING = (100, 1_000, 10_000, 50_000)
SLOTS, SERVED = 64, 2_000
SECONDS_MAX = 300.0
GROWTH_AT_MOST = 2.0


class Counting:
    """Does nothing, until so many jobs were done."""

    def __init__(self, jobs: int) -> None:
        """Wait for so many."""
        self._left, self.all_done = jobs, asyncio.Event()

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:  # noqa: ARG002 - done before anyone could ask
        """See `Handler.run`."""
        self._left -= 1
        if self._left <= 0:
            self.all_done.set()
        return Done(delivery.job.instruction)


def measure(folder: Path, effort: Effort) -> list[Row | Plot]:
    """Serve the first jobs of more and more waiting lanes, each of a project of its own."""
    sizes = sorted({effort.size(lanes, least=20) for lanes in WAITING})
    micros: dict[int, list[float]] = {lanes: [] for lanes in sizes}
    logging.disable(logging.INFO)
    try:
        for number in range(effort.times(ROUNDS)):
            for lanes in sizes:
                micros[lanes].append(asyncio.run(_serve(folder / f"waiting-{number}-{lanes}", lanes)))
    finally:
        logging.disable(logging.NOTSET)
    rows = [row("waiting", f"CPU a job, {lanes:,} lanes wait", "us", micros[lanes]) for lanes in sizes]
    first, last = sizes[0], sizes[-1]
    growth = ratios(micros[last], micros[first])
    line = [(float(lanes), one.value) for lanes, one in zip(sizes, rows, strict=True)]
    return [
        *rows,
        row("waiting", f"... {last:,} over {first:,}", "x", growth, at_most=GROWTH_AT_MOST),
        Plot("waiting", "A claim's cost", "lanes that wait", "us of CPU a job", {"one job a lane": line}),
    ]


async def _serve(home: Path, lanes: int) -> float:
    """Microseconds of CPU a job."""
    clock, limits = SystemClock(), Limits()
    backend = open_store(home)
    jobs = [
        Job(JobId(clock.unique()), Lane(f"site{number}", "amelia"), "x", f"<{number}@bench>", Arrival.QUEUE)
        for number in range(lanes)
    ]
    for start in range(0, lanes, SUBMITS_AT_ONCE):
        await asyncio.gather(*(backend.broker.submit(job) for job in jobs[start : start + SUBMITS_AT_ONCE]))
    served = min(lanes, SERVED)
    handler = Counting(served)
    worker = Worker(
        Presence(WorkerId("bench"), SLOTS, clock.now(), "bench", 1), backend.broker, handler, clock, limits
    )
    began = time.process_time()
    task = asyncio.create_task(worker.run())
    async with asyncio.timeout(SECONDS_MAX):
        await handler.all_done.wait()
    spent = time.process_time() - began
    worker.drain()
    await task
    backend.close()
    return spent / served * 1e6
