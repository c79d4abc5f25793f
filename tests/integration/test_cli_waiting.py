"""What a command says about waiting: who holds the lane, and an estimate of how long."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from webordinary.core.claim import Ownership, Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done
from webordinary.dispatch.submit import Request
from webordinary.entrypoints.cli.context import Context, open_context
from webordinary.entrypoints.cli.main import main
from webordinary.entrypoints.cli.submit import submit_and_wait
from webordinary.wiring.settings import load

SCOTT, JOHN = Lane("amelia", "scott"), Lane("bakery", "john")
W1 = WorkerId("vm.2848.k7p2mq")


def in_context(home: Path, what: Callable[[Context], Awaitable[None]]) -> None:
    async def done(context: Context) -> None:
        await what(context)

    with open_context(load(home), create=True) as context:
        asyncio.run(done(context))


class LateGatekeeper:
    """The real one, and right after it has looked a worker claims the lane."""

    def __init__(self, context: Context) -> None:
        self._desk, self._real = context, context.backend.gatekeeper

    async def owner(self, lane: Lane) -> Ownership | None:
        found = await self._real.owner(lane)
        await self._desk.backend.broker.claim(W1, room=1, wait=0, only=lane)
        await self._desk.backend.broker.keep(Presence(W1, 1, self._desk.clock.now()), [])
        return found


def test_a_lane_that_was_claimed_meanwhile_is_not_said_to_be_nobodys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def submit(context: Context) -> None:
        object.__setattr__(context.backend, "gatekeeper", LateGatekeeper(context))
        request = Request(SCOTT, "Bigger letters", policy=Arrival.QUEUE)
        await submit_and_wait(argparse.Namespace(request=request, wait=None, json=False), context)

    in_context(tmp_path, submit)
    said = capsys.readouterr().out
    assert f"{W1} holds it and starts its next job now" in said
    assert "nobody holds" not in said


def test_why_gives_an_estimate_and_the_latest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def busy(context: Context) -> None:
        broker = context.backend.broker
        for number, lane in enumerate((SCOTT, SCOTT, SCOTT, JOHN)):
            await broker.submit(Job(JobId(f"j{number}"), lane, "x", f"<{number}>", Arrival.QUEUE))
        (claim,) = (await broker.claim(W1, room=1, wait=0, only=SCOTT)).claims
        first = await broker.next_job(claim, wait=0)
        assert first is not None
        await asyncio.sleep(0.2)
        await broker.settle(first, Done(), more=False)
        assert await broker.next_job(claim, wait=0) is not None
        await broker.keep(Presence(W1, 1, context.clock.now()), [claim])

    in_context(tmp_path, busy)
    assert main(["why", "--home", str(tmp_path)]) == 0
    scott, john = capsys.readouterr().out.splitlines()
    assert "owner busy" in scott
    assert "(the last job took " in scott
    assert "; at the latest in " in scott
    assert "the one slot of the one worker is taken" in john
    assert "(the last job took " in john
    assert "; at the latest in " in john
