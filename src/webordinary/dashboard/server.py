"""Answering on a port, until told to stop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette

from webordinary.core.errors import BackendUnavailable, BadInput
from webordinary.dashboard.live import Hub
from webordinary.system.http_server import serve_app

STOP_SECONDS = 2
LINE_SECONDS = 5  # an idle connection is kept so long


@contextlib.asynccontextmanager
async def serving(app: Starlette, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """Serve the dashboard in this loop; give the port it really has. No line of a log holds an address."""
    try:
        served = await serve_app(
            app, host, port, timeout_keep_alive=LINE_SECONDS, timeout_graceful_shutdown=STOP_SECONDS
        )
    except BackendUnavailable as error:
        raise BadInput(
            f"the dashboard {error}; choose another port with --http-port, 0 for any free one"
        ) from error
    hub: Hub = app.state.hub
    try:
        yield served.port
    finally:
        hub.close()
        await served.stop()
