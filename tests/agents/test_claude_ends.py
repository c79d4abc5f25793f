"""However a run of the real Claude Code ends, its reason is plain and no process of it is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.claude_runs import (
    USUAL,
    Place,
    carried_out,
    errand,
    our_processes,
    until_used,
)
from tests.agents.model_server import Hold, ModelServer, Refuse, Reply, Request, Say, Script, Use
from tests.processes import processes_with
from tests.waiting import until
from webordinary.agents.claude.options import ClaudeOptions, bundled_cli
from webordinary.core.failure import FailureKind
from webordinary.core.work import Broke, Stopped, Worked
from webordinary.sandbox.sandbox import RunLimits

HERE = Path(__file__).parents[2]


def sleeper(tree: Path, nap: str) -> Script:
    """Writes a page, then sleeps long, also in the background and deaf to signals."""
    command = f"setsid sleep {nap} & trap '' TERM INT HUP; sleep {nap}; sleep {nap}"

    def script(request: Request) -> Reply:
        if "sleep" not in request.typed:
            return Say("All right.")
        match request.round:
            case 0:
                return Use("Write", {"file_path": str(tree / "new.html"), "content": "half"}, "I begin.")
            case 1:
                return Use("Bash", {"command": command})
            case _:
                return Say("Slept well.")

    return script


async def until_asleep(nap: str) -> None:
    await until(lambda: processes_with(f"sleep\0{nap}"))


async def test_an_interrupted_run_leaves_its_edits_and_no_process(anywhere: Place) -> None:
    room, nap = anywhere.room(), f"61.{os.getpid()}"
    with ModelServer(sleeper(anywhere.sandbox.seen(room).tree, nap)) as server:
        run = await anywhere.agent(server).start(errand("sleep, please"), room)
        async for _ in until_used(run, "Bash"):
            pass
        await until_asleep(nap)
        began = time.monotonic()
        await run.interrupt()
        print(f"from interrupt to no process: {time.monotonic() - began:.3f} s")
        assert our_processes() == []
        assert processes_with(f"sleep\0{nap}") == []
        result = await run.result()
        assert isinstance(result, Stopped), result
        assert result.summary == "I begin."
        assert (room.tree / "new.html").read_text() == "half"

        again = errand("Something else", resume=result.session, recap="RECAP")
        second, _ = await carried_out(anywhere.agent(server), again, anywhere.room("next"))
        assert isinstance(second, Worked), second
        assert "sleep, please" in server.turns[-1].everything
        assert "RECAP" not in server.turns[-1].everything


@pytest.mark.parametrize("after_seconds", [0.0, 0.05, 0.3])
async def test_a_run_can_be_interrupted_while_it_starts(confined: Place, after_seconds: float) -> None:
    with ModelServer(lambda _: Hold()) as server:
        run = await confined.agent(server).start(errand("Hi"), confined.room())
        await asyncio.sleep(after_seconds)
        await run.interrupt()
        assert our_processes() == []
        assert isinstance(await run.result(), Stopped)
        assert [event async for event in run.events()]


@pytest.mark.parametrize("after_seconds", [0.05, 2.0])
async def test_a_cancelled_run_leaves_no_process(anywhere: Place, after_seconds: float) -> None:
    room, nap = anywhere.room(), f"62.{os.getpid()}"
    with ModelServer(sleeper(anywhere.sandbox.seen(room).tree, nap)) as server:
        run = await anywhere.agent(server).start(errand("sleep, please"), room)
        waiting = asyncio.ensure_future(run.result())
        await asyncio.sleep(after_seconds)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert our_processes() == []
        assert processes_with(f"sleep\0{nap}") == []


async def test_a_fork_bomb_of_the_program_is_ended_and_nothing_of_it_is_left(confined: Place) -> None:
    """It does what a mail talked it into."""
    bomb = f"bomb() {{ bomb | bomb & }}; bomb; sleep 62.{os.getpid()}"
    with ModelServer(lambda _: Use("Bash", {"command": bomb})) as server:
        result, _ = await carried_out(confined.agent(server), errand("Hi"), confined.room())
    assert isinstance(result, Broke), result
    assert "processes" in result.reason
    assert our_processes() == []
    assert processes_with(f"62.{os.getpid()}") == []


@pytest.mark.parametrize(
    ("status", "again", "words"),
    [
        (401, False, "The model refused the operator's key"),
        (404, False, "does not exist"),
        (429, True, "The model was busy"),
        (500, True, "The model was busy"),
        (529, True, "The model was busy"),
    ],
)
async def test_a_model_that_fails_is_told_in_plain_words(
    confined: Place, status: int, again: bool, words: str
) -> None:
    with ModelServer(lambda _: Refuse(status)) as server:
        result, _ = await carried_out(confined.agent(server), errand("Hi"), confined.room())
    assert isinstance(result, Broke), result
    assert result.again is again
    assert words in result.reason
    assert result.kind in {FailureKind.MODEL_SETUP, FailureKind.MODEL_UNREACHABLE}
    assert our_processes() == []


async def test_a_model_out_of_reach_may_be_asked_again(confined: Place) -> None:
    with ModelServer(lambda _: Say("")) as server:
        agent = confined.agent(server)
    result, _ = await carried_out(agent, errand("Hi"), confined.room())
    assert isinstance(result, Broke), result
    assert result.again


async def test_a_silent_model_is_not_waited_for(confined: Place) -> None:
    with ModelServer(lambda _: Hold()) as server:
        agent = confined.agent(server, replace(USUAL, idle_seconds=2.0))
        result, _ = await carried_out(agent, errand("Hi"), confined.room())
    assert isinstance(result, Broke), result
    assert result.again
    assert "fell silent" in result.reason
    assert our_processes() == []


async def test_a_killed_program_may_be_tried_again(anywhere: Place) -> None:
    room, nap = anywhere.room(), f"63.{os.getpid()}"
    with ModelServer(sleeper(anywhere.sandbox.seen(room).tree, nap)) as server:
        run = await anywhere.agent(server).start(errand("sleep, please"), room)
        await until_asleep(nap)
        program = os.fsencode(bundled_cli())
        for pid in our_processes():
            with contextlib.suppress(OSError):  # some come and go while we look
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(program):
                    os.kill(pid, signal.SIGKILL)
        result = await run.result()
    assert isinstance(result, Broke), result
    assert result.again
    assert our_processes() == []
    assert processes_with(f"sleep\0{nap}") == []


@pytest.mark.parametrize(
    ("limited", "words"),
    [(replace(USUAL, budget_usd=0.0001), "cost more"), (replace(USUAL, turns_max=1), "more steps")],
)
async def test_a_run_over_its_limit_is_not_tried_again(
    confined: Place, limited: ClaudeOptions, words: str
) -> None:
    def script(request: Request) -> Reply:
        return Use("Bash", {"command": f"echo {request.round}"}, tokens=1000)

    with ModelServer(script) as server:
        result, _ = await carried_out(confined.agent(server, limited), errand("Hi"), confined.room())
    assert isinstance(result, Broke), result
    assert not result.again
    assert words in result.reason
    assert result.cost_usd > 0


async def test_a_run_over_its_time_is_not_tried_again(confined: Place) -> None:
    room, nap = confined.room(), f"64.{os.getpid()}"
    with ModelServer(sleeper(confined.sandbox.seen(room).tree, nap)) as server:
        agent = confined.agent(server, run_limits=RunLimits(seconds=3.0))
        result, _ = await carried_out(agent, errand("sleep, please"), room)
    assert isinstance(result, Broke), result
    assert not result.again
    assert "took longer" in result.reason
    assert processes_with(f"sleep\0{nap}") == []


WORKER = """
import asyncio
from pathlib import Path
from types import SimpleNamespace
from tests.agents.claude_runs import Place, errand
from webordinary.sandbox.{module} import {sandbox}

async def main():
    place = Place({sandbox}(), Path({folder!r}))
    agent = place.agent(SimpleNamespace(base_url={base_url!r}))
    run = await agent.start(errand("sleep, please"), place.room())
    await run.result()

asyncio.run(main())
"""


async def test_a_killed_worker_leaves_no_process(anywhere: Place) -> None:
    nap, folder = f"65.{os.getpid()}", anywhere.folder / "worker"
    sandbox = type(anywhere.sandbox)
    tree = Path("/site") if anywhere.sandbox.confines else folder / "room" / "tree"
    with ModelServer(sleeper(tree, nap)) as server:
        module = sandbox.__module__.rpartition(".")[2]
        code = WORKER.format(
            module=module, sandbox=sandbox.__name__, folder=str(folder), base_url=server.base_url
        )
        worker = subprocess.Popen([sys.executable, "-c", code], cwd=HERE)
        try:
            await until_asleep(nap)
        finally:
            worker.kill()
            worker.wait()
        await until(lambda: not (processes_with(f"sleep\0{nap}") or processes_with(str(folder))))
