"""An event loop on virtual time, with a seeded scheduler and handles that belong to simulated processes."""
# ruff: noqa: SLF001 - a loop is written against half-private parts of asyncio: Handle._run and the like

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import heapq
import random
import sys
import warnings
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from pathlib import PurePath
from types import CoroutineType
from typing import Any, Literal, TypeVar

T = TypeVar("T")
_Coroutine = Generator[Any, None, T] | Coroutine[Any, Any, T]
StepHook = Callable[[int, "Process | None"], None]

BURY_ATTEMPTS = 100  # how often a coroutine may await while it is being closed
SOON = 0.0  # the `when` of a handle that is no timer


class Stuck(Exception):
    """A run did not reach its end. The message has the reason, the seed, and who waits where."""


class Process:
    """A simulated OS process: the tasks and callbacks that stop when it stops."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: Literal["running", "paused", "killed", "ended"] = "running"
        self.gone = asyncio.Event()  # set when it ended or was killed
        self.main: asyncio.Task[object] | None = None
        self.context = copy_context()
        self.context.run(PROCESS.set, self)
        self.tasks: list[_Task[Any]] = []  # strong: gc must not decide when a forgotten task vanishes
        self.tasks_named = 0
        self.parked: list[_Handle] = []  # waiting for `resume`, or for ever
        self.last_plain: _Handle | None = None  # the last callback of `call_soon`
        self.last_future: object = None  # the last future to call back ...
        self.last_wakeup: _Handle | None = None  # ... and the last of its callbacks

    @property
    def failed(self) -> BaseException | None:
        """The exception that ended its main coroutine."""
        if self.main is None or not self.main.done() or self.main.cancelled():
            return None
        return self.main.exception()

    def pending(self) -> list[_Task[Any]]:
        return [task for task in self.tasks if not task.done()]


PROCESS: ContextVar[Process] = ContextVar("simulated process")  # whose code runs


class _Handle(asyncio.TimerHandle):
    """A callback that knows its process, and which callback may only run after it."""

    __slots__ = ("follower", "process", "waits")
    _when: float

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        loop: VirtualLoop,
        context: Context | None,
    ) -> None:
        context = copy_context() if context is None else context
        super().__init__(when, callback, args, loop, context)
        self.process = context.get(PROCESS) or loop.environment
        self.follower: _Handle | None = None
        self.waits = True


class _Seeded:
    """Takes its place in a set from the seed, not from its address."""

    _loop: Any
    _place: int | None = None

    def __hash__(self) -> int:
        if self._place is None:
            self._place = self._loop.rng.getrandbits(32)
        return self._place


class _Future(_Seeded, asyncio.Future[T]):
    pass


class _Task(_Seeded, asyncio.Task[T]):
    _fut_waiter: asyncio.Future[Any] | None

    def where(self) -> str:
        """Name the awaits down to where it is suspended."""
        awaits: list[str] = []
        inner: object = self.get_coro()
        while isinstance(inner, CoroutineType):
            if inner.cr_frame is not None:
                file = PurePath(inner.cr_code.co_filename).name
                awaits.append(f"{inner.cr_code.co_qualname} ({file}:{inner.cr_frame.f_lineno})")
            inner = inner.cr_await
        if isinstance(self._fut_waiter, asyncio.Task):
            awaits.append(f"task {self._fut_waiter.get_name()}")
        return f"{self.get_name()} in {' > '.join(awaits)}"

    def bury(self) -> None:
        """Close the coroutine, whatever it says."""
        for _ in range(BURY_ATTEMPTS):
            with contextlib.suppress(BaseException):
                self.get_coro().close()  # raises for every `await` in a `finally`
                return


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop that jumps from timer to timer and draws lots among the callbacks that are ready.

    They run in any order but for two cases that code leans on: within a process the callbacks of one future
    keep their order (a TaskGroup must hear of its failed child before the parent that awaits this child goes
    on), and so do those given to `call_soon` without a context. A task has at most one step due.
    """

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng
        self.now = self.last_moment = 0.0
        self.step = self.last_step = 0
        self.step_hook: StepHook | None = None
        self.main: asyncio.Future[Any] = self.create_future()
        self.environment = Process("kernel")
        self.processes = [self.environment]
        self.surprises: list[tuple[str, BaseException | None]] = []
        self._ready: list[_Handle] = []
        self._scheduled: list[tuple[float, int, _Handle]] = []
        self._timers_set = 0
        _OPEN.add(self)

    def time(self) -> float:
        return self.now

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.is_closed():  # then it is only about tasks that never ended
            self.surprises.append((str(context.get("message")), context.get("exception")))

    def create_future(self) -> asyncio.Future[Any]:
        return _Future(loop=self)

    def create_task(
        self, coro: _Coroutine[T], *, name: object = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        context = copy_context() if context is None else context
        process = context.get(PROCESS) or self.environment
        process.tasks_named += 1
        if self.is_closed():
            coro.close()
        name = f"{process.name}/{process.tasks_named}" if name is None else str(name)
        task = _Task(coro, loop=self, name=name, context=context)
        if process.tasks_named % 64 == 0:
            process.tasks = process.pending()
        process.tasks.append(task)
        return task

    def run_in_executor(self, _executor: object, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        async def thread() -> T:
            return func(*args)

        return self.create_task(thread())

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        handle = _Handle(SOON, callback, args, self, context)
        process, older = handle.process, None
        if context is None:
            older, process.last_plain = process.last_plain, handle
        elif args and isinstance(args[0], asyncio.Future):
            older = process.last_wakeup if args[0] is process.last_future else None
            process.last_future, process.last_wakeup = args[0], handle
        self._admit(handle, older)
        return handle

    call_soon_threadsafe = call_soon

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = _Handle(when, callback, args, self, context)
        self._admit(handle)
        return handle

    def _admit(self, handle: _Handle, older: _Handle | None = None) -> None:
        if handle._when > self.now:
            self._timers_set += 1
            heapq.heappush(self._scheduled, (handle._when, self._timers_set, handle))
        elif older is not None and older.waits:
            while older.follower is not None:
                older = older.follower
            older.follower = handle
        elif handle.process.state == "running":
            self._ready.append(handle)
        else:
            handle.process.parked.append(handle)

    def park(self, process: Process) -> None:
        """Take away everything it has ready."""
        process.parked += [handle for handle in self._ready if handle.process is process]
        self._ready[:] = [handle for handle in self._ready if handle.process is not process]

    def unpark(self, process: Process) -> None:
        """Give it back as a real loop finds it: first what was ready, then what fell due, in its order."""
        parked, process.parked = process.parked, []
        self.rng.shuffle(parked)
        parked.sort(key=_Handle.when)
        last: _Handle | None = None
        for handle in parked:
            self._admit(handle, last)
            last = handle if handle._when <= self.now else last

    def _jump(self) -> None:
        """Turn the clock to the next timer of somebody who runs."""
        timers = self._scheduled
        while timers and (timers[0][2]._cancelled or timers[0][2].process.state != "running"):
            handle = heapq.heappop(timers)[2]
            if not handle._cancelled:
                handle.process.parked.append(handle)
        if not timers:
            raise Stuck("deadlock: nothing is ready and no timer is left")
        if timers[0][0] > self.last_moment:
            raise Stuck("out of virtual time")
        self.now = timers[0][0]
        while timers and timers[0][0] <= self.now:
            self._admit(heapq.heappop(timers)[2])

    def _run_once(self) -> None:
        """Run until the main task is done; called by `run_forever`."""
        ready, draw = self._ready, self.rng.random
        while not self.main.done():
            if not ready:
                self._jump()
                continue
            index = int(draw() * len(ready))
            handle, ready[index] = ready[index], ready[-1]
            ready.pop()
            process = handle.process
            if not handle._cancelled:
                if self.step >= self.last_step:
                    ready.append(handle)
                    raise Stuck("out of steps")
                self.step += 1
                if self.step_hook is not None:
                    self.step_hook(self.step, None if process is self.environment else process)
                    if process.state != "running":
                        process.parked.append(handle)
                        continue
            handle.waits = False
            if handle.follower is not None:
                ready.append(handle.follower)
            if not handle._cancelled:
                handle._run()
        self.stop()

    def close(self) -> None:
        """Throw everything away without a sound."""
        if self.is_closed():
            return
        outer, hook = asyncio._get_running_loop(), sys.unraisablehook
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a coroutine that was never awaited
            super().close()
            sys.unraisablehook = lambda _: None
            asyncio._set_running_loop(self)
            for process in self.processes:
                for task in process.pending():
                    task.bury()
                process.tasks, process.parked = [], []
            gc.collect(1)  # what they held may be in cycles
            asyncio._set_running_loop(outer)
            sys.unraisablehook = hook
        _OPEN.remove(self)


_OPEN: set[VirtualLoop] = set()  # garbage collection would wake the killed, so it gets none of them


@atexit.register
def _close_all() -> None:
    for loop in tuple(_OPEN):
        loop.close()
