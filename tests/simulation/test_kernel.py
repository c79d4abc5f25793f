"""The ground the simulation stands on: if time, chance or death lie here, every checker lies."""

import asyncio
import contextlib
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from webordinary.simulation import kernel as kernel_module
from webordinary.simulation.kernel import Kernel, Process, Stuck

SEEDS = 300
SOURCE = Path(kernel_module.__file__).parents[2]


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with Kernel(7) as world:
        yield world


async def all_gone(*processes: Process) -> None:
    for process in processes:
        await process.gone.wait()


# --- time ------------------------------------------------------------------------------------------


def test_an_hour_passes_in_no_time(kernel: Kernel) -> None:
    """Leases and idle releases take minutes; a thousand schedules must not."""
    started = time.perf_counter()

    async def main() -> float:
        await asyncio.sleep(3600)
        return kernel.time()

    assert kernel.run(main()) == 3600.0
    assert time.perf_counter() - started < 5


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


def run_python(code: str, *arguments: str, hash_seed: int = 0, warnings: str = "error") -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-W", warnings, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_gives_the_same_trace_whatever_python_hashes(seed: int) -> None:
    """A seed that fails in CI must fail on every machine, yet asyncio keeps tasks in sets."""
    traces = {run_python(WORLD, str(seed), str(holes), hash_seed=holes) for holes in (0, 101, 1009, 4711)}
    assert len(traces) == 1
    assert traces.pop().count("\n") > 50


def test_the_order_of_tasks_in_a_set_is_drawn_too() -> None:
    """Code that leans on the order of a set of tasks should be caught by some seed."""
    assert run_python(WORLD, "1", "0") != run_python(WORLD, "2", "0")


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


# --- asyncio under the lottery -----------------------------------------------------------------------


async def a_queue_delivers_each_item_once() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=2)
    taken: list[int] = []

    async def produce(first: int) -> None:
        for number in range(first, first + 5):
            await queue.put(number)

    async def consume() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    taken.append(await queue.get())
                    queue.task_done()

    consumers = [asyncio.create_task(consume()) for _ in range(3)]
    await asyncio.gather(*(produce(first) for first in (0, 5, 10)))
    await queue.join()
    for consumer in consumers:
        consumer.cancel()
    await asyncio.wait(consumers)
    assert sorted(taken) == list(range(15))
    assert [n for n in taken if n < 5] == list(range(5))


async def a_failing_child_cancels_its_group() -> None:
    stopped: list[int] = []

    async def child(number: int) -> None:
        try:
            await asyncio.sleep(1 if number == 2 else 100)
            raise ValueError
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            stopped.append(number)
            raise

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(child(number))
    except* ValueError:
        stopped.append(2)
    assert sorted(stopped) == [0, 1, 2, 3]


async def a_timeout_that_ties_with_its_work_takes_one_side() -> None:
    loop = asyncio.get_running_loop()
    for _ in range(3):
        finished = False
        try:
            async with asyncio.timeout(1) as limit:
                await asyncio.sleep(1)
                finished = True
        except TimeoutError:
            assert limit.expired()
            assert not finished
        else:
            assert finished
    assert loop.time() == 3.0


async def nested_timeouts_and_wait_for_agree() -> None:
    async def slow() -> str:
        await asyncio.sleep(2)
        return "slow"

    async def hurried() -> None:
        async with asyncio.timeout(1), asyncio.timeout(1):
            await slow()

    with pytest.raises(TimeoutError):
        await hurried()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(slow(), 1)
    with contextlib.suppress(TimeoutError):
        assert await asyncio.wait_for(slow(), 2) == "slow"
    assert await asyncio.wait_for(slow(), 3) == "slow"


async def an_event_wakes_everybody() -> None:
    event = asyncio.Event()
    waiters = [asyncio.create_task(event.wait()) for _ in range(5)]
    await asyncio.sleep(1)
    event.set()
    event.clear()
    assert await asyncio.gather(*waiters) == [True] * 5


async def a_lock_and_a_semaphore_admit_no_more_than_they_may() -> None:
    inside = {"lock": 0, "semaphore": 0}
    lock, semaphore = asyncio.Lock(), asyncio.Semaphore(2)

    async def enter(name: str, gate: asyncio.Lock | asyncio.Semaphore, limit: int, patience: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience), gate:
                inside[name] += 1
                assert inside[name] <= limit
                try:
                    await asyncio.sleep(0.5)
                finally:
                    inside[name] -= 1

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(enter("lock", lock, 1, number % 3 + 0.5))
            group.create_task(enter("semaphore", semaphore, 2, number % 3 + 0.5))
    assert not lock.locked()
    await semaphore.acquire()
    await semaphore.acquire()
    assert semaphore.locked()


async def a_condition_hands_over_one_by_one() -> None:
    condition, tokens, taken = asyncio.Condition(), 0, 0

    async def take() -> None:
        nonlocal tokens, taken
        async with condition:
            await condition.wait_for(lambda: tokens > 0)
            tokens -= 1
            taken += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(take())
        for _ in range(6):
            await asyncio.sleep(0)
            async with condition:
                tokens += 1
                condition.notify()
    assert (tokens, taken) == (0, 6)


async def gather_wait_and_shield_keep_their_word() -> None:
    async def give(number: int) -> int:
        await asyncio.sleep(number % 2)
        if number == 3:
            raise ValueError("three")
        return number

    results = await asyncio.gather(*map(give, range(5)), return_exceptions=True)
    assert [result for result in results if isinstance(result, int)] == [0, 1, 2, 4]
    with pytest.raises(ValueError, match="three"):
        await asyncio.gather(*map(give, range(5)))

    tasks = [asyncio.create_task(give(number)) for number in (1, 2, 4)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert done
    assert all(not task.done() for task in pending)
    await asyncio.wait(tasks)

    inner = asyncio.create_task(asyncio.sleep(2, "kept"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(inner), 1)
    assert await inner == "kept"


async def an_abandoned_generator_is_closed() -> None:
    closed = False

    async def numbers() -> AsyncIterator[int]:
        nonlocal closed
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(1)
            closed = True

    async for _ in numbers():
        break
    await asyncio.sleep(2)
    assert closed


@pytest.mark.parametrize(
    "program",
    [
        a_queue_delivers_each_item_once,
        a_failing_child_cancels_its_group,
        a_timeout_that_ties_with_its_work_takes_one_side,
        nested_timeouts_and_wait_for_agree,
        an_event_wakes_everybody,
        a_lock_and_a_semaphore_admit_no_more_than_they_may,
        a_condition_hands_over_one_by_one,
        gather_wait_and_shield_keep_their_word,
        an_abandoned_generator_is_closed,
    ],
)
def test_asyncio_keeps_its_promises_in_any_order(program: Callable[[], Awaitable[None]]) -> None:
    """A primitive that breaks under the lottery would be blamed on our protocol."""

    async def main() -> None:
        await program()

    for seed in range(SEEDS):
        with Kernel(seed) as kernel:
            kernel.run(main(), max_virtual_seconds=1000, max_steps=10_000)
            assert kernel.surprises == [], seed
