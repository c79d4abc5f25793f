"""The only way out of the sandbox: to the model, and with a key that the sandbox never sees.

Listens on a unix socket, lets two kinds of request through, adds the key, streams the answer back. One
request a connection: what is read as one request here can't be read as two by the server behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from urllib.parse import urlsplit

from webordinary.core.errors import BadInput
from webordinary.sandbox.http_request import BadRequest, Request, read_head, read_request

ALLOWED = re.compile(r"/v1/messages(/count_tokens)?(\?[A-Za-z0-9._~%&=+-]{0,500})?")
PASSED_ON = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent", "x-app"})
PASSED_ON_FAMILIES = ("anthropic-", "x-stainless-", "x-claude-")
NOT_PASSED_BACK = frozenset({"connection", "keep-alive", "set-cookie", "proxy-connection"})

BODY_BYTES = 32 * 1024 * 1024  # what the model's own server takes
ASKING_SECONDS = 60.0  # for a request to come in whole
CONNECTING_SECONDS = 15.0
SILENT_SECONDS = 600.0  # between two pieces of an answer: a model may think for long
CHUNK_BYTES = 65_536
CONNECTIONS_MAX = 64


class ModelGateway:
    """Passes requests on to the model's server. `requests` and `refused` count them."""

    def __init__(self, base_url: str, key: str, *, body_bytes: int = BODY_BYTES) -> None:
        """Pass requests on to this address, with this key."""
        url = urlsplit(base_url)
        if url.scheme not in {"http", "https"} or not url.hostname or url.username or url.query:
            raise BadInput("the model's address must be like https://host or http://host:port")
        if not key.isascii() or not key.isprintable():
            raise BadInput("the model's key has characters that no key has")
        self._tls = ssl.create_default_context() if url.scheme == "https" else None
        self._host, self._port = url.hostname, url.port or (443 if self._tls else 80)
        self._authority, self._prefix = url.netloc, url.path.rstrip("/")
        self._key, self._body_bytes = key, body_bytes
        self._talks: set[asyncio.Task[None]] = set()
        self.requests = self.refused = 0

    @contextlib.asynccontextmanager
    async def serve(self, folder: Path) -> AsyncIterator[Path]:
        """Listen on a socket in a folder, which becomes private; give the socket's path."""
        path = folder / "model.sock"
        server = await asyncio.start_unix_server(self._accepted, sock=_listener(folder), limit=CHUNK_BYTES)
        try:
            yield path
        finally:
            server.close()
            for talk in self._talks:
                talk.cancel()
            await asyncio.gather(*self._talks, return_exceptions=True)
            path.unlink(missing_ok=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._talks) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                request = await read_request(reader, writer, self._is_allowed, self._body_bytes)
            await _unless_gone(reader, self._pass_on(request, writer))
        except BadRequest as error:
            self.refused += 1
            await _refuse(writer, error.status, str(error))
        except (OSError, EOFError, TimeoutError):
            pass  # whoever asked is gone
        finally:
            await _closed(writer)

    def _is_allowed(self, method: str, target: str) -> bool:
        return method == "POST" and ALLOWED.fullmatch(target) is not None

    async def _pass_on(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        try:
            async with asyncio.timeout(CONNECTING_SECONDS):
                model, asking = await asyncio.open_connection(
                    self._host, self._port, ssl=self._tls, limit=CHUNK_BYTES
                )
        except (OSError, TimeoutError) as error:
            await _refuse(writer, 502, f"the model's server can't be reached: {str(error) or 'no answer'}")
            return
        try:
            asking.write(self._head(request) + request.body)
            await asking.drain()
            await _stream_back(model, writer)
        finally:
            await _closed(asking)

    def _head(self, request: Request) -> bytes:
        """Only headers that are known to be needed: none that could mislead the server behind us."""
        lines = [f"POST {self._prefix}{request.target} HTTP/1.1", f"host: {self._authority}"]
        lines += [
            f"{name}: {value}"
            for name, value in request.headers
            if name in PASSED_ON or name.startswith(PASSED_ON_FAMILIES)
        ]
        lines += [f"x-api-key: {self._key}", f"content-length: {len(request.body)}", "connection: close"]
        return "\r\n".join((*lines, "", "")).encode("latin-1")


async def _stream_back(model: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass the answer back piece by piece, as it comes, until the server closes as it was asked to."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            status, headers = await read_head(model)
    except (BadRequest, OSError, EOFError, TimeoutError):
        await _refuse(writer, 502, "the model's server gave no proper answer")
        return
    kept = [f"{name}: {value}" for name, value in headers if name not in NOT_PASSED_BACK]
    writer.write("\r\n".join((status, *kept, "connection: close", "", "")).encode("latin-1"))
    while True:
        await writer.drain()
        async with asyncio.timeout(SILENT_SECONDS):
            piece = await model.read(CHUNK_BYTES)
        if not piece:
            return
        writer.write(piece)


async def _unless_gone(reader: asyncio.StreamReader, work: Coroutine[None, None, None]) -> None:
    """Work for somebody, and no longer than they are there: an answer that nobody waits for costs money."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


async def _refuse(writer: asyncio.StreamWriter, status: int, reason: str) -> None:
    """Answer as the model's server would, so that a client shows the reason."""
    kind = {403: "permission_error", 502: "api_error"}.get(status, "invalid_request_error")
    body = json.dumps({"type": "error", "error": {"type": kind, "message": f"gateway: {reason}"}}).encode()
    head = f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    with contextlib.suppress(OSError):
        writer.write(head.encode() + b"connection: close\r\n\r\n" + body)
        await writer.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            await writer.wait_closed()


def _listener(folder: Path) -> socket.socket:
    """A socket for us alone. Bound by way of /proc, for the path of a socket may have only 107 characters."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / "model.sock").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{handle}/model.sock")
        (folder / "model.sock").chmod(0o600)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(handle)
    return listener
