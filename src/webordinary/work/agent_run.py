"""Driving one run of an agent: its events are kept as they come, and a stop reaches it at once."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, Room
from webordinary.ports.agent import Agent, AgentRun
from webordinary.ports.handler import Stop
from webordinary.ports.journal import Journal

BATCH_EVENTS_MAX = 50  # in one write
BATCH_QUIET_SECONDS = 0.2  # events that come together are kept together


async def run_agent(
    agent: Agent, errand: AgentTask, room: Room, delivery: Delivery, stop: Stop, journal: Journal
) -> AgentResult:
    """Run the agent to its end; cancelled, no process of it is left."""
    run = await agent.start(errand, room)
    stopping = asyncio.create_task(_interrupt_when_asked(run, stop), name="interrupt")
    recording = asyncio.create_task(_record(run, delivery, journal), name="events")
    try:
        result = await run.result()
        await recording
        return result
    finally:
        for task in (stopping, recording):
            task.cancel()
        await asyncio.gather(stopping, recording, return_exceptions=True)


async def _interrupt_when_asked(run: AgentRun, stop: Stop) -> None:
    await stop.wait()
    await run.interrupt()


async def _record(run: AgentRun, delivery: Delivery, journal: Journal) -> None:
    """Keep what the agent tells. A store that is away for a moment costs events, never the work."""
    waiting: asyncio.Queue[AgentEvent | None] = asyncio.Queue()

    async def collect() -> None:
        async for event in run.events():
            waiting.put_nowait(event)
        waiting.put_nowait(None)

    collecting = asyncio.create_task(collect(), name="collect events")
    try:
        while batch := await _batch(waiting):
            with suppress(BackendUnavailable):
                await journal.tell(delivery, batch)
    finally:
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)


async def _batch(waiting: asyncio.Queue[AgentEvent | None]) -> list[AgentEvent]:
    """Wait for an event, and take what comes with it; empty at the end."""
    first = await waiting.get()
    if first is None:
        return []
    batch = [first]
    with suppress(TimeoutError):
        async with asyncio.timeout(BATCH_QUIET_SECONDS):
            while len(batch) < BATCH_EVENTS_MAX:
                event = await waiting.get()
                if event is None:
                    waiting.put_nowait(None)
                    break
                batch.append(event)
    return batch
