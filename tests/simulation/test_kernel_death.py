"""Death and sleep of simulated processes: kill -9 and SIGSTOP at any step."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest

from tests.simulation.kernel_support import all_gone, run_python
from webordinary.simulation.kernel import Kernel, Process

# --- death -----------------------------------------------------------------------------------------


def test_a_kill_at_any_step_is_the_end_of_one_process_only() -> None:
    """Crash at any await: no finally, no timer, no background task, and the neighbour doesn't notice."""
    steps = next(step for step in itertools.count(1) if not killed_at(step))
    assert steps > 30


async def busy_life(witness: Callable[[str], None], bell: asyncio.Event) -> None:
    """A bit of everything that could go on after death: tasks, timers, generators, finally."""

    async def beat() -> None:
        try:
            while True:
                await asyncio.sleep(1)
                witness("beat")
        finally:
            witness("beat stops")

    async def numbers() -> AsyncIterator[int]:
        try:
            for number in range(4):
                await asyncio.sleep(0.5)
                yield number
        finally:
            witness("generator closes")

    asyncio.get_running_loop().call_later(2, witness, "timer")
    try:
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(beat())
            async for number in numbers():
                witness(f"number {number}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), 1)
            await bell.wait()
            beating.cancel()
    finally:
        witness("leaves")


def killed_at(step: int) -> bool:
    """Let a victim die before this step of its own, if it gets that far."""
    with Kernel(step) as kernel:
        bell, steps = asyncio.Event(), itertools.count(1)
        after_death: list[str] = []

        def witness(text: str) -> None:
            kernel.note(text)
            if kernel.current.state == "killed":
                after_death.append(text)

        def maybe_kill(_: int, process: Process | None) -> None:
            if process is victim and next(steps) == step:
                kernel.kill(victim)

        async def main() -> None:
            await asyncio.sleep(20)
            bell.set()
            await all_gone(victim, neighbour)
            await asyncio.sleep(20)

        victim, neighbour = (kernel.spawn(name, partial(busy_life, witness, bell)) for name in "vn")
        kernel.step_hook = maybe_kill
        kernel.run(main())
        assert after_death == []
        assert [text for _, name, text in kernel.trace if name == "n"][-1] == "leaves"
        assert (neighbour.state, neighbour.failed, kernel.surprises) == ("ended", None, [])
        return victim.state == "killed"


NOISE = """
import asyncio, gc
from webordinary.simulation.kernel import Kernel

async def unawaited():
    pass

async def numbers():
    try:
        while True:
            yield 1
            await asyncio.sleep(1)
    finally:
        await asyncio.sleep(1)

async def body():
    forgotten = unawaited()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(50))
            async for _ in numbers():
                await asyncio.sleep(1)
    finally:
        try:
            await asyncio.sleep(1)
        finally:
            asyncio.create_task(unawaited())
            await asyncio.sleep(1)
            raise OSError

def world():
    kernel = Kernel(0)
    victims = [kernel.spawn(str(n), body) for n in range(3)]
    async def main():
        await asyncio.sleep(5)
        kernel.kill(victims[0])
        kernel.pause(victims[1])
        kernel.kill(kernel.spawn("unborn", body))
    kernel.run(main())
    return kernel

disposed = world()
disposed.dispose()
gc.collect()
assert disposed.surprises == []
world()
gc.collect()
at_exit = world()
"""


@pytest.mark.parametrize("warnings", ["error", "always"])
def test_the_dead_make_no_noise(warnings: str) -> None:
    """Warnings are errors in our tests, and garbage is collected in the middle of somebody else's."""
    assert run_python(NOISE, warnings=warnings) == ""


def test_a_finally_of_the_killed_runs_only_when_the_world_is_disposed_of() -> None:
    """Python closes a coroutine it lets go of; until then the checkers see what kill -9 leaves."""
    done = []

    async def body() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            done.append("finally")
            kernel.note("unheard")

    async def main() -> None:
        await asyncio.sleep(1)
        kernel.kill(victim)
        await asyncio.sleep(1000)

    with Kernel(1) as kernel:
        victim = kernel.spawn("victim", body)
        kernel.run(main())
        assert done == []
    assert done == ["finally"]
    assert kernel.trace == []


def test_a_process_that_kills_itself_finishes_its_step_and_no_more(kernel: Kernel) -> None:
    """How a backend crashes its caller right after a call took effect."""

    async def body() -> None:
        kernel.kill(kernel.current)
        kernel.note("last words")
        await asyncio.sleep(0)
        kernel.note("never")

    process = kernel.spawn("worker", body)
    kernel.run(all_gone(process))
    kernel.run(asyncio.sleep(10))
    assert process.state == "killed"
    assert kernel.trace == [(0.0, "worker", "last words")]


def test_waiters_that_died_or_sleep_do_not_hold_up_the_others(kernel: Kernel) -> None:
    """A wake-up is parked or dropped with its waiter; an event is heard by everybody else."""
    bell = asyncio.Event()

    async def body() -> None:
        await bell.wait()
        kernel.note("heard")

    dead, asleep, awake = (kernel.spawn(name, body) for name in ("dead", "asleep", "awake"))

    async def main() -> None:
        await asyncio.sleep(1)
        kernel.kill(dead)
        kernel.pause(asleep)
        bell.set()
        await asyncio.sleep(4)
        kernel.resume(asleep)
        await all_gone(dead, asleep, awake)

    kernel.run(main())
    assert kernel.trace == [(1.0, "awake", "heard"), (5.0, "asleep", "heard")]


def test_a_call_in_the_environment_outlives_its_caller(kernel: Kernel) -> None:
    """A server finishes what a client asked for, so a shared lock is never left behind locked."""
    lock = asyncio.Lock()

    async def server(name: str) -> str:
        async with lock:
            await asyncio.sleep(10)
            kernel.note(f"served {name}")
            return name

    async def client() -> None:
        kernel.note(await kernel.in_environment(server(kernel.current.name)))

    first, second = kernel.spawn("first", client), kernel.spawn("second", client)

    async def main() -> None:
        await asyncio.sleep(5)
        kernel.kill(first)
        await all_gone(second)
        await asyncio.sleep(20)

    kernel.run(main())
    noted = [(name, text) for _, name, text in kernel.trace]
    assert sorted(noted) == [("kernel", "served first"), ("kernel", "served second"), ("second", "second")]


def test_the_environment_is_out_of_reach(kernel: Kernel) -> None:
    """A fault injector that hits the store would test nothing but itself."""
    with pytest.raises(ValueError, match="killed"):
        kernel.kill(kernel.environment)
    with pytest.raises(ValueError, match="paused"):
        kernel.pause(kernel.environment)


def test_a_process_that_fails_keeps_its_error_and_takes_its_tasks_along(kernel: Kernel) -> None:
    """An unhandled error ends a worker; its heart must not beat on."""

    async def beat() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            kernel.note("stopped")

    async def body() -> None:
        background = asyncio.create_task(beat())
        await asyncio.sleep(1)
        assert not background.done()
        raise OSError("out of disk")

    process = kernel.spawn("worker", body)
    kernel.run(all_gone(process))
    assert isinstance(process.failed, OSError)
    assert process.state == "ended"
    assert kernel.trace == [(1.0, "worker", "stopped")]


def test_errors_that_nobody_catches_are_recorded(kernel: Kernel) -> None:
    """A callback that fails must not vanish, nor print into a green test run."""

    async def fail() -> None:
        raise OSError

    async def main() -> None:
        asyncio.get_running_loop().call_soon(int, "seven")
        asyncio.get_running_loop().call_soon(asyncio.create_task, fail())
        await asyncio.sleep(1)

    kernel.run(main())
    assert [type(error) for _, error in kernel.surprises] == [ValueError, OSError]


# --- sleep -----------------------------------------------------------------------------------------


def test_a_paused_process_finds_its_timeout_late(kernel: Kernel) -> None:
    """A worker stopped past its lease wakes up believing that no time has passed."""

    async def body() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        kernel.note("timeout")

    sleeper, other = kernel.spawn("sleeper", body), kernel.spawn("other", body)

    async def main() -> None:
        await asyncio.sleep(1)
        kernel.pause(sleeper)
        await asyncio.sleep(59)
        kernel.resume(sleeper)
        await all_gone(sleeper, other)

    kernel.run(main())
    assert kernel.trace == [(5.0, "other", "timeout"), (60.0, "sleeper", "timeout")]


def test_what_is_late_comes_in_its_order() -> None:
    """After a pause all is due at once; for real what was ready comes first, then the earlier timer."""
    for seed in range(50):
        with Kernel(seed) as kernel:

            async def body(kernel: Kernel = kernel) -> None:
                for seconds in (4, 2, 3, 200, 100):
                    asyncio.get_running_loop().call_later(seconds, kernel.note, str(seconds))
                for letter in "ab":
                    asyncio.get_running_loop().call_soon(kernel.note, letter)
                kernel.pause(kernel.current)
                await asyncio.sleep(500)

            process = kernel.spawn("sleeper", body)

            async def main(kernel: Kernel = kernel, process: Process = process) -> None:
                await asyncio.sleep(50)
                kernel.resume(process)
                kernel.pause(process)
                await asyncio.sleep(10)
                kernel.resume(process)
                await asyncio.sleep(300)

            kernel.run(main())
            assert [text for _, _, text in kernel.trace] == ["a", "b", "2", "3", "4", "100", "200"]
            assert [when for when, _, _ in kernel.trace] == [60.0] * 5 + [100.0, 200.0]


async def count_through_a_queue(note: Callable[[str], None]) -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(1)

    async def produce() -> None:
        for number in range(5):
            await queue.put(number)

    async with asyncio.TaskGroup() as group:
        group.create_task(produce())
        for _ in range(5):
            note(str(await queue.get()))


def paused_at(step: int) -> bool:
    """Let a worker sleep for a while before this step, if it gets that far."""
    with Kernel(3) as kernel:

        def maybe_pause(now: int, process: Process | None) -> None:
            if process is worker and now >= step:
                kernel.pause(worker)
                kernel.step_hook = None

        async def main() -> None:
            await asyncio.sleep(10)
            kernel.resume(worker)
            await all_gone(worker)

        worker = kernel.spawn("worker", partial(count_through_a_queue, kernel.note))
        kernel.step_hook = maybe_pause
        kernel.run(main())
        assert [text for _, _, text in kernel.trace] == list("01234")
        return kernel.step_hook is None


def test_a_pause_at_any_step_loses_nothing() -> None:
    """A process that is resumed does all it would have done, only later."""
    steps = next(step for step in itertools.count(1) if not paused_at(step))
    assert steps > 10
