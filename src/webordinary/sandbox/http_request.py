"""Reading one HTTP/1.1 request whole and strictly: what is not plainly right is refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field

HEADERS_MAX = 100
NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,8}")
TRAILERS_MAX = 10

Headers = tuple[tuple[str, str], ...]  # names in lower case


class BadRequest(Exception):
    """A request that is not passed on, and the status to answer with."""

    def __init__(self, status: int, reason: str) -> None:
        """Say why, in plain words."""
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """A request, read to its end."""

    target: str
    headers: Headers
    body: bytes = field(repr=False)


async def read_request(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    is_allowed: Callable[[str, str], bool],
    body_bytes: int,
) -> Request:
    """Read one request. What is not allowed is refused before its body is read."""
    line, headers = await read_head(reader)
    words = line.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":  # noqa: PLR2004 - method, target, version
        raise BadRequest(400, "this is no HTTP/1.1 request")
    if not is_allowed(words[0], words[1]):
        raise BadRequest(403, "only the model's messages can be reached from here")
    expects = dict(headers).get("expect", "").lower()
    if expects == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return Request(words[1], headers, await _read_body(reader, headers, body_bytes))


async def read_head(reader: asyncio.StreamReader) -> tuple[str, Headers]:
    """Read the first line and the headers of a request or an answer."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError as error:
        raise BadRequest(431, "the headers are too long") from error
    first, *lines = head[:-4].split("\r\n")
    if len(lines) > HEADERS_MAX:
        raise BadRequest(431, "there are too many headers")
    return first, tuple(map(_header, lines))


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not NAME.fullmatch(name) or not VALUE.fullmatch(value):
        raise BadRequest(400, "a header is malformed")
    return name.lower(), value.strip()


async def _read_body(reader: asyncio.StreamReader, headers: Headers, body_bytes: int) -> bytes:
    """Read as much as the headers say, if they say it once and in one way."""
    lengths = [value for name, value in headers if name == "content-length"]
    codings = [value.lower() for name, value in headers if name == "transfer-encoding"]
    if codings == ["chunked"] and not lengths:
        return await _read_chunks(reader, body_bytes)
    if codings or len(lengths) != 1 or not lengths[0].isascii() or not lengths[0].isdigit():
        raise BadRequest(411, "the length of the request is not told, or told twice")
    length = int(lengths[0][:20])
    if length > body_bytes:
        raise BadRequest(413, f"the request is longer than {body_bytes} bytes")
    return await reader.readexactly(length)


async def _read_chunks(reader: asyncio.StreamReader, body_bytes: int) -> bytes:
    body = bytearray()
    while size := await _chunk_size(reader):
        if len(body) + size > body_bytes:
            raise BadRequest(413, f"the request is longer than {body_bytes} bytes")
        body += await reader.readexactly(size)
        if await reader.readexactly(2) != b"\r\n":
            raise BadRequest(400, "a chunk is malformed")
    for _ in range(TRAILERS_MAX):
        if await _line(reader) == b"":
            return bytes(body)
    raise BadRequest(400, "there are too many trailers")


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    size = (await _line(reader)).partition(b";")[0].strip()
    if not HEXADECIMAL.fullmatch(size):
        raise BadRequest(400, "a chunk is malformed")
    return int(size, 16)


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(b"\r\n"))[:-2]
    except asyncio.LimitOverrunError as error:
        raise BadRequest(400, "a line is too long") from error
