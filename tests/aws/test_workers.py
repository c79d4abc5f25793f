"""The real worker on the cloud: the three scenarios of the mission, in real time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from tests.aws.emulated import new_settings, set_up
from tests.conformance.world import AMELIA, BRAVO, CORAL
from tests.waiting import HANG_SECONDS, soon, until
from webordinary.backends.aws.open import open_aws
from webordinary.claim.worker import Worker
from webordinary.core.claim import Delivery, Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Outcome, Preempted
from webordinary.ports.backend import Backend
from webordinary.ports.handler import Stop
from webordinary.system.clock import SystemClock

LIMITS = Limits(lease_seconds=60.0, beat_seconds=1.5, sweep_seconds=1.0)


class Diligent:
    """Works for a moment, or until it is asked to stop; remembers what it did."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.started: list[JobId] = []

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        self.started.append(delivery.job.id)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await stop.wait()
                return Preempted(kept="half of it")
        return Done("all of it")


@pytest.fixture
def opened(cloud: str) -> Callable[[], Backend]:
    """Opens one and the same cloud, as several processes would."""
    settings = new_settings(cloud)
    set_up(settings, SystemClock())
    return lambda: open_aws(settings, SystemClock(), LIMITS)


@asynccontextmanager
async def working(backend: Backend, name: str, handler: Diligent, slots: int = 1) -> AsyncIterator[None]:
    """A worker that works, and drains in the end."""
    presence = Presence(WorkerId(name), slots, SystemClock().now())
    worker = Worker(presence, backend.broker, handler, SystemClock(), LIMITS)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.drain()
        await soon(task)
        backend.close()


async def submitted(backend: Backend, lane: Lane, arrival: Arrival = Arrival.QUEUE) -> JobId:
    name = SystemClock().unique()
    await backend.broker.submit(Job(JobId(name), lane, f"do {name}", f"<{name}>", arrival))
    return JobId(name)


async def test_one_worker_serves_two_lanes_without_waiting_for_an_idle_one(
    opened: Callable[[], Backend],
) -> None:
    here, handler = opened(), Diligent(0.1)
    async with working(opened(), "w1", handler):
        first = await submitted(here, AMELIA)
        assert await ended_elsewhere(here, first) == [JobState.DONE]
        second = await submitted(here, BRAVO)
        assert await ended_elsewhere(here, second) == [JobState.DONE]
    assert handler.started == [first, second]
    here.close()


async def test_two_workers_share_the_lanes_and_each_lane_keeps_its_order(
    opened: Callable[[], Backend],
) -> None:
    here, handlers = opened(), (Diligent(0.05), Diligent(0.05))
    jobs = {lane: [await submitted(here, lane) for _ in range(4)] for lane in (AMELIA, BRAVO, CORAL)}
    async with working(opened(), "w1", handlers[0], 2), working(opened(), "w2", handlers[1], 2):
        every = [job for lane in jobs.values() for job in lane]
        assert set(await ended_elsewhere(here, *every)) == {JobState.DONE}
    started = [job for handler in handlers for job in handler.started]
    assert sorted(started) == sorted(every)  # each of them once
    for lane in jobs.values():
        views = [await here.ledger.job(job) for job in lane]
        assert [view.started_at for view in views] == sorted(view.started_at or 0.0 for view in views)
    here.close()


async def test_a_second_mail_interrupts_the_running_job_and_is_carried_out(
    opened: Callable[[], Backend],
) -> None:
    here, handler = opened(), Diligent(HANG_SECONDS)
    async with working(opened(), "w1", handler):
        first = await submitted(here, AMELIA)
        await until(lambda: handler.started == [first])
        handler._seconds = 0.05
        second = await submitted(here, AMELIA, Arrival.INTERRUPT)
        assert await ended_elsewhere(here, first, second) == [JobState.PREEMPTED, JobState.DONE]
    here.close()


async def ended_elsewhere(backend: Backend, *jobs: JobId) -> list[JobState]:
    """How jobs ended that other processes carried out; nobody tells this one, so it looks again and again."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            views = [await backend.ledger.job(job) for job in jobs]
            if all(view.finished_at is not None for view in views):
                return [view.state for view in views]
            await asyncio.sleep(0.05)
