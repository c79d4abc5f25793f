"""A gateway in this process, and raw conversations with it: what no mail library would say."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.waiting import HANG_SECONDS
from webordinary.core.mail import Envelope, MailId, MailRecord, MailState
from webordinary.mail.smtp.gateway import SmtpGateway, SmtpListener

ADDRESS = "edit@localhost"


@dataclass
class Line:
    """One connection. Everything is bytes; replies are read one at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, *lines: bytes) -> None:
        """Send lines in one go."""
        await self.send(b"".join(line + b"\r\n" for line in lines))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self) -> str:
        """Read one reply, of however many lines."""
        lines: list[str] = []
        while not lines or lines[-1][3:4] == "-":
            async with asyncio.timeout(HANG_SECONDS):
                line = await self.reader.readline()
            if not line:
                raise EOFError("\n".join(lines))
            lines.append(line.decode().rstrip())
        return "\n".join(lines)

    async def ask(self, line: bytes) -> str:
        await self.say(line)
        return await self.hear()

    async def begin(self, recipient: bytes = b"edit@localhost") -> None:
        """Come as far as the mail itself."""
        for line in (b"EHLO me", b"MAIL FROM:<a@example.com>", b"RCPT TO:<" + recipient + b">", b"DATA"):
            reply = await self.ask(line)
            assert reply[0] in "23", reply

    async def is_over(self) -> bool:
        """Whether the other side has hung up."""
        async with asyncio.timeout(HANG_SECONDS):
            return await self.reader.read() == b""


@dataclass
class Received:
    """A gateway's other end: what came in; held back while the gate is shut."""

    mails: list[tuple[bytes, Envelope]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    inside: int = 0
    most_inside: int = 0

    async def receive(self, raw: bytes, envelope: Envelope) -> MailRecord:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            await self.gate.wait()
        finally:
            self.inside -= 1
        self.mails.append((raw, envelope))
        return MailRecord(MailId("m1"), "", MailState.ACCEPTED, "", "", "", (), 0.0, "")

    @property
    def raws(self) -> list[bytes]:
        return [raw for raw, _ in self.mails]


class Gate:
    """A gateway that listens, and who connects to it."""

    def __init__(self, gateway: SmtpGateway, port: int, received: Received) -> None:
        self.gateway, self.port, self.received = gateway, port, received

    @asynccontextmanager
    async def line(self, source: str = "127.0.0.1") -> AsyncIterator[Line]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        try:
            yield Line(reader, writer)
        finally:
            writer.close()

    @asynccontextmanager
    async def greeted(self, source: str = "127.0.0.1") -> AsyncIterator[Line]:
        async with self.line(source) as line:
            greeting = await line.hear()
            assert greeting.startswith("220 "), greeting
            yield line


def nobody_is_known(_: str) -> bool:
    return False


@asynccontextmanager
async def listening(
    *, tls: ssl.SSLContext | None = None, is_known: Callable[[str], bool] = nobody_is_known, each: int = 20
) -> AsyncIterator[Gate]:
    """Listen as a gateway does, with an empty flow behind it."""
    received = Received()
    received.gate.set()
    where = SmtpListener(
        port=0,
        hostname="mail.example.com",
        address=ADDRESS,
        tls=tls,
        is_known=is_known,
        connections_per_address=each,
    )
    gateway = SmtpGateway(where, received.receive)
    try:
        yield Gate(gateway, await gateway.start(), received)
    finally:
        await gateway.stop()
