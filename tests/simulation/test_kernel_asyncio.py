"""asyncio under the lottery: its promises hold in whatever order its callbacks run."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.simulation.kernel_support import SEEDS
from webordinary.simulation.kernel import Kernel

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
