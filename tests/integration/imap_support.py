"""A real IMAP server, and a line to it that breaks where a test wants it to."""

from __future__ import annotations

import asyncio
import contextlib
import imaplib
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from tests.waiting import wait_until
from webordinary.mail.imap.connection import encoded_name

T = TypeVar("T")

USER, PASSWORD = "demouser", "demopass"

# Half a million rounds of hashing for every login would be most of what these tests do.
CHEAP_LOGINS = """
import pymap.config, pymap.main
from pysasl.hashing import BuiltinHash
pymap.config.IMAPConfig._get_hash_context = classmethod(lambda cls, _: BuiltinHash(rounds=1))
pymap.main.main()
"""


@contextlib.contextmanager
def imap_server() -> Iterator[int]:
    """A server with an empty mailbox; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = int(free.getsockname()[1])
    command = [sys.executable, "-c", CHEAP_LOGINS, "--host", "127.0.0.1", "--port", str(number)]
    command += ["--no-tls", "dict"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _answers(number))
        yield number
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        return line.recv(4) == b"* OK"
    return False


class Mailbox:
    """A folder on the server, as its owner sees it with another mail program."""

    def __init__(self, port: int, folder: str) -> None:
        self.port, self.folder, self.done = port, folder, f"Done {folder}"
        self._do(lambda client: client.create(encoded_name(folder)))

    def add(self, raw: bytes, flags: str = "", folder: str | None = None) -> None:
        self._do(lambda client: client.append(encoded_name(folder or self.folder), flags, "", raw))

    def mails(self, folder: str | None = None, which: str = "UNDELETED") -> list[bytes]:
        """What is in a folder."""

        def fetched(client: imaplib.IMAP4) -> list[bytes]:
            if client.select(encoded_name(folder or self.folder), readonly=True)[0] != "OK":
                return []
            found = client.search(None, which)[1][0].split()
            answer = client.fetch(b",".join(found).decode(), "(BODY.PEEK[])")[1] if found else []
            return [item[1] for item in answer if isinstance(item, tuple)]

        return self._do(fetched)

    def recreate(self) -> None:
        """As after a server was rebuilt: all is there, and every UID means something else."""
        kept = self.mails()
        self._do(lambda client: client.delete(encoded_name(self.folder)))
        self._do(lambda client: client.create(encoded_name(self.folder)))
        for raw in kept:
            self.add(raw)

    def _do(self, act: Callable[[imaplib.IMAP4], T]) -> T:
        with imaplib.IMAP4("127.0.0.1", self.port) as client:
            client.login(USER, PASSWORD)
            return act(client)


class How(StrEnum):
    """What becomes of a command."""

    CUT = "cut before it reaches the server"
    CUT_AFTER = "cut when it took effect, before its answer"
    CUT_INSIDE = "cut in the middle of its answer"
    BYE = "answered by BYE"
    GARBAGE = "answered by what is no IMAP"
    SILENCE = "never answered"
    NO = "refused"
    HOLE = "answered, and nothing after that ever again"


@dataclass(slots=True)
class Fault:
    """Something that happens to the next command of a kind, so many times."""

    at: str  # a pattern for the command; "greeting" is before the first
    how: How
    times: int = 1
    said: str = "NO [SERVERBUG] not now"


@dataclass(slots=True)
class Proxy:
    """Between a client and the server. It may rewrite what the server says."""

    target: int
    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    rewritten: Callable[[bytes], bytes] = lambda chunk: chunk
    commands: list[str] = field(default_factory=list)
    connections: int = 0
    tls: ssl.SSLContext | None = None  # for STARTTLS
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    def hide(self, *words: str) -> None:
        """As if the server never said so."""
        pattern = re.compile("|".join(words).encode())
        self.rewritten = lambda chunk: pattern.sub(b"", chunk)

    def count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, command)) for command in self.commands)

    def cut_all(self) -> None:
        """Every line breaks now."""
        for writer in self.open:
            writer.transport.abort()

    def _fault(self, command: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and re.search(fault.at, command):
                fault.times -= 1
                return fault
        return None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
        line = _Line(writer, self.rewritten)
        answering = asyncio.create_task(line.pass_on(server_reader))
        try:
            if (fault := self._fault("greeting")) and not await self._suffer(fault, line, b"*"):
                return
            line.is_open.set()
            while command := await reader.readline():
                tag, _, text = command.strip().partition(b" ")
                self.commands.append(text.decode())
                if self.tls is not None and text == b"STARTTLS":
                    await line.say(tag + b" OK begin\r\n")
                    await writer.start_tls(self.tls)
                    continue
                fault = self._fault(text.decode())
                if fault and fault.how in (How.CUT_AFTER, How.CUT_INSIDE):
                    line.watch(tag, all_but=fault.how is How.CUT_AFTER)
                elif fault and fault.how is How.HOLE:
                    line.fall_silent()
                elif fault:
                    if not await self._suffer(fault, line, tag):
                        return
                    continue
                server_writer.write(command)
                await server_writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            answering.cancel()
            self.open.discard(writer)
            writer.transport.abort()
            server_writer.transport.abort()

    async def _suffer(self, fault: Fault, line: _Line, tag: bytes) -> bool:
        """Whether the line is of use afterwards."""
        match fault.how:
            case How.BYE:
                await line.say(b"* BYE the server goes down for maintenance\r\n")
            case How.GARBAGE:
                await line.say(b"\xff\x00 {99999999999}\r\n\x80\r\nHTTP/1.1 400 Bad Request\r\n\r\n")
            case How.NO:
                await line.say(tag + b" " + fault.said.encode() + b"\r\n")
                return True
            case How.SILENCE:
                await asyncio.Event().wait()
            case How.CUT | How.CUT_AFTER | How.CUT_INSIDE | How.HOLE:
                pass
        return False


class _Line:
    """What the server says on its way to the client."""

    def __init__(self, writer: asyncio.StreamWriter, rewritten: Callable[[bytes], bytes]) -> None:
        self._writer, self._rewritten = writer, rewritten
        self.is_open = asyncio.Event()
        self._tag, self._all_but = b"", False
        self._left: int | None = None  # how many answers still get through, if not all

    def watch(self, tag: bytes, *, all_but: bool) -> None:
        self._tag, self._all_but = tag, all_but

    def fall_silent(self) -> None:
        """After the next answer."""
        self._left = 1

    async def say(self, text: bytes) -> None:
        self._writer.write(text)
        await self._writer.drain()

    async def pass_on(self, reader: asyncio.StreamReader) -> None:
        await self.is_open.wait()
        held = b""
        while chunk := await reader.read(65536):
            chunk = self._rewritten(chunk)
            if self._tag:
                held += chunk
                if b"\n" + self._tag not in b"\n" + held:
                    continue
                if not self._all_but:
                    await self.say(held[: max(len(held) // 2, 1)])
                self._writer.transport.abort()
                return
            if self._left is None or self._left > 0:
                await self.say(chunk)
                self._left = self._left and self._left - 1
        self._writer.transport.abort()


@contextlib.asynccontextmanager
async def proxy_to(
    port: int, tls: ssl.SSLContext | None = None, *, starttls: bool = False
) -> AsyncIterator[Proxy]:
    """With a certificate it speaks TLS, from the start or when asked to."""
    proxy = Proxy(port, tls=tls if starttls else None)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=None if starttls else tls)
    proxy.port = int(server.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut_all()
        await asyncio.sleep(0)
