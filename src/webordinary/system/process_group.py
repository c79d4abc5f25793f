"""A program with all its offspring, as one thing that can be stopped, killed and left no trace of."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

OUTPUT_KEPT_BYTES = 16_384  # the tail of what a program writes
REAP_SECONDS = 5.0  # a killed process is gone at once, unless the kernel holds it
LAST_WORDS_SECONDS = 0.5  # for output of a process that escaped from the group and holds the pipe

# The leash: a watcher in the program's own group reads from a pipe whose other end this process holds,
# as standard error at first. However this process ends, the pipe closes and the watcher kills the group.
LEASH = """
( ( trap '' TERM INT HUP; read -r _ <&2; kill -KILL 0 ) </dev/null >/dev/null & )
exec "$@" 2>&1
"""


class ProcessGroup(asyncio.SubprocessProtocol):
    """One running program and everything it started. Made by `start`; must be `end`ed."""

    def __init__(self) -> None:
        """Wait to be started."""
        self._transport: asyncio.SubprocessTransport | None = None
        self._leash = -1
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()
        self._output = bytearray()
        self._dropped = False

    @classmethod
    async def start(
        cls, command: Sequence[str], *, stdin: str, environment: Mapping[str, str]
    ) -> ProcessGroup:
        """Start a program in a session of its own, with a text to read."""
        group = cls()
        watched, group._leash = os.pipe()
        try:
            with _text_to_read(stdin) as text:
                starting = asyncio.get_running_loop().subprocess_exec(
                    lambda: group,
                    *("/bin/sh", "-c", LEASH, "sh", *command),
                    stdin=text,
                    stderr=watched,
                    env=dict(environment),
                    start_new_session=True,
                )
                await group._started(asyncio.ensure_future(starting))
        except BaseException:
            group._let_leash_go()
            raise
        finally:
            os.close(watched)
        return group

    async def _started(self, starting: asyncio.Future[tuple[asyncio.SubprocessTransport, Any]]) -> None:
        """Wait for the start, which is quick; a cancellation kills the group at once and is raised later.

        A start that is cancelled midway would wait for output to end that nobody ends.
        """
        cancelled: asyncio.CancelledError | None = None
        while not starting.done():
            try:
                await asyncio.wait((starting,))
            except asyncio.CancelledError as error:
                cancelled = error
                self._let_leash_go()
        self._transport, _ = starting.result()
        if cancelled is not None:
            await self.end()
            raise cancelled

    @property
    def output(self) -> str:
        """The tail of what the program wrote so far, with what a terminal would obey taken out."""
        text = bytes(self._output[-OUTPUT_KEPT_BYTES:]).decode(errors="replace")
        if self._dropped:
            text = text.partition("\n")[2] or text
        return "".join(char for char in text if char.isprintable() or char in "\n\t").strip()

    def ask_to_end(self) -> None:
        """Ask the program and its offspring to end."""
        self._signal(signal.SIGTERM)

    async def exited(self) -> int:
        """Wait for the program to end; say how: its exit code, or minus the signal that killed it."""
        await self._exited.wait()
        assert self._transport is not None
        code = self._transport.get_returncode()
        assert code is not None
        return code

    async def end(self) -> None:
        """Kill what is left of the group, reap the program and close everything. Kills first, waits later."""
        assert self._transport is not None
        self._signal(signal.SIGKILL)
        self._let_leash_go()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REAP_SECONDS):
                    await self._exited.wait()
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await self._silent.wait()
        finally:
            self._transport.close()

    def _signal(self, number: signal.Signals) -> None:
        """Signal the group. The watcher is in it and obeys only SIGKILL, so its number can't be another's."""
        assert self._transport is not None
        if self._leash >= 0:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), number)

    def _let_leash_go(self) -> None:
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1

    # --- what the event loop tells ----------------------------------------------------------------

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - there is one pipe only
        """Keep the tail, however much comes."""
        self._output += data
        if len(self._output) > 2 * OUTPUT_KEPT_BYTES:
            self._dropped = True
            del self._output[:-OUTPUT_KEPT_BYTES]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - the same
        """Nobody holds the program's output any more."""
        self._silent.set()

    def process_exited(self) -> None:
        """The program itself ended; its offspring may live on."""
        self._exited.set()


@contextlib.contextmanager
def _text_to_read(text: str) -> Iterator[IO[bytes]]:
    """A file, not a pipe: a program that never reads it keeps nobody waiting."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file
