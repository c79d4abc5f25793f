"""Child processes: the one place that starts and ends them.

A child has a session of its own, so that a Ctrl-C reaches only us. It reads from a sealed file, its output is
handed on as it comes, and it is ended with everything it started: asked first if there is time, then killed,
then reaped. A cancellation waits until that is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, Self, TypeVar

KILL_AGAIN_SECONDS = 0.02  # a process that is just starting may not have had its child yet
REAP_SECONDS = 5.0  # a killed process is gone at once, unless the kernel holds it
LAST_WORDS_SECONDS = 0.5  # for output of a process that got away and holds the pipe

STANDARD_ERROR = 2  # ours, for a child to share

# The leash: a watcher in the child's own group reads from a pipe whose other end this process holds, as
# standard error at first. However this process ends, the pipe closes and the watcher kills the group.
LEASH = """
( ( trap '' TERM INT HUP; read -r _ <&2; kill -KILL 0 ) </dev/null >/dev/null & )
exec "$@" 2>&1
"""

T = TypeVar("T")


class Output(Protocol):
    """Takes what a child writes; an `asyncio.StreamReader` is one."""

    def feed_data(self, data: bytes, /) -> None: ...
    def feed_eof(self) -> None: ...


class Members(Protocol):
    """The processes that are signalled when a child shall end."""

    def terminate(self) -> None:
        """Ask them to end."""
        ...

    def kill(self) -> None:
        """Kill those that are there now."""
        ...


class ProcessGroup:
    """See `Members`: all that stayed in the group that a child leads."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)


@dataclass(frozen=True, slots=True)
class Program:
    """What is started."""

    command: Sequence[str]
    stdin: bytes | None = b""  # None: a pipe, which closes when we end, however we end
    environment: Mapping[str, str] | None = None  # None: ours
    folder: Path | None = None
    held: Sequence[int] = ()  # descriptors that stay open in it
    leash: bool = False  # its group is killed when we end, however we end; takes standard error


class ChildProcess(asyncio.SubprocessProtocol):
    """A running program and everything it started. Made by `start`; must be `end`ed."""

    def __init__(self, outputs: Mapping[int, Output]) -> None:
        self._outputs = dict(outputs)  # by descriptor; those that are at their end are taken out
        self._exited, self._all_read = asyncio.Event(), asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._members: Members | None = None
        self._leash = -1

    @classmethod
    async def start(
        cls,
        program: Program,
        *,
        output: Output | None = None,
        errors: Output | int | None = None,
        members: Callable[[int], Members] = ProcessGroup,
    ) -> Self:
        """Start a program. If this is cancelled midway, it is ended before the cancellation goes on.

        Standard error goes the way of standard output unless `errors` takes it, or is a descriptor.
        """
        child = cls({fd: one for fd, one in ((1, output), (2, errors)) if not isinstance(one, int | None)})
        command, stderr = program.command, STDOUT if errors is None else errors
        try:
            with contextlib.ExitStack() as stack:
                if program.leash:
                    command, stderr = stack.enter_context(child._leashed(command))
                starting = asyncio.get_running_loop().subprocess_exec(
                    lambda: child,
                    *command,
                    stdin=stack.enter_context(_source(program.stdin)),
                    stdout=DEVNULL if output is None else PIPE,
                    stderr=stderr if isinstance(stderr, int) else PIPE,
                    env=None if program.environment is None else dict(program.environment),
                    cwd=program.folder,
                    pass_fds=tuple(program.held),
                    start_new_session=True,
                )
                await uncancelled(child._started(starting, members))
        except BaseException:
            if child._members is not None:
                await child.end()
            child._let_go()
            raise
        return child

    async def _started(self, starting: Awaitable[tuple[Any, Any]], members: Callable[[int], Members]) -> None:
        self._transport, _ = await starting
        self._members = members(self.pid)

    @contextlib.contextmanager
    def _leashed(self, command: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
        """The command behind its watcher, and what has to be its standard error."""
        watched, self._leash = os.pipe()
        try:
            yield ("/bin/sh", "-c", LEASH, "sh", *command), watched
        finally:
            os.close(watched)

    def _let_go(self) -> None:
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its group."""
        return self._running.get_pid()

    @property
    def code(self) -> int | None:
        """Its exit code, minus the signal that killed it, or None while it runs."""
        return self._running.get_returncode()

    @property
    def members(self) -> Members:
        """Who is signalled when it shall end."""
        assert self._members is not None
        return self._members

    def pipe(self, fd: int) -> Any:  # noqa: ANN401 - asyncio has one type for all transports
        """Our end of its standard input or output."""
        return self._running.get_pipe_transport(fd)

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the program itself, which may be gone already."""
        with contextlib.suppress(ProcessLookupError):
            self._running.send_signal(number)

    async def wait(self) -> int:
        """Wait for the program to end; what it started may live on, and its output may not all be read."""
        await self._exited.wait()
        assert self.code is not None
        return self.code

    async def wait_or_stop(
        self, stop: Awaitable[object], grace_seconds: float = 0.0, *, all_output: bool = False
    ) -> bool:
        """Wait for the end; once `stop` comes, ask, and wait a little more. Says whether it was asked.

        With `all_output` the end is that of all that was written, also by others who are left.
        """
        ended, asked = asyncio.ensure_future(self._ended(all_output)), asyncio.ensure_future(stop)
        try:
            await asyncio.wait((ended, asked), return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                return False
            self.members.terminate()
            await asyncio.wait((ended,), timeout=grace_seconds)
            return True
        finally:
            ended.cancel()
            asked.cancel()

    async def _ended(self, all_output: bool) -> None:  # noqa: FBT001 - passed on
        await self._exited.wait()
        if all_output:
            await self._all_read.wait()

    async def end(self, grace_seconds: float = 0.0) -> None:
        """Leave no process: ask if there is a grace, kill, reap, take the last words. Never half done."""
        await uncancelled(self._end(grace_seconds))

    async def _end(self, grace_seconds: float) -> None:
        try:
            is_running = not self._exited.is_set()
            if is_running and grace_seconds:
                self.members.terminate()
                await _within(grace_seconds, self._exited)
            # Those it leaves behind keep the number of their group, so does a watcher; but once everybody is
            # gone for long, it may be another's.
            if is_running or self._leash >= 0:
                self.members.kill()
            if not self._exited.is_set():
                await kill_until(self.members, asyncio.ensure_future(self._exited.wait()), REAP_SECONDS)
            if not self._exited.is_set():
                ProcessGroup(self.pid).kill()  # the last resort: what everything else hangs on
                await _within(REAP_SECONDS, self._exited)
            await _within(LAST_WORDS_SECONDS, self._all_read)
        finally:
            self._let_go()
            self._running.close()

    @property
    def _running(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None
        return self._transport

    # --- what the event loop calls ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: ARG002 - as it is called
        if not self._outputs:
            self._all_read.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if output := self._outputs.get(fd):
            output.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - as it is called
        if output := self._outputs.pop(fd, None):
            output.feed_eof()
        if not self._outputs:
            self._all_read.set()

    def process_exited(self) -> None:
        self._exited.set()


async def kill_until(
    members: Members, gone: asyncio.Future[Any], at_most_seconds: float = float("inf")
) -> None:
    """Kill again and again until somebody is gone: those who are just being started come later."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + at_most_seconds
    while not gone.done() and loop.time() < give_up:
        members.kill()
        await asyncio.wait((gone,), timeout=KILL_AGAIN_SECONDS)


async def uncancelled(work: Awaitable[T]) -> T:
    """Let it end whatever happens; a cancellation goes on afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        with contextlib.suppress(Exception):
            task.result()
        raise cancelled
    return task.result()


async def _within(seconds: float, event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


@contextlib.contextmanager
def _source(text: bytes | None) -> Iterator[int]:
    """A file, not a pipe: a program that never reads it keeps nobody waiting.

    In memory and sealed: a program can open its standard input again, and would write to our disk.
    """
    if not text:
        yield PIPE if text is None else DEVNULL
        return
    with _memory_file() if sys.platform == "linux" else tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        if sys.platform == "linux":
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
        yield file.fileno()


def _memory_file() -> IO[bytes]:
    return os.fdopen(os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")
