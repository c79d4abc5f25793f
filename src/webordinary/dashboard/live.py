"""Live: one look at the store for all open pages, a small word to each when something changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import StreamingResponse

from webordinary.core.errors import BackendUnavailable, WebordinaryError
from webordinary.core.job import ENDED, JobId
from webordinary.core.json_codec import to_json
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.query_params import QueryParams, text_of

log = logging.getLogger("webordinary.dashboard")

LISTENERS_MAX = 100
QUIET_SECONDS = 10.0  # then a word that means nothing, so that a dead connection is noticed
RETRY_MILLISECONDS = 1_000
LANES_LOOKED_AT = 100
LETTERS_LOOKED_AT = 20
EVENTS_AT_ONCE = 200
EVENTS_WAIT_SECONDS = 1.0  # then it is asked whether the job has ended
NUMBER_MAX = 10**9

WORK, MAIL = "work", "mail"


class Hub:
    """Looks at the store while anybody listens, and tells which topics changed."""

    def __init__(self, parts: Parts) -> None:
        """Look once somebody listens."""
        self._parts = parts
        self._listeners: set[Listener] = set()
        self._looking: asyncio.Task[None] | None = None
        self.closing = asyncio.Event()

    def close(self) -> None:
        """Let all streams end, so that the server can."""
        self.closing.set()
        for listener in self._listeners:
            listener.wake()

    @contextlib.contextmanager
    def _listening(self) -> Iterator[Listener]:
        listener = Listener()
        self._listeners.add(listener)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="dashboard: look for changes")
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def stream(self) -> AsyncIterator[str]:
        """Tell one page what changes."""
        if len(self._listeners) >= LISTENERS_MAX:
            yield f"retry: {30 * RETRY_MILLISECONDS}\n\n"
            return
        with self._listening() as listener:
            yield f"retry: {RETRY_MILLISECONDS}\nevent: ready\ndata: {{}}\n\n"
            while not self.closing.is_set():
                topics = await listener.changed(QUIET_SECONDS)
                yield message("changed", {"topics": sorted(topics)}) if topics else ": still here\n\n"

    async def _look(self) -> None:
        before = await self._seen()
        while True:
            await asyncio.sleep(self._parts.look_seconds)
            now = await self._seen()
            if now is None:
                continue
            changed = [topic for topic in now if before is not None and now[topic] != before[topic]]
            before = now
            for listener in self._listeners:
                listener.notify(changed)

    async def _seen(self) -> Mapping[str, object] | None:
        """A value for each topic that differs when a page about it would look different."""
        try:
            return {WORK: await self._work(), MAIL: await self._mail()}
        except BackendUnavailable as error:
            log.warning("no answer to a look for changes: %s", error)
            return None

    async def _work(self) -> object:
        ledger = self._parts.backend.ledger
        return (
            [replace(worker, seen_at=0.0) for worker in await ledger.workers()],
            [
                replace(lane, last_activity=None, lease_until=None)
                for lane in await ledger.lanes(limit=LANES_LOOKED_AT, busy=True)
            ],
            await ledger.counts(),
            await ledger.history(None, limit=1),
            [(job.id, job.state) for job in await ledger.jobs(limit=1)],
        )

    async def _mail(self) -> object:
        backend = self._parts.backend
        return (
            [(mail.id, mail.state, mail.job) for mail in await backend.mailbox.mails(limit=1)],
            await backend.outbox.letters(limit=LETTERS_LOOKED_AT),
        )


class Listener:
    """One page's subscription: what changed since its last message, as names of topics only."""

    def __init__(self) -> None:
        """Nothing has changed yet."""
        self._topics: set[str] = set()
        self._woken = asyncio.Event()

    def notify(self, topics: Iterable[str]) -> None:
        """These changed."""
        self._topics.update(topics)
        if self._topics:
            self.wake()

    def wake(self) -> None:
        """Let the stream go on, whatever there is to tell."""
        self._woken.set()

    async def changed(self, seconds: float) -> set[str]:
        """Come back with what changed, or with nothing when the seconds are over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()
        topics, self._topics = self._topics, set()
        return topics


async def job_stream(parts: Parts, hub: Hub, job: JobId, after: int) -> AsyncIterator[str]:
    """Tell a job's events as they come, and at last how it ended."""
    journal, ledger = parts.backend.journal, parts.backend.ledger
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    while not hub.closing.is_set():
        ended = (await ledger.job(job)).state in ENDED  # before the last look, or its last words are missed
        events = await journal.events(
            job, after=after, limit=EVENTS_AT_ONCE, wait=0.0 if ended else EVENTS_WAIT_SECONDS
        )
        for event in events:
            after = event.number
            yield message("agent", to_json(event), number=event.number)
        if ended and not events:
            yield message("ended", {})
            return
        if not events:
            yield ": still here\n\n"


def message(event: str, data: object, *, number: int | None = None) -> str:
    """One server-sent event."""
    name = f"id: {number}\n" if number is not None else ""
    return f"{name}event: {event}\ndata: {json.dumps(data)}\n\n"


async def _until_unavailable(stream: AsyncIterator[str]) -> AsyncIterator[str]:
    """End a stream when the store does not answer; the page asks again by itself."""
    try:
        async for word in stream:
            yield word
    except WebordinaryError as error:
        log.warning("a live stream ended: %s", error)


class Streams:
    """The two kinds of streams, as endpoints."""

    def __init__(self, parts: Parts, hub: Hub) -> None:
        """Stream from these."""
        self._parts, self._hub = parts, hub

    async def changes(self, request: Request) -> StreamingResponse:
        """`/events`: which topics changed."""
        QueryParams(request)
        return _sse(self._hub.stream())

    async def job(self, request: Request) -> StreamingResponse:
        """`/jobs/ID/events`: what the agent does."""
        asked = QueryParams(request, "after")
        view = await self._parts.backend.ledger.job(JobId(text_of(request, "job")))
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isascii() and last.isdecimal() and len(last) < len(str(NUMBER_MAX)) else 0
        after = max(after, asked.number("after", least=0, most=NUMBER_MAX, default=0))
        return _sse(job_stream(self._parts, self._hub, view.id, after))


def _sse(stream: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(_until_unavailable(stream), media_type="text/event-stream")
