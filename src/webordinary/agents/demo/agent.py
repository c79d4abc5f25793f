"""The demo agent as an agent: it plans in a thread, writes at the end, and can be stopped in between."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from webordinary.agents.demo.bounds import CannotDo
from webordinary.agents.demo.edits import Edit
from webordinary.agents.demo.pictures import Mailed
from webordinary.agents.demo.planning import after, planned
from webordinary.agents.demo.sentences import time_to_take
from webordinary.agents.demo.tree import Interrupted, read_tree, write
from webordinary.agents.demo.understanding import understood
from webordinary.core.facts import FailureDetails
from webordinary.core.failure import DemoObstacle, FailureKind
from webordinary.core.work import (
    EVENT_CHARACTERS,
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

Result = TypeVar("Result")


class DemoAgent:
    """See `Agent`. Needs no credentials, runs no program, and does the same to the same site every time."""

    @property
    def name(self) -> str:
        """See `Agent.name`."""
        return "demo"

    async def start(self, errand: AgentTask, room: Room) -> DemoRun:
        """See `Agent.start`."""
        return DemoRun(errand, room)


@dataclass(frozen=True, slots=True)
class _Plan:
    edits: list[Edit]
    warnings: list[str]
    left_out: list[str]  # why something that was asked before can't be done


class DemoRun:
    """See `AgentRun`. It is a task of the event loop, and threads that it waits for: no process."""

    def __init__(self, errand: AgentTask, room: Room) -> None:
        """Begin at once."""
        self._errand, self._room = errand, room
        self._events: list[AgentEvent] = []
        self._news = asyncio.Event()
        self._asked = asyncio.Event()
        self._stopped = threading.Event()  # the same, for threads
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(lambda _: self._news.set())

    async def events(self) -> AsyncIterator[AgentEvent]:
        """See `AgentRun.events`."""
        told = 0
        while True:
            self._news.clear()
            while told < len(self._events):
                told += 1
                yield self._events[told - 1]
            if self._task.done():
                return
            await self._news.wait()

    async def interrupt(self) -> None:
        """See `AgentRun.interrupt`. There is nothing to kill: every step is short."""
        self._stopped.set()
        self._asked.set()
        await asyncio.wait((self._task,))

    async def result(self) -> AgentResult:
        """See `AgentRun.result`."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self._stopped.set()
            self._task.cancel()
            await asyncio.wait((self._task,))
            raise

    # --- the work -----------------------------------------------------------------------------------

    async def _run(self) -> AgentResult:
        self._tell(EventKind.STARTED, "reading the site")
        try:
            result = await self._work()
        except CannotDo as reason:
            details = FailureDetails(words=reason.about, demo=reason.obstacle)
            result = Declined(f"the demo agent: {reason}", FailureKind.DEMO, details)
        except Interrupted:
            result = Stopped("Nothing was changed yet.")
        except OSError as error:
            result = Broke(
                f"the site's files can't be read or written: {error.strerror or error}", again=True
            )
        self._tell(EventKind.ENDED, _in_a_word(result))
        return result

    async def _work(self) -> AgentResult:
        if self._errand.conflicts:
            files = ", ".join(self._errand.conflicts[:5])
            raise CannotDo(
                f"somebody else changed the same lines of {files}, and I can't merge changes",
                DemoObstacle.CONFLICT,
            )
        instruction, seconds = time_to_take(self._errand.instruction)
        plan = await self._in_thread(lambda: self._plan(instruction))
        for warning in plan.warnings:
            self._tell(EventKind.WARNED, warning)
        first, rest = (plan.edits[:1], plan.edits[1:]) if seconds else (plan.edits, [])
        await self._write(first)
        if seconds and await self._interrupted_within(seconds):
            return Stopped(_summary(first))
        await self._write(rest)
        return Worked("\n".join([_summary(plan.edits), *plan.left_out]) + self._unused(plan.edits))

    def _plan(self, instruction: str) -> _Plan:
        tree = read_tree(self._room.tree, self._stopped.is_set)
        mailed = Mailed(self._room.mail, self._errand.files)
        warnings = [f"{path} was not looked into: {why}" for path, why in tree.unread.items()][:5]
        edits: list[Edit] = []
        left_out: list[str] = []
        for earlier in self._errand.earlier:
            try:
                words, _ = time_to_take(earlier.instruction)
                files = Mailed(self._room.mail, earlier.files)
                more = planned(tree, understood(words), files, self._stopped.is_set)
            except CannotDo as reason:
                left_out.append(f"What you asked before I can't do: {reason}")
            else:
                tree, edits = after(tree, more), edits + more
        edits += planned(tree, understood(instruction), mailed, self._stopped.is_set)
        return _Plan(edits, warnings, left_out)

    async def _write(self, edits: list[Edit]) -> None:
        """Write edits; whatever is asked meanwhile, none is left half written."""
        for edit in edits:
            await self._in_thread(partial(self._write_one, edit))
            for used in edit.used:
                self._tell(EventKind.USED, used)

    def _write_one(self, edit: Edit) -> None:
        for path, content in edit.files.items():
            write(self._room.tree, path, content)
        for page in edit.pages:
            write(self._room.tree, page.path, page.content)

    async def _interrupted_within(self, seconds: float) -> bool:
        self._tell(EventKind.SAID, f"taking my time: {seconds:g} seconds")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), seconds)
        return self._asked.is_set()

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        """Wait for a thread to its end, also when cancelled: nothing of a run goes on after it."""
        thread = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._stopped.set()
            await asyncio.wait((thread,))
            raise

    def _unused(self, edits: list[Edit]) -> str:
        used = {edit.mailed for edit in edits}
        files = [*self._errand.files, *(file for one in self._errand.earlier for file in one.files)]
        names = [file.called for file in files if file.name not in used]
        return f"\nI did not use what was attached: {', '.join(names[:5])}." if names else ""

    def _tell(self, kind: EventKind, text: str) -> None:
        self._events.append(AgentEvent(kind, text[:EVENT_CHARACTERS]))
        self._news.set()


def _summary(edits: list[Edit]) -> str:
    return "\n".join(edit.said for edit in edits)


def _in_a_word(result: AgentResult) -> str:
    match result:
        case Worked():
            return "done"
        case Declined():
            return "can't be done; nothing was changed"
        case Stopped():
            return "stopped"
        case Broke(reason):
            return reason
