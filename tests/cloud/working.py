"""Real workers in this process, whose handler does what an instruction says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.waiting import soon
from webordinary.claim.worker import Worker
from webordinary.core.claim import Delivery, Presence, WorkerId
from webordinary.core.facts import Facts, PreviewFacts
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Failed, Outcome, Preempted
from webordinary.ports.backend import Backend
from webordinary.ports.handler import Stop
from webordinary.system.clock import SystemClock

LIMITS = Limits(lease_seconds=60.0, beat_seconds=1.0, sweep_seconds=1.0, drain_grace_seconds=0.5)


class Obedient:
    """Fails when told to, works until it is stopped when told to wait, and else is done at once."""

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        match delivery.job.instruction.split()[0]:
            case "fail":
                return Failed("no homepage")
            case "wait":
                await stop.wait()
                return Preempted(kept="half of it")
            case _:
                return Done("all of it", Facts(preview=PreviewFacts("c1")))


@asynccontextmanager
async def working(backend: Backend, name: str = "w1") -> AsyncIterator[None]:
    """A worker that works, and drains in the end."""
    clock = SystemClock()
    presence = Presence(WorkerId(name), 2, clock.now())
    worker = Worker(presence, backend.broker, Obedient(), clock, LIMITS)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.drain()
        await soon(task)
