"""A bad line to the emulated cloud: it delays, drops, fails before or after the effect, and throttles.

Faults are drawn from a seed, call by call. Which call gets which also depends on the order in which calls
come, so a seed repeats the weather and not the whole day.
"""

import asyncio
import json
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

DELAY_MOST_SECONDS = 0.3
PAUSE_SECONDS = 0.01  # so that a piece is read before the next one comes
RESET = struct.pack("ii", 1, 0)  # closing sends a reset instead of a polite end
THROTTLED = {
    "DynamoDB_20120810": "ProvisionedThroughputExceededException",
    "AmazonSQS": "RequestThrottled",
    "AWSStepFunctions": "ThrottlingException",
}


class Fault(StrEnum):
    """What may happen to a call."""

    DELAY = "delay"
    DROP_BEFORE = "drop before the effect"
    DROP_AFTER = "drop after the effect"
    ERROR_BEFORE = "500 before the effect"
    ERROR_AFTER = "500 after the effect"
    THROTTLE = "throttle"


WITHOUT_EFFECT = (Fault.DROP_BEFORE, Fault.ERROR_BEFORE, Fault.THROTTLE)


@dataclass(slots=True)
class FaultProxy:
    """Counts calls by service and operation, and faults by kind."""

    upstream: str
    seed: int = 0
    rate: float = 0.0  # the share of calls that meet a fault; may be changed at any time
    kinds: tuple[Fault, ...] = tuple(Fault)
    refusal: str = ""  # the code that every call is answered with, if any; may be changed at any time
    piece_bytes: int = 0  # answers arrive in pieces of this size, with a pause after each; 0: in one
    endpoint: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    _chance: random.Random = field(default_factory=random.Random)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["FaultProxy"]:
        """Serve on a free port of loopback."""
        self._chance.seed(self.seed)
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            await server.wait_closed()

    def summary(self) -> str:
        """Say what came through and what did not."""
        services = Counter[str]()
        for call, number in self.calls.items():
            services[call.split(".")[0]] += number
        parts = [f"{number} {service}" for service, number in sorted(services.items())]
        faults = [f"{number} {fault}" for fault, number in sorted(self.faults.items())]
        return f"calls: {', '.join(parts)}; faults: {', '.join(faults) or 'none'}"

    # --- one connection after the other -----------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while (request := await _message(reader)) is not None:
                answer = await self._answer(*request)
                if answer is None:
                    _reset(writer)
                    return
                for piece in self._pieces(answer):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(PAUSE_SECONDS if self.piece_bytes else 0)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client or the cloud went away, which is what this line is about
        finally:
            self._serving.discard(task)
            writer.close()

    def _pieces(self, answer: bytes) -> list[bytes]:
        size = self.piece_bytes or len(answer)
        return [answer[begin : begin + size] for begin in range(0, len(answer), size)]

    async def _answer(self, head: bytes, body: bytes) -> bytes | None:
        """Pass a call on, or not; None means that its connection breaks."""
        operation = _header(head, b"x-amz-target")
        self.calls[operation] += 1
        if self.refusal:
            return _error(400, self.refusal)
        fault = self._chance.choice(self.kinds) if self._chance.random() < self.rate else None
        if fault is not None:
            self.faults[fault] += 1
        if fault is Fault.DELAY:
            await asyncio.sleep(self._chance.random() * DELAY_MOST_SECONDS)
        answer = None if fault in WITHOUT_EFFECT else await self._passed_on(head, body)
        if fault in (Fault.DROP_BEFORE, Fault.DROP_AFTER):
            return None
        if fault in (Fault.ERROR_BEFORE, Fault.ERROR_AFTER):
            return _error(500, "InternalServerError")
        if fault is Fault.THROTTLE:
            return _error(400, THROTTLED.get(operation.split(".")[0], "ThrottlingException"))
        return answer

    async def _passed_on(self, head: bytes, body: bytes) -> bytes:
        place = urlsplit(self.upstream)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            writer.write(head + body)
            await writer.drain()
            answer = await _message(reader)
            if answer is None:
                raise ConnectionResetError("the cloud hung up")
            return b"".join(answer)
        finally:
            writer.close()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes] | None:
    """Read one request or response: its head, and the body that its length announces."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as ended:
        if ended.partial:
            raise
        return None
    return head, await reader.readexactly(int(_header(head, b"content-length") or 0))


def _header(head: bytes, name: bytes) -> str:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip().decode()
    return ""


def _error(status: int, code: str) -> bytes:
    body = json.dumps({"__type": code, "message": "made up by the fault proxy"}).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _reset(writer: asyncio.StreamWriter) -> None:
    line = writer.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
