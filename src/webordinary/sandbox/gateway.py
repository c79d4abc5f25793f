"""The only way out of the sandbox: to the model, and with a key that the sandbox never sees.

Listens on a unix socket, lets two kinds of request through, adds the key, streams the answer back. Nothing is
passed on as it came: a request is read whole and written anew, with its own length and with headers that are
known to be needed, so the server behind can't read it as anything else.
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
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import h11

from webordinary.core.errors import BadInput

ALLOWED = re.compile(rb"/v1/messages(/count_tokens)?(\?[A-Za-z0-9._~%&=+-]{0,500})?")
PASSED_ON = frozenset(
    {b"accept", b"accept-encoding", b"accept-language", b"content-type", b"user-agent", b"x-app"}
)
PASSED_ON_FAMILIES = (b"anthropic-", b"x-stainless-", b"x-claude-")
NOT_PASSED_BACK = frozenset({b"connection", b"keep-alive", b"set-cookie", b"proxy-connection", b"upgrade"})

BODY_BYTES = 32 * 1024 * 1024  # what the model's own server takes
ASKING_SECONDS = 60.0  # for a request to come in whole
CONNECTING_SECONDS = 15.0
SILENT_SECONDS = 600.0  # between two pieces of an answer: a model may think for long
CHUNK_BYTES = HEAD_BYTES = 65_536
HEADERS_MAX = 100
CONNECTIONS_MAX = 64

Headers = list[tuple[bytes, bytes]]  # names in lower case


class RefusedRequest(Exception):
    """A request that is not passed on, and the status to answer with."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Request:
    """A request, read to its end."""

    target: bytes
    headers: Headers
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Peer:
    """Whoever is at the other end of a connection, the client or the model's server."""

    http: h11.Connection
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def receive(self) -> h11.Event:
        """The next event; an end before its time is an error of the other side."""
        while True:
            event = self.http.next_event()
            if isinstance(event, h11.Event):
                return event
            if event is h11.PAUSED:
                raise h11.RemoteProtocolError("it goes on after its end")
            self.http.receive_data(await self.reader.read(CHUNK_BYTES))

    async def send(self, *events: h11.Event) -> None:
        for event in events:
            self.writer.write(self.http.send(event) or b"")
        await self.writer.drain()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self.writer.wait_closed()


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
        server = await asyncio.start_unix_server(self._accepted, sock=_listener(folder))
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
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        talk = asyncio.ensure_future(self._talk(_Peer(http, reader, writer)))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, client: _Peer) -> None:
        """Serve one request. What follows it on the same connection is read by nobody."""
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                request = await self._read(client)
            await _unless_gone(client.reader, self._pass_on(request, client))
        except (RefusedRequest, h11.RemoteProtocolError) as error:
            self.refused += 1
            status = error.status if isinstance(error, RefusedRequest) else error.error_status_hint
            await _refuse(client, status, str(error))
        except (OSError, TimeoutError):
            pass  # whoever asked is gone
        finally:
            await client.close()

    async def _read(self, client: _Peer) -> _Request:
        """Read a request whole. What is not allowed is refused before its body is read."""
        head = await client.receive()
        if not isinstance(head, h11.Request):
            raise ConnectionResetError  # it left without a word
        headers = list(head.headers)
        names = {name for name, _ in headers}
        if head.http_version != b"1.1":
            raise RefusedRequest(400, "this is no HTTP/1.1 request")
        if len(headers) > HEADERS_MAX:
            raise RefusedRequest(431, "there are too many headers")
        if head.method != b"POST" or not ALLOWED.fullmatch(head.target):
            raise RefusedRequest(403, "only the model's messages can be reached from here")
        if len(names & {b"content-length", b"transfer-encoding"}) != 1:
            raise RefusedRequest(411, "the length of the request is not told, or told twice")
        if int(dict(headers).get(b"content-length", b"0")) > self._body_bytes:
            raise self._too_long()
        if client.http.they_are_waiting_for_100_continue:
            await client.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        body = bytearray()
        while isinstance(piece := await client.receive(), h11.Data):
            body += piece.data
            if len(body) > self._body_bytes:
                raise self._too_long()
        return _Request(head.target, headers, bytes(body))

    def _too_long(self) -> RefusedRequest:
        return RefusedRequest(413, f"the request is longer than {self._body_bytes} bytes")

    async def _pass_on(self, request: _Request, client: _Peer) -> None:
        self.requests += 1
        try:
            async with asyncio.timeout(CONNECTING_SECONDS):
                streams = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        except (OSError, TimeoutError) as error:
            await _refuse(client, 502, f"the model's server can't be reached: {str(error) or 'no answer'}")
            return
        model = _Peer(h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES), *streams)
        try:
            await model.send(self._head(request), h11.Data(data=request.body), h11.EndOfMessage())
            await _stream_back(model, client)
        finally:
            await model.close()

    def _head(self, request: _Request) -> h11.Request:
        """Only headers that are known to be needed: none that could mislead the server behind us."""
        headers: Headers = [(b"host", self._authority.encode())]
        headers += [
            (name, value)
            for name, value in request.headers
            if name in PASSED_ON or name.startswith(PASSED_ON_FAMILIES)
        ]
        headers += [
            (b"x-api-key", self._key.encode()),
            (b"content-length", b"%d" % len(request.body)),
            (b"connection", b"close"),
        ]
        return h11.Request(method=b"POST", target=self._prefix.encode() + request.target, headers=headers)


async def _stream_back(model: _Peer, client: _Peer) -> None:
    """Pass the answer back piece by piece, as it comes."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            while isinstance(answer := await model.receive(), h11.InformationalResponse):
                pass
        if not isinstance(answer, h11.Response):
            raise ConnectionResetError
    except (h11.RemoteProtocolError, OSError, TimeoutError):
        await _refuse(client, 502, "the model's server gave no proper answer")
        return
    headers = [(name, value) for name, value in answer.headers if name not in NOT_PASSED_BACK]
    headers.append((b"connection", b"close"))
    await client.send(h11.Response(status_code=answer.status_code, headers=headers, reason=answer.reason))
    with contextlib.suppress(h11.RemoteProtocolError):  # cut off: the client notices by the missing end
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                event = await model.receive()
            await client.send(
                h11.Data(data=event.data) if isinstance(event, h11.Data) else h11.EndOfMessage()
            )
            if isinstance(event, h11.EndOfMessage):
                return


async def _unless_gone(reader: asyncio.StreamReader, work: Coroutine[None, None, None]) -> None:
    """Work for somebody, and no longer than they are there: an answer that nobody waits for costs money."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(reader))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


async def _gone(reader: asyncio.StreamReader) -> None:
    while await reader.read(CHUNK_BYTES):
        pass


async def _refuse(client: _Peer, status: int, reason: str) -> None:
    """Answer as the model's server would, so that a client shows the reason."""
    kind = {403: "permission_error", 502: "api_error"}.get(status, "invalid_request_error")
    body = json.dumps({"type": "error", "error": {"type": kind, "message": f"gateway: {reason}"}}).encode()
    headers = [
        ("content-type", "application/json"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    answer = h11.Response(status_code=status, headers=headers, reason="Refused")
    with contextlib.suppress(OSError):
        await client.send(answer, h11.Data(data=body), h11.EndOfMessage())


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
