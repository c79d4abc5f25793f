"""An HTTP server in the running event loop, for an ASGI app."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from webordinary.core.errors import BackendUnavailable


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    port: int
    stop: Callable[[], Awaitable[None]]  # comes back when the port is free again


async def serve_app(app: ASGIApp, host: str, port: int, **options: Any) -> Served:  # noqa: ANN401 - uvicorn's
    """Serve until stopped; port 0 is any free one. It accepts connections when this comes back."""
    listener = _listener(host, port)
    chosen = int(listener.getsockname()[1])
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False, **options
    )
    server = _QuietServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]), name=f"server on port {chosen}")
    serving.add_done_callback(lambda _: listener.close())
    ready = asyncio.ensure_future(server.ready.wait())
    await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        ready.cancel()
        await serving  # it ended before it began: raises why

    async def stop() -> None:
        server.should_exit = True
        await asyncio.shield(serving)

    return Served(chosen, stop)


class ImpatientProtocol(H11Protocol):
    """Hangs up on a client that does not finish the head of its first request in time.

    uvicorn waits for ever. Later requests of a connection are not watched: answer with `Connection: close`.
    """

    HEAD_SECONDS = 15.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(self.HEAD_SECONDS, self._hang_up_on_silence)

    def _hang_up_on_silence(self) -> None:
        if getattr(self, "cycle", None) is None:  # no request has begun
            self.transport.close()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise BackendUnavailable(f"can't listen on {host} port {port}: {error.strerror or error}") from error


class _QuietServer(uvicorn.Server):
    """Says when it is ready, and leaves signals to whoever runs the loop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready: Final = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield
