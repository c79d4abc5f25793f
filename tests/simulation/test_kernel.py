"""The ground the simulation stands on: if time or chance lie here, every checker lies."""

import asyncio
import contextlib
import itertools
import re
from functools import partial

import pytest

from tests.simulation.kernel_support import SEEDS, all_gone, run_python
from webordinary.simulation import kernel as kernel_module
from webordinary.simulation.kernel import Kernel, Stuck

# --- time ------------------------------------------------------------------------------------------


def test_an_hour_passes_in_no_time(kernel: Kernel) -> None:
    """Leases and idle releases take minutes; a thousand schedules must not."""

    async def main() -> float:
        await asyncio.sleep(3600)
        return kernel.time()

    assert kernel.run(main()) == 3600.0


def test_time_stands_still_while_anything_is_ready(kernel: Kernel) -> None:
    """A timeout fires because time passed, never because the scheduler was busy elsewhere."""

    async def main() -> float:
        timer = asyncio.create_task(asyncio.sleep(1))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not timer.done()
        await timer
        return kernel.time()

    assert kernel.run(main()) == 1.0


def test_a_cancelled_timer_does_not_move_the_clock(kernel: Kernel) -> None:
    """It would hide a deadlock behind the limit of virtual time."""

    async def main() -> None:
        asyncio.get_running_loop().call_later(5, kernel.note, "never").cancel()
        async with asyncio.timeout(900):
            await asyncio.sleep(2)
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="deadlock"):
        kernel.run(main(), max_virtual_seconds=100)
    assert kernel.time() == 2.0
    assert kernel.trace == []


def test_a_thread_is_a_step_that_takes_no_time(kernel: Kernel) -> None:
    """A backend that leaves the loop for its driver still runs the same way twice."""

    def fails() -> None:
        raise OSError("disk")

    async def main() -> int:
        with pytest.raises(OSError, match="disk"):
            await asyncio.to_thread(fails)
        return await asyncio.to_thread(max, 1, 2)

    assert kernel.run(main()) == 2
    assert kernel.time() == 0.0


# --- chance ----------------------------------------------------------------------------------------


def order_of_three(seed: int) -> str:
    with Kernel(seed) as kernel:

        async def say(letter: str) -> None:
            await asyncio.sleep(1)
            kernel.note(letter)

        async def main() -> None:
            await asyncio.gather(*map(say, "abc"))

        kernel.run(main())
        return "".join(text for _, _, text in kernel.trace)


def test_seeds_reach_every_order_and_repeat_their_own() -> None:
    """A schedule that can't be drawn hides its bug; one that can't be repeated hides its cause."""
    orders = [order_of_three(seed) for seed in range(100)]
    assert set(orders) == {"".join(order) for order in itertools.permutations("abc")}
    assert orders == [order_of_three(seed) for seed in range(100)]


def test_callbacks_keep_the_order_that_asyncio_promises() -> None:
    """Callbacks of one future and plain callbacks are no race in real life, so they must not be one here."""

    def run(seed: int) -> str:
        with Kernel(seed) as kernel:

            def say(letter: str, _: object) -> None:
                kernel.note(letter)

            async def main() -> None:
                loop = asyncio.get_running_loop()
                future = loop.create_future()
                for letter in "abc":
                    future.add_done_callback(partial(say, letter))
                future.set_result(None)
                for letter in "xyz":
                    loop.call_soon(kernel.note, letter)
                await asyncio.sleep(1)

            kernel.run(main())
            return "".join(text for _, _, text in kernel.trace)

    orders = {run(seed) for seed in range(100)}
    assert {re.sub("[xyz]", "", order) for order in orders} == {"abc"}
    assert {re.sub("[abc]", "", order) for order in orders} == {"xyz"}
    assert len(orders) > 5


def test_a_parent_that_awaits_a_failing_child_is_cancelled_first() -> None:
    """A TaskGroup leans on the order of a future's callbacks; in real life there is no other."""

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError

    async def main() -> str:
        seen = ""
        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                try:
                    await group.create_task(fail())
                except BaseException as error:
                    seen = type(error).__name__
                    raise
        return seen

    for seed in range(SEEDS):
        with Kernel(seed) as kernel:
            assert kernel.run(main()) == "CancelledError"


WORLD = """
import asyncio, sys
from webordinary.simulation.kernel import Kernel

holes = [[None] * (n % 50) for n in range(int(sys.argv[2]))]  # for other addresses
del holes[::3]

with Kernel(int(sys.argv[1])) as kernel:
    async def stop(name):
        try:
            await asyncio.sleep(100)
        finally:
            kernel.note(f"{name} stops")

    async def fail():
        await asyncio.sleep(1)
        raise ValueError

    async def body():
        try:
            async with asyncio.TaskGroup() as group:
                for n in range(20):
                    group.create_task(stop(n))
                group.create_task(fail())
        except ExceptionGroup:
            pass
        tasks = {asyncio.create_task(asyncio.sleep(n % 3), name=str(n)) for n in range(30)}
        done, pending = await asyncio.wait(tasks, timeout=1)
        kernel.note(" ".join(task.get_name() for task in [*done, *pending]))
        loop = asyncio.get_running_loop()
        futures = {loop.create_future(): n for n in range(10)}
        kernel.note(" ".join(str(futures[future]) for future in set(futures)))
        for future in set(futures):
            future.add_done_callback(lambda future: kernel.note(f"future {futures[future]}"))
            future.set_result(None)
        for next_done in asyncio.as_completed(list(tasks)):
            await next_done
        kernel.note(asyncio.current_task().get_name())

    processes = [kernel.spawn(f"p{n}", body) for n in range(3)]

    async def main():
        await asyncio.sleep(1)
        kernel.kill(processes[1])
        await asyncio.wait([process.main for process in (processes[0], processes[2])])

    kernel.run(main())
    print(kernel.render_trace())
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_gives_the_same_trace_whatever_python_hashes(seed: int) -> None:
    """A seed that fails in CI must fail on every machine, yet asyncio keeps tasks in sets."""
    traces = {run_python(WORLD, str(seed), str(holes), hash_seed=holes) for holes in (0, 101, 1009, 4711)}
    assert len(traces) == 1
    assert traces.pop().count("\n") > 50


def test_the_order_of_tasks_in_a_set_is_drawn_too() -> None:
    """Code that leans on the order of a set of tasks should be caught by some seed."""
    assert run_python(WORLD, "1", "0") != run_python(WORLD, "2", "0")


# --- bounds and reports ----------------------------------------------------------------------------


def test_a_deadlock_says_who_waits_where(kernel: Kernel) -> None:
    """A simulation that hangs without a word costs more than the bug it found."""

    async def body() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await all_gone(kernel.spawn("worker", body))

    with pytest.raises(Stuck, match=r"^deadlock.*seed 7") as stuck:
        kernel.run(main())
    report = str(stuck.value)
    assert re.search(r"worker \(running\)\n.*body \(test_kernel\.py:\d+\) > Event\.wait", report)
    assert re.search(r"kernel \(running\)\n.*main.* > all_gone .* > Event\.wait", report)
    assert "0x" not in report


def test_a_paused_process_alone_is_a_deadlock(kernel: Kernel) -> None:
    """Its timers move nobody's clock, or the world would wait for it for ever; resumed, it is on time."""

    async def body() -> None:
        await asyncio.sleep(10)
        kernel.note("awake")

    async def main() -> None:
        await asyncio.sleep(1)
        kernel.pause(process)
        await all_gone(process)

    process = kernel.spawn("sleeper", body)
    with pytest.raises(Stuck, match=r"(?s)deadlock.*sleeper \(paused\)"):
        kernel.run(main())
    assert kernel.time() == 1.0
    kernel.resume(process)
    kernel.run(all_gone(process))
    assert kernel.trace == [(10.0, "sleeper", "awake")]


def test_a_run_is_bounded_in_time_and_steps(kernel: Kernel) -> None:
    """Liveness is checked by these bounds: drained in bounded virtual time, and nobody spins."""

    async def sleep_for_ever() -> None:
        while True:
            await asyncio.sleep(10)

    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Stuck, match="out of virtual time"):
        kernel.run(sleep_for_ever(), max_virtual_seconds=100)
    assert kernel.time() == 100.0
    with pytest.raises(Stuck, match="out of steps"):
        kernel.run(spin(), max_steps=100)
    with pytest.raises(Stuck, match=r"(?s)out of steps.*sleep_for_ever.*spin"):
        kernel.run(asyncio.sleep(1), max_steps=100)


def test_the_hook_sees_every_step_and_whose_it_is(kernel: Kernel) -> None:
    """The fault injector counts on it: what it does not see it can't break."""
    seen: list[tuple[int, str]] = []
    kernel.step_hook = lambda step, process: seen.append((step, process.name if process else "environment"))

    async def body() -> None:
        await asyncio.sleep(1)
        await asyncio.create_task(asyncio.sleep(1))

    kernel.run(all_gone(kernel.spawn("worker", body)))
    assert [step for step, _ in seen] == list(range(1, len(seen) + 1))
    assert {name for _, name in seen} == {"worker", "environment"}


def test_the_trace_keeps_the_newest_lines(kernel: Kernel) -> None:
    """The end of a long run is where it went wrong."""
    for line in range(kernel_module.TRACE_LINES + 1):
        kernel.note(f"line {line}")
    assert len(kernel.trace) <= kernel_module.TRACE_LINES
    assert kernel.render_trace().startswith(f"... {kernel.trace_dropped} earlier lines dropped\n")
    assert kernel.render_trace().endswith(f"line {kernel_module.TRACE_LINES}")
