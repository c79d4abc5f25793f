"""A model's server that says what it is told to, piece by piece, and remembers what it was asked."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\n{}"


@dataclass(slots=True)
class FakeModel:
    """What was asked, and the pieces of the answer; `None` among them waits for `go_on`."""

    pieces: list[bytes | None] = field(default_factory=lambda: [PLAIN])
    asked: list[tuple[bytes, bytes]] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # whoever asked closed the connection
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.lower().splitlines() if b"content-length" in line
            )
            self.asked.append((head, await reader.readexactly(length)))
            for piece in self.pieces:
                if piece is None:
                    waiting = [asyncio.ensure_future(self.go_on.wait()), asyncio.ensure_future(reader.read())]
                    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    if waiting[1].done():
                        self.left.set()
                    for task in waiting:
                        task.cancel()
                else:
                    writer.write(piece)
                    await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def fake_model(*pieces: bytes | None) -> AsyncIterator[FakeModel]:
    model = FakeModel(list(pieces) or [PLAIN])
    server = await asyncio.start_server(model.answer, "127.0.0.1", 0)
    async with server:
        model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield model
        model.go_on.set()
