"""The demo agent as an agent: it plans in a thread, writes at the end, and can be stopped in between."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from webordinary.agents.demo import edits, pictures
from webordinary.agents.demo.edits import Edit
from webordinary.agents.demo.requests import CannotDo, Kind, Request, time_to_take, understood
from webordinary.agents.demo.site import Interrupted, Site, read_site, write
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
    MailedFile,
    Room,
    Stopped,
    Worked,
)

Result = TypeVar("Result")
_LAST_WORDS = {Worked: "done", Declined: "can't be done; nothing was changed", Stopped: "stopped"}


class DemoAgent:
    """See `Agent`. Needs no credentials, runs no program, and does the same to the same site every time."""

    @property
    def name(self) -> str:
        """See `Agent.name`."""
        return "demo"

    async def start(self, task: AgentTask, room: Room) -> DemoRun:
        """See `Agent.start`."""
        return DemoRun(task, room)


class DemoRun:
    """See `AgentRun`. It is a task of the event loop, and threads that it waits for: no process."""

    def __init__(self, task: AgentTask, room: Room) -> None:
        """Begin at once."""
        self._asked, self._room = task, room
        self._events: list[AgentEvent] = []
        self._warnings: list[str] = []
        self._news = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._stopped = threading.Event()  # the same, for threads
        self._run = asyncio.create_task(self._ended())
        self._run.add_done_callback(lambda _: self._news.set())

    async def events(self) -> AsyncIterator[AgentEvent]:
        """See `AgentRun.events`."""
        heard = 0
        while True:
            self._news.clear()
            while heard < len(self._events):
                heard += 1
                yield self._events[heard - 1]
            if self._run.done():
                return
            await self._news.wait()

    async def interrupt(self) -> None:
        """See `AgentRun.interrupt`. There is nothing to kill: every step is short."""
        self._stopped.set()
        self._interrupted.set()
        await asyncio.wait((self._run,))

    async def result(self) -> AgentResult:
        """See `AgentRun.result`."""
        try:
            return await asyncio.shield(self._run)
        except asyncio.CancelledError:
            self._stopped.set()
            self._run.cancel()
            await asyncio.wait((self._run,))
            raise

    async def _ended(self) -> AgentResult:
        self._say(EventKind.STARTED, "reading the site")
        result: AgentResult
        try:
            result = await self._worked()
        except CannotDo as reason:
            details = FailureDetails(words=reason.about, demo=reason.obstacle)
            result = Declined(f"the demo agent: {reason}", FailureKind.DEMO, details)
        except Interrupted:
            result = Stopped("Nothing was changed yet.")
        except OSError as error:
            why = f"the site's files can't be read or written: {error.strerror or error}"
            result = Broke(why, again=True)
        self._say(EventKind.ENDED, result.reason if isinstance(result, Broke) else _LAST_WORDS[type(result)])
        return result

    async def _worked(self) -> AgentResult:
        if self._asked.conflicts:
            files = ", ".join(self._asked.conflicts[:5])
            reason = f"somebody else changed the same lines of {files}, and I can't merge changes"
            raise CannotDo(reason, DemoObstacle.CONFLICT)
        instruction, seconds = time_to_take(self._asked.instruction)
        planned, left_out = await self._in_thread(lambda: self._planned(instruction))
        for warning in self._warnings:
            self._say(EventKind.WARNED, warning)
        first, rest = (planned[:1], planned[1:]) if seconds else (planned, [])
        await self._write(first)
        if seconds and await self._is_interrupted_within(seconds):
            return Stopped(_summary(first))
        await self._write(rest)
        return Worked("\n".join([_summary(planned), *left_out, *self._unused(planned)]))

    def _planned(self, instruction: str) -> tuple[list[Edit], list[str]]:
        """All edits, before a byte is written; and why something that was asked before can't be done."""
        site = read_site(self._room.tree, self._stopped.is_set)
        self._warnings = [f"{path} was not looked into: {why}" for path, why in site.unread.items()][:5]
        if not site.pages:
            raise CannotDo("I found no HTML page in the site that I can read", DemoObstacle.NOWHERE)
        planned: list[Edit] = []
        left_out: list[str] = []
        for earlier in self._asked.earlier:
            try:
                more = self._edits(site, time_to_take(earlier.instruction)[0], earlier.files)
            except CannotDo as reason:
                left_out.append(f"What you asked before I can't do: {reason}")
            else:
                site, planned = _after(site, more), planned + more
        return planned + self._edits(site, instruction, self._asked.files), left_out

    def _edits(self, site: Site, instruction: str, files: Sequence[MailedFile]) -> list[Edit]:
        """Carry all requests of a mail out in memory, each on what the ones before it left."""
        made: list[Edit] = []
        for request in understood(instruction):
            if self._stopped.is_set():
                raise Interrupted
            made.append(_carried_out(_after(site, made), request, pictures.Mailed(self._room.mail, files)))
        return made

    async def _write(self, made: Sequence[Edit]) -> None:
        """Write edits; whatever is asked meanwhile, none is left half written."""
        for edit in made:
            pages = {path: page.source.encode() for path, page in edit.pages.items()}
            for path, content in {**edit.files, **pages}.items():
                await self._in_thread(partial(write, self._room.tree, path, content))
            for used in edit.used:
                self._say(EventKind.USED, used)

    async def _is_interrupted_within(self, seconds: float) -> bool:
        self._say(EventKind.SAID, f"taking my time: {seconds:g} seconds")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._interrupted.wait(), seconds)
        return self._interrupted.is_set()

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        """Wait for a thread to its end, also when cancelled: nothing of a run goes on after it."""
        thread = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._stopped.set()
            await asyncio.wait((thread,))
            raise

    def _unused(self, made: Sequence[Edit]) -> list[str]:
        files = [*self._asked.files, *(file for one in self._asked.earlier for file in one.files)]
        names = [file.called for file in files if file.name not in {edit.mailed for edit in made}]
        return [f"I did not use what was attached: {', '.join(names[:5])}."] if names else []

    def _say(self, kind: EventKind, text: str) -> None:
        self._events.append(AgentEvent(kind, text[:EVENT_CHARACTERS]))
        self._news.set()


def _carried_out(site: Site, request: Request, mailed: pictures.Mailed) -> Edit:
    match request.kind:
        case Kind.TITLE:
            return edits.title_set(site, request)
        case Kind.HEADING:
            return edits.heading_set(site, request)
        case Kind.TEXT:
            return edits.text_replaced(site, request)
        case Kind.CONTACT:
            return edits.contact_changed(site, request)
        case Kind.ADD:
            return edits.text_added(site, request)
        case Kind.REMOVE:
            return edits.text_removed(site, request)
        case Kind.REPLACE_PICTURE:
            return pictures.picture_replaced(site, request, mailed)
        case Kind.ADD_PICTURE:
            return pictures.picture_added(site, request, mailed)


def _after(site: Site, made: Sequence[Edit]) -> Site:
    """The site as edits leave it."""
    pages = dict(site.pages)
    for edit in made:
        pages |= edit.pages
    return replace(site, pages=pages)


def _summary(made: Sequence[Edit]) -> str:
    return "\n".join(edit.summary for edit in made)
