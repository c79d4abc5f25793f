"""Keeps long-running children of this process alive, and never leaves one behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence

from webordinary.claim.backoff import Backoff
from webordinary.ports.clock import Clock
from webordinary.system.process_output import exit_words
from webordinary.system.processes import STANDARD_ERROR, ChildProcess, Program

STEADY_SECONDS = 10.0  # a child that lived so long is started again without delay


async def start_child(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, stderr: int = STANDARD_ERROR
) -> ChildProcess:
    """Start a program that shall not outlive us: its standard input closes when we end, however we end."""
    return await ChildProcess.start(Program(command, stdin=None, environment=environment), errors=stderr)


class Supervisor:
    """Keeps named children running until told to let them leave."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        clock: Clock,
        tell: Callable[[str], None],
        bury: Callable[[int], Awaitable[None]],
        environment: Mapping[str, str] | None = None,
        refusal: int | None = None,
    ) -> None:
        """Run these; `bury` is called with the process id of one that died without being told to.

        One that soon ends with the exit code `refusal`, the first time it runs, never will: all are told to
        leave.
        """
        self._commands, self._clock, self._tell, self._bury = commands, clock, tell, bury
        self._environment, self._refusal = environment, refusal
        self.refused: str | None = None  # who will never run
        self._leaving = asyncio.Event()
        self.children: dict[str, ChildProcess] = {}

    async def run(self) -> None:
        """Keep all of them running; ends when they were told to leave and have left."""
        try:
            async with asyncio.TaskGroup() as keepers:
                for name, command in self._commands.items():
                    keepers.create_task(self._keep(name, command), name=f"keeper of {name}")
        finally:
            self.kill()

    def drain(self) -> None:
        """Let all children leave in their own time."""
        self._leaving.set()
        for child in self.children.values():
            child.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End all children at once."""
        self._leaving.set()
        for child in self.children.values():
            child.members.kill()

    async def _keep(self, name: str, command: Sequence[str]) -> None:
        backoff, starts = Backoff(self._clock), 0
        while not self._leaving.is_set():
            began, starts = self._clock.monotonic(), starts + 1
            code, pid = await self._run_once(name, command)
            if self._leaving.is_set() and code == 0:
                return
            await self._bury(pid)
            if self._leaving.is_set():
                return
            lived = self._clock.monotonic() - began
            if starts == 1 and code == self._refusal and lived <= STEADY_SECONDS:
                self.refused = name
                self.drain()
                return
            if lived > STEADY_SECONDS:
                backoff.succeeded()
            self._tell(f"{name} (pid {pid}) ended: {exit_words(code)}; starting it again")
            await self._pause(backoff)

    async def _run_once(self, name: str, command: Sequence[str]) -> tuple[int, int]:
        child = self.children[name] = await start_child(command, environment=self._environment)
        try:
            if self._leaving.is_set():  # told while it was being started
                child.send_signal(signal.SIGTERM)
            return await child.wait(), child.pid
        finally:
            if child.code is not None:
                await child.end()
                del self.children[name]

    async def _pause(self, backoff: Backoff) -> None:
        """Wait before another start, unless told to leave meanwhile."""
        waits = [asyncio.ensure_future(backoff.wait()), asyncio.ensure_future(self._leaving.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
