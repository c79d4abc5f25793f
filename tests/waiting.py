"""Waiting for what must come, on a machine that may be ten times as busy as ours.

A check waits for what happens. It never counts its looks and never measures time: the one bound here is
beyond everything but a hang, and the timeout of pytest is the last resort.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any, TypeVar

T = TypeVar("T")

HANG_SECONDS = 240.0  # below what a long poll waits in tests, so that a poll that nobody woke is caught


async def until(holds: Callable[[], object]) -> None:
    """Come back when it holds; the answer may have to be awaited."""
    async with asyncio.timeout(HANG_SECONDS):
        for pause in _pauses():
            answer = holds()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await asyncio.sleep(pause)


async def soon(awaited: Awaitable[T]) -> T:
    """What it gives, without waiting for it for ever."""
    return await asyncio.wait_for(awaited, HANG_SECONDS)


@asynccontextmanager
async def waiting(poll: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """A poll that has nothing yet and waits for it."""
    task = asyncio.create_task(poll)
    await asyncio.sleep(0.05)
    assert not task.done()
    try:
        yield task
    finally:
        task.cancel()


def wait_until(holds: Callable[[], object]) -> None:
    """Come back when it holds, where there is no loop."""
    give_up = time.monotonic() + HANG_SECONDS
    for pause in _pauses():
        if holds():
            return
        assert time.monotonic() < give_up, "it never came"
        time.sleep(pause)


def _pauses() -> Iterator[float]:
    """Short at first, so that a test is quick; then longer, for looking costs the time that is waited for."""
    return chain((0.002, 0.005, 0.01, 0.02, 0.02, 0.05), repeat(0.1))
