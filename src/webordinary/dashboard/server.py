"""Answering on a port, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette

from webordinary.core.errors import BadInput
from webordinary.dashboard.live import Hub

STOP_SECONDS = 2.0
LINE_SECONDS = 5  # an idle connection is kept so long


@contextlib.asynccontextmanager
async def serving(app: Starlette, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """Serve the dashboard in this loop; give the port it really has. No line of a log holds an address."""
    listener = _bound(host, port)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        lifespan="off",
        timeout_keep_alive=LINE_SECONDS,
        timeout_graceful_shutdown=int(STOP_SECONDS),
        server_header=False,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]), name="dashboard")
    try:
        yield int(listener.getsockname()[1])
    finally:
        hub: Hub = app.state.hub
        hub.close()
        server.should_exit = True
        await running
        listener.close()


class _Server(uvicorn.Server):
    """Signals are the business of whoever started us."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def] # noqa: ANN202 - uvicorn's own hook
        yield


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise BadInput(
            f"the dashboard can't listen on {host}:{port}: {error.strerror}; "
            "choose another port with --http-port, 0 for any free one"
        ) from error
    return listener
