"""Virtual time and simulated processes: real asyncio code, a made-up clock, a seeded scheduler.

The same seed on the same Python gives the same run. Code that runs here must leave alone what no seed
reaches: the order of a set (unless of numbers, tasks or futures), `asyncio.as_completed` over bare
coroutines, `asyncio.all_tasks()`, `id()`, the real clock, the global `random`, threads other than
`asyncio.to_thread` (here a step that takes no time). Sockets, subprocesses and signals do not exist.

Between processes share plain objects, futures and events. Who is killed takes along what it held: a lock,
or a wake-up meant for one of many (Lock, Condition, Semaphore, Queue). Such things belong behind
`Kernel.in_environment`, which runs a call where nothing is ever killed.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Self, TypeVar

from webordinary.simulation.virtual_loop import PROCESS, Process, StepHook, Stuck, VirtualLoop

__all__ = ["Kernel", "Process", "StepHook", "Stuck", "VirtualLoop"]

T = TypeVar("T")

MAX_VIRTUAL_SECONDS, MAX_STEPS = 86_400.0, 1_000_000
TRACE_LINES = 10_000


class Kernel:
    """A world with its own time: processes that can be paused and killed, and an environment that can't.

    Look at the world before it is disposed of: then the `finally` blocks of whoever was killed do run, since
    Python insists. What they await, schedule or note is lost, what they do to shared objects is not.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, random.Random(seed)
        self.loop = VirtualLoop(self.rng)
        self.environment = self.loop.environment
        self.surprises = self.loop.surprises  # errors that nobody caught, such as a callback's
        self.trace: list[tuple[float, str, str]] = []  # virtual time, process, what it noted
        self.trace_dropped = 0

    @property
    def current(self) -> Process:
        """Whose code runs."""
        return PROCESS.get(self.environment)

    @property
    def step_hook(self) -> StepHook | None:
        """Called before each step with its number and process (None: the environment); may kill and pause."""
        return self.loop.step_hook

    @step_hook.setter
    def step_hook(self, hook: StepHook | None) -> None:
        self.loop.step_hook = hook

    def time(self) -> float:
        return self.loop.now

    def spawn(self, name: str, body: Callable[[], Coroutine[Any, Any, object]]) -> Process:
        """Start a process; when its body is over, so is what it left behind, as with `asyncio.run`."""
        process = Process(name)
        self.loop.processes.append(process)
        process.main = self.loop.create_task(self._live(process, body), context=process.context.copy())
        return process

    async def _live(self, process: Process, body: Callable[[], Coroutine[Any, Any, object]]) -> object:
        try:
            return await body()
        finally:
            if process.state == "running" and not self.loop.is_closed():
                others = [task for task in process.pending() if task is not process.main]
                for task in others:
                    task.cancel()
                if others:
                    await asyncio.wait(others)
                self._stop(process, "ended")

    def in_environment(self, call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a call as a server would: whoever awaits it may be killed, the call goes on."""
        return self.loop.create_task(call, context=self.environment.context.copy())

    def kill(self, process: Process) -> None:
        """Nothing of it runs again, as after kill -9. The step it is in, if any, is its last."""
        if process is self.environment:
            raise ValueError("The environment can't be killed.")
        if process.state in {"running", "paused"}:
            self._stop(process, "killed")

    def _stop(self, process: Process, state: Literal["killed", "ended"]) -> None:
        process.state = state
        self.loop.park(process)
        process.gone.set()

    def pause(self, process: Process) -> None:
        """Nothing of it runs until `resume`, as after SIGSTOP; it is late then."""
        if process is self.environment:
            raise ValueError("The environment can't be paused.")
        if process.state == "running":
            process.state = "paused"
            self.loop.park(process)

    def resume(self, process: Process) -> None:
        if process.state == "paused":
            process.state = "running"
            self.loop.unpark(process)

    def run(
        self,
        main: Coroutine[Any, Any, T],
        *,
        max_virtual_seconds: float = MAX_VIRTUAL_SECONDS,
        max_steps: int = MAX_STEPS,
    ) -> T:
        """Run everybody until this coroutine, part of the environment, is done. May be called again."""
        loop, collecting = self.loop, gc.isenabled()
        loop.main = task = self.in_environment(main)
        loop.last_moment, loop.last_step = loop.now + max_virtual_seconds, loop.step + max_steps
        gc.disable()  # its moments depend on the whole Python process, and finalisers run code
        try:
            loop.run_forever()
        except Stuck as stuck:
            moment = f"seed {self.seed}, {loop.now:.3f} s, step {loop.step}"
            raise Stuck(f"{stuck} ({moment})\n{self.waiting()}") from None
        finally:
            if collecting:
                gc.enable()
            for process in loop.processes:
                process.tasks = process.pending()  # what failed unheard is heard of now
        return task.result()

    def waiting(self) -> str:
        """List what each process waits for."""
        lines = []
        for process in self.loop.processes:
            lines.append(f"{process.name} ({process.state})")
            if process.state in {"running", "paused"}:
                lines += [f"  {task.where()}" for task in process.pending()]
        return "\n".join(lines)

    def note(self, text: str) -> None:
        """Add a line to the trace; the oldest are dropped when there are too many."""
        if self.loop.is_closed():
            return
        if len(self.trace) >= TRACE_LINES:
            self.trace_dropped += TRACE_LINES // 2
            del self.trace[: TRACE_LINES // 2]
        self.trace.append((self.loop.now, self.current.name, text))

    def render_trace(self) -> str:
        dropped = [f"... {self.trace_dropped} earlier lines dropped"] if self.trace_dropped else []
        return "\n".join(dropped + [f"{when:12.3f}  {name:<12}  {text}" for when, name, text in self.trace])

    def dispose(self) -> None:
        """Forget the world, quietly."""
        self.loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dispose()
