"""Running a wrapped command to its end: fed, listened to, watched, and never left behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from webordinary.sandbox.allowance import (
    Allowance,
    Budget,
    Ending,
    Exited,
    Interrupted,
    OverBudget,
    Ran,
)
from webordinary.sandbox.process_limit import ProcessLimit
from webordinary.sandbox.sandbox import Wrapped
from webordinary.sandbox.watchdog import Watchdog, kill_leader

GRACE_SECONDS = 2.0  # between asking to stop and killing
TAIL_BYTES = 16_384
LINE_BYTES = 8_192  # a longer one is told in pieces
KILL_AGAIN_SECONDS = 0.02  # a process that is just starting may not have had its child yet
REAP_SECONDS = 5.0  # a killed process is gone at once, unless the kernel holds it
LAST_WORDS_SECONDS = 0.5  # for output of a process that got away and holds the pipe
TOO_LARGE_A_FILE = 128 + signal.SIGXFSZ


async def run_confined(
    wrapped: Wrapped,
    allowance: Allowance,
    *,
    stdin: bytes = b"",
    on_line: Callable[[str], None] = lambda _: None,
    stop: asyncio.Event | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> Ran:
    """Run it; tell each line it writes; stop it when `stop` is set. Cancelled, it kills first.

    Start it from the main thread: the kernel ties a sandbox to the life of the thread that started it.
    """
    with ProcessLimit(allowance.processes) as limit:
        held = replace(wrapped, command=tuple(limit.holding(wrapped.command)))
        return await _run(
            held, allowance, stdin, _Voice(allowance.output_bytes, on_line), stop, grace_seconds
        )


async def _run(
    wrapped: Wrapped,
    allowance: Allowance,
    stdin: bytes,
    voice: _Voice,
    stop: asyncio.Event | None,
    grace_seconds: float,
) -> Ran:
    transport = await _start(wrapped, voice)
    feeding = transport.get_pipe_transport(0)
    if isinstance(feeding, asyncio.WriteTransport):
        feeding.write(stdin)
        feeding.write_eof()
    pid = transport.get_pid()
    try:
        with Watchdog(pid, allowance, (wrapped.room.tree, wrapped.room.home)) as watchdog:
            voice.too_much = lambda: watchdog.end(OverBudget(Budget.OUTPUT))
            try:
                await _until_over(voice, watchdog, stop, grace_seconds)
            finally:
                await _uncancelled(_kill(voice, watchdog, pid))
    finally:
        transport.close()
    ending = watchdog.verdict or _ending(transport.get_returncode())
    return Ran(ending, voice.tail, voice.heard)


async def _start(wrapped: Wrapped, voice: _Voice) -> asyncio.SubprocessTransport:
    """Start it. A start that was cancelled midway is ended and reaped before the cancellation goes on."""
    starting = asyncio.get_running_loop().subprocess_exec(
        lambda: voice,
        *wrapped.command,
        stderr=asyncio.subprocess.STDOUT,
        env={},
        cwd="/",
        start_new_session=True,
    )
    task: asyncio.Task[tuple[asyncio.SubprocessTransport, Any]] = asyncio.ensure_future(starting)
    cancelled = await _wait_out(task)
    transport, _ = task.result()
    if cancelled is not None:
        try:
            with Watchdog(transport.get_pid(), Allowance(), ()) as watchdog:
                watchdog.end(Interrupted())
                await _uncancelled(_kill(voice, watchdog, transport.get_pid()))
        finally:
            transport.close()
        raise cancelled
    return transport


async def _until_over(
    voice: _Voice, watchdog: Watchdog, stop: asyncio.Event | None, grace_seconds: float
) -> None:
    """Wait for the end, or for the word to stop and then a little more."""
    exited = asyncio.ensure_future(voice.exited.wait())
    asked = asyncio.ensure_future((stop or asyncio.Event()).wait())
    try:
        await asyncio.wait((exited, asked), return_when=asyncio.FIRST_COMPLETED)
        if exited.done():
            return
        watchdog.ask_to_end()
        await asyncio.wait((exited,), timeout=grace_seconds)
        watchdog.end(Interrupted())
    finally:
        exited.cancel()
        asked.cancel()


async def _kill(voice: _Voice, watchdog: Watchdog, pid: int) -> None:
    """Kill the offspring until their leader, which waits for them all, has ended; hear the last words."""
    for _ in range(round(REAP_SECONDS / KILL_AGAIN_SECONDS)):
        if voice.exited.is_set():
            break
        watchdog.end(Interrupted())
        await _within(KILL_AGAIN_SECONDS, voice.exited)
    if not voice.exited.is_set():
        kill_leader(pid)
        await _within(REAP_SECONDS, voice.exited)
    await _within(LAST_WORDS_SECONDS, voice.silent)


async def _within(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


async def _uncancelled(work: Any) -> None:  # noqa: ANN401 - a coroutine of ours
    """Let it end whatever happens; a cancellation goes on afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = await _wait_out(task)
    task.result()
    if cancelled is not None:
        raise cancelled


async def _wait_out(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


def _ending(code: int | None) -> Ending:
    if code is None:  # held by the kernel, killed as soon as it lets go
        return Exited(128 + signal.SIGKILL)
    code = code if code >= 0 else 128 - code
    return OverBudget(Budget.FILE) if code == TOO_LARGE_A_FILE else Exited(code)


class _Voice(asyncio.SubprocessProtocol):
    """What a run writes: counted, told line by line, and its end kept."""

    def __init__(self, allowed_bytes: int, on_line: Callable[[str], None]) -> None:
        self._allowed, self._on_line = allowed_bytes, on_line
        self._line, self._tail = bytearray(), bytearray()
        self.heard = 0
        self.exited, self.silent = asyncio.Event(), asyncio.Event()
        self.too_much: Callable[[], None] = lambda: None

    @property
    def tail(self) -> str:
        """The end of it, in whole lines where there are any."""
        text = readable(bytes(self._tail[-TAIL_BYTES:]))
        if self.heard > TAIL_BYTES:
            text = text.partition("\n")[2] or text
        return text.strip()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - there is one pipe only
        if self.heard > self._allowed:
            self.too_much()  # what was still in the pipe when it was killed; nobody needs it
            return
        self.heard += len(data)
        self._tail += data
        del self._tail[: -2 * TAIL_BYTES]
        self._tell(data)
        if self.heard > self._allowed:
            self.too_much()

    def _tell(self, data: bytes) -> None:
        self._line += data
        while len(self._line) > LINE_BYTES or b"\n" in self._line:
            line, newline, _ = bytes(self._line[:LINE_BYTES]).partition(b"\n")
            del self._line[: len(line) + len(newline)]
            self._on_line(readable(line))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - as it is called
        if fd == 1:
            if self._line:
                self._on_line(readable(bytes(self._line)))
                self._line.clear()
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()


def readable(data: bytes) -> str:
    """Text without anything that a terminal would obey."""
    text = data.decode(errors="replace")
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
