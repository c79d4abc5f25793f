"""The dashboard as one app, and answering on a port until it is to stop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from webordinary.core.errors import BackendUnavailable, BadInput, NotAllowed, NotFound, WebordinaryError
from webordinary.dashboard.actions import ActionPages
from webordinary.dashboard.api import Api
from webordinary.dashboard.guard import Guard, Keeper, SignInNeeded, TooLarge
from webordinary.dashboard.live import Hub, Streams
from webordinary.dashboard.pages import MailPages, WorkPages
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.rendering import FOLDER, Renderer
from webordinary.dashboard.try_it import TryPages
from webordinary.system.http_server import serve_app

STOP_SECONDS = 2
LINE_SECONDS = 5  # an idle connection is kept so long

STATUSES: tuple[tuple[type[WebordinaryError], int], ...] = (
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (SignInNeeded, HTTPStatus.UNAUTHORIZED),
    (BadInput, HTTPStatus.BAD_REQUEST),
    (NotFound, HTTPStatus.NOT_FOUND),
    (NotAllowed, HTTPStatus.FORBIDDEN),
    (WebordinaryError, HTTPStatus.SERVICE_UNAVAILABLE),
)


def create_app(parts: Parts, *, token: str) -> Starlette:
    """Make the dashboard. Without the token nothing can be changed through it."""
    renderer, hub = Renderer(parts, Keeper(token)), Hub(parts)
    streams, refusals = Streams(parts, hub), Refusals(renderer)
    app = Starlette(
        routes=[
            Route("/healthz", Health(parts).answer),
            Route("/events", streams.changes),
            Route("/jobs/{job}/events", streams.job),
            *ActionPages(renderer).routes(),
            *TryPages(renderer).routes(),
            *WorkPages(renderer).routes(),
            *MailPages(renderer).routes(),
            *Api(renderer).routes(),
            Mount("/static", StaticFiles(directory=FOLDER / "static")),
        ],
        middleware=[Middleware(Guard, hosts=parts.hosts, frames=parts.site_address)],
        exception_handlers={WebordinaryError: refusals.ours, HTTPException: refusals.of_http},
    )
    app.state.hub = hub
    return app


class Health:
    """Whether we can do our work."""

    def __init__(self, parts: Parts) -> None:
        """Ask this store."""
        self._parts = parts

    async def answer(self, _: Request) -> Response:
        """Say that we are here and the store answers; else it is a refusal like any other."""
        await self._parts.backend.ledger.jobs(limit=1)
        return PlainTextResponse("ok\n")


class Refusals:
    """What people and programs get when something can't be done."""

    def __init__(self, renderer: Renderer) -> None:
        """Tell it with these templates."""
        self._renderer = renderer

    async def ours(self, request: Request, error: Exception) -> Response:
        """An error of ours: its message is for people."""
        status = next(status for kind, status in STATUSES if isinstance(error, kind))
        return await self._refused(request, status, str(error), type(error).__name__)

    async def of_http(self, request: Request, error: Exception) -> Response:
        """An address that leads nowhere, a method that it does not have, a form that can't be read."""
        assert isinstance(error, HTTPException)
        known = {
            HTTPStatus.NOT_FOUND: "There is nothing at this address.",
            HTTPStatus.METHOD_NOT_ALLOWED: "This address can't be asked in this way.",
        }
        problem = known.get(HTTPStatus(error.status_code), error.detail)
        response = await self._refused(request, error.status_code, problem, "NotFound")
        response.headers.update(error.headers or {})
        return response

    async def _refused(self, request: Request, status: int, problem: str, kind: str) -> Response:
        if request.url.path.startswith("/api/"):
            response: Response = JSONResponse({"error": problem, "kind": kind}, status)
        elif status == HTTPStatus.UNAUTHORIZED:
            response = await self._renderer.page(request, "sign_in.html", status=status, problem=problem)
        else:
            title = HTTPStatus(status).phrase
            response = await self._renderer.page(
                request, "refusal.html", status=status, title=title, problem=problem
            )
        if status == HTTPStatus.UNAUTHORIZED:
            response.headers["www-authenticate"] = "Bearer"
        return response


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
