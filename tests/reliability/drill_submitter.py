"""A sender that can be killed at any moment: it goes on with the first message nobody acknowledged."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from tests.reliability.drill_parts import LIMITS, append, die_with, lanes, lines
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Arrival, Duplicate, Job, JobId
from webordinary.ports.broker import Broker
from webordinary.system.clock import SystemClock

MOST_MESSAGES = 100_000
ENOUGH_WAITING = 8  # jobs of one lane; then let the workers catch up
CATCH_UP_SECONDS = 0.1


async def main(home: Path, name: str, lane_count: int) -> None:
    """Submit until told to stop; acknowledge each message only when the store has it."""
    clock, acknowledged = SystemClock(), home / f"acknowledged-{name}"
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    backend = open_sqlite(home, clock, LIMITS)
    targets = lanes(lane_count)
    append(home / "ready", os.getpid())
    for number in range(len(lines(acknowledged)), MOST_MESSAGES):
        if stopping.is_set():
            break
        lane = targets[number % len(targets)]
        job = Job(JobId(clock.unique()), lane, "work", f"{name}-{number}", Arrival.QUEUE, wants_reply=True)
        append(acknowledged, await _submitted(backend.broker, job), lane.key)
    backend.close()


async def _submitted(broker: Broker, job: Job) -> JobId:
    """Repeat until the store answers; the message id makes that safe."""
    while True:
        try:
            answer = await broker.submit(job)
        except BackendUnavailable:
            await asyncio.sleep(CATCH_UP_SECONDS)
            continue
        if not isinstance(answer, Duplicate) and answer.ahead >= ENOUGH_WAITING:
            await asyncio.sleep(CATCH_UP_SECONDS)
        return answer.job


def submit(parent: int, home: Path, name: str, lane_count: str) -> None:
    """Be such a process."""
    die_with(parent)
    asyncio.run(main(home, name, int(lane_count)))
