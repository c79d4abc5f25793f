"""The demo agent as an agent: all of a mail is planned before a byte is written, and it can be stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from webordinary.agents.demo import edits, pictures
from webordinary.agents.demo.edits import Edit
from webordinary.agents.demo.requests import CannotDo, DemoRequest, RequestKind, time_to_take, understood
from webordinary.agents.demo.site import SiteFolder, read_site, write
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

_CARRY_OUT: dict[RequestKind, Callable[[SiteFolder, DemoRequest], Edit]] = {
    RequestKind.TITLE: edits.title_set,
    RequestKind.HEADING: edits.heading_set,
    RequestKind.TEXT: edits.text_replaced,
    RequestKind.CONTACT: edits.contact_changed,
    RequestKind.ADD: edits.text_added,
    RequestKind.REMOVE: edits.text_removed,
    RequestKind.REPLACE_PICTURE: pictures.picture_replaced,
    RequestKind.ADD_PICTURE: pictures.picture_added,
}


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
    """See `AgentRun`. It is a task of the event loop: no process."""

    def __init__(self, task: AgentTask, room: Room) -> None:
        """Begin at once."""
        self._asked, self._room = task, room
        self._events: list[AgentEvent] = []
        self._news, self._interrupted = asyncio.Event(), asyncio.Event()
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
        self._interrupted.set()
        await asyncio.wait((self._run,))

    async def result(self) -> AgentResult:
        """See `AgentRun.result`."""
        try:
            return await asyncio.shield(self._run)
        except asyncio.CancelledError:
            self._run.cancel()
            await asyncio.wait((self._run,))
            raise

    async def _ended(self) -> AgentResult:
        self._say(EventKind.STARTED, "reading the site")
        result: AgentResult
        try:
            result = await self._worked()
            last = "done" if isinstance(result, Worked) else "stopped"
        except CannotDo as reason:
            details = FailureDetails(words=reason.about, demo=reason.obstacle)
            result = Declined(f"the demo agent: {reason}", FailureKind.DEMO, details)
            last = "can't be done; nothing was changed"
        except OSError as error:
            last = f"the site's files can't be read or written: {error.strerror or error}"
            result = Broke(last, again=True)
        self._say(EventKind.ENDED, last)
        return result

    async def _worked(self) -> AgentResult:
        if self._asked.conflicts:
            files = ", ".join(self._asked.conflicts[:5])
            reason = f"somebody else changed the same lines of {files}, and I can't merge changes"
            raise CannotDo(reason, DemoObstacle.CONFLICT)
        instruction, seconds = time_to_take(self._asked.instruction)
        site = await asyncio.to_thread(read_site, self._room)
        for path, why in list(site.unread.items())[:5]:
            self._say(EventKind.WARNED, f"{path} was not looked into: {why}")
        planned, left_out = await asyncio.to_thread(self._planned, site, instruction)
        if self._interrupted.is_set():
            return Stopped("Nothing was changed yet.")
        first, rest = (planned[:1], planned[1:]) if seconds else (planned, [])
        self._write(first)
        if seconds and await self._is_interrupted_within(seconds):
            return Stopped(_summary(first))
        self._write(rest)
        return Worked("\n".join([_summary(planned), *left_out, *self._unused(planned)]))

    def _planned(self, site: SiteFolder, instruction: str) -> tuple[list[Edit], list[str]]:
        """All edits, each on what the ones before it left; and why what was asked before can't be done."""
        planned: list[Edit] = []
        left_out: list[str] = []
        for earlier in self._asked.earlier:
            try:
                words = time_to_take(earlier.instruction)[0]
                planned += _carried_out(replace(_after(site, planned), mailed=earlier.files), words)
            except CannotDo as reason:
                left_out.append(f"What you asked before I can't do: {reason}")
        planned += _carried_out(replace(_after(site, planned), mailed=self._asked.files), instruction)
        return planned, left_out

    def _write(self, made: Sequence[Edit]) -> None:
        """Write edits without a pause: none is ever left half written."""
        for edit in made:
            pages = {path: page.source.encode() for path, page in edit.pages.items()}
            for path, content in {**edit.files, **pages}.items():
                write(self._room.tree, path, content)
            for used in edit.used:
                self._say(EventKind.USED, used)

    async def _is_interrupted_within(self, seconds: float) -> bool:
        self._say(EventKind.SAID, f"taking my time: {seconds:g} seconds")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._interrupted.wait(), seconds)
        return self._interrupted.is_set()

    def _unused(self, made: Sequence[Edit]) -> list[str]:
        files = [*self._asked.files, *(file for one in self._asked.earlier for file in one.files)]
        names = [file.called for file in files if file.name not in {edit.mailed for edit in made}]
        return [f"I did not use what was attached: {', '.join(names[:5])}."] if names else []

    def _say(self, kind: EventKind, text: str) -> None:
        self._events.append(AgentEvent(kind, text[:EVENT_CHARACTERS]))
        self._news.set()


def _carried_out(site: SiteFolder, instruction: str) -> list[Edit]:
    made: list[Edit] = []
    for request in understood(instruction):
        made.append(_CARRY_OUT[request.kind](_after(site, made), request))
    return made


def _after(site: SiteFolder, made: Sequence[Edit]) -> SiteFolder:
    """The site as edits leave it."""
    pages = dict(site.pages)
    for edit in made:
        pages |= edit.pages
    return replace(site, pages=pages)


def _summary(made: Sequence[Edit]) -> str:
    return "\n".join(edit.summary for edit in made)
