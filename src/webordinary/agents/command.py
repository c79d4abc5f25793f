"""Any program as an agent: the prompt on its standard input, its exit code as the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import assert_never

from webordinary.core.errors import NotFound
from webordinary.core.failure import FailureKind
from webordinary.core.text import storable
from webordinary.core.work import (
    EVENT_CHARACTERS,
    EVENTS_MAX,
    AgentEvent,
    AgentResult,
    AgentTask,
    Broke,
    Declined,
    EventKind,
    Room,
    Stopped,
    Worked,
)
from webordinary.sandbox.run import GRACE_SECONDS, run_confined
from webordinary.sandbox.sandbox import (
    Budget,
    Ending,
    Exited,
    Interrupted,
    OverBudget,
    RunLimits,
    RunResult,
    Sandbox,
    TimedOut,
)
from webordinary.system.process_output import last_words

CANNOT_DO_THAT = 65  # EX_DATAERR of sysexits.h

TOO_MUCH = {
    Budget.OUTPUT: "wrote more text than it may",
    Budget.MEMORY: "used more memory than it may",
    Budget.PROCESSES: "started more processes than it may",
    Budget.DISK: "wrote more files than the site may grow by",
    Budget.FILE: "wrote a larger file than a site may hold",
}


class CommandAgent:
    """See `Agent`. Exit 0: done, the last lines are the summary. 65: can't do that. All else: it broke.

    The program, and files that are named by their full path in its arguments, are visible in the sandbox.
    """

    def __init__(
        self,
        command: Sequence[str],
        sandbox: Sandbox,
        run_limits: RunLimits | None = None,
        *,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        """Run this program with these arguments for each errand."""
        self._command, self._sandbox = tuple(command), sandbox
        self._allowance, self._grace = run_limits or RunLimits(), grace_seconds
        self._visible = [Path(word) for word in command[1:] if word.startswith("/") and Path(word).is_file()]

    @property
    def name(self) -> str:
        """See `Agent.name`."""
        return Path(self._command[0]).name

    async def start(self, errand: AgentTask, room: Room) -> CommandRun:
        """See `Agent.start`."""
        run = CommandRun(self.name)
        run.begin(self._ran(errand, room, run))
        return run

    async def _ran(self, errand: AgentTask, room: Room, run: CommandRun) -> RunResult:
        seen = self._sandbox.seen(room)
        environment = {
            "WEBORDINARY_JOB": errand.job,
            "WEBORDINARY_TREE": str(seen.tree),
            "WEBORDINARY_MAIL": str(seen.mail),
        }
        wrapped = self._sandbox.wrap(
            self._command, room, environment=environment, run_limits=self._allowance, visible=self._visible
        )
        return await run_confined(
            wrapped,
            self._allowance,
            stdin=errand.prompt.encode(errors="replace"),
            on_line=run.said,
            stop=run.stop,
            grace_seconds=self._grace,
        )


class CommandRun:
    """See `AgentRun`. Made by `CommandAgent.start`."""

    def __init__(self, name: str) -> None:
        """Wait to be begun."""
        self._name = name
        self._events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._running: asyncio.Future[AgentResult] | None = None
        self.stop = asyncio.Event()

    def begin(self, running: Coroutine[None, None, RunResult]) -> None:
        """Run this; tell of its end."""
        self._running = asyncio.ensure_future(self._result(running))

    def said(self, line: str) -> None:
        """Keep a line for whoever listens, or drop it if nobody keeps up."""
        if line.strip() and self._events.qsize() < EVENTS_MAX:
            self._events.put_nowait(AgentEvent(EventKind.SAID, storable(line)[:EVENT_CHARACTERS]))

    async def events(self) -> AsyncIterator[AgentEvent]:
        """See `AgentRun.events`."""
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)  # for whoever else listens

    async def interrupt(self) -> None:
        """See `AgentRun.interrupt`."""
        assert self._running is not None
        self.stop.set()
        await asyncio.wait((self._running,))

    async def result(self) -> AgentResult:
        """See `AgentRun.result`."""
        assert self._running is not None
        try:
            return await asyncio.shield(self._running)
        except asyncio.CancelledError:
            self._running.cancel()
            await asyncio.wait((self._running,))
            raise

    async def _result(self, running: Coroutine[None, None, RunResult]) -> AgentResult:
        try:
            ran = await running
            return result_of(ran.ending, self._name, last_words(ran.tail))
        except NotFound as error:
            return Broke(f"The agent could not be started: {error}.", again=False)
        except OSError as error:
            return Broke(f"The agent could not be started: {error.strerror or error}.", again=True)
        finally:
            self._events.put_nowait(None)


def result_of(ending: Ending, name: str, words: str) -> AgentResult:
    """Say what the end of a run means."""
    wrote = f" Its last words: {words}" if words else " It wrote nothing."
    match ending:
        case Exited(0):
            return Worked(words)
        case Exited(code) if code == CANNOT_DO_THAT:
            return Declined(words)
        case Exited(code):
            return Broke(f"The agent {name} ended with exit code {code}.{wrote}", again=True)
        case TimedOut():
            return Broke(
                f"The agent {name} took longer than it may and was ended.{wrote}",
                again=False,
                kind=FailureKind.TOO_LONG,
            )
        case OverBudget(which):
            return Broke(
                f"The agent {name} {TOO_MUCH[which]} and was ended.{wrote}",
                again=False,
                kind=FailureKind.TOO_LARGE,
            )
        case Interrupted():
            return Stopped(words)
        case _:
            assert_never(ending)
