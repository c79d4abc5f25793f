"""The dashboard as one app. Whoever starts it binds it to loopback (serving.py)."""

from __future__ import annotations

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from webordinary.core.errors import BadInput, NotAllowed, NotFound, WebordinaryError
from webordinary.dashboard.action_pages import ActionPages
from webordinary.dashboard.api import Api
from webordinary.dashboard.front import Front
from webordinary.dashboard.guard import Guard, Keeper, SignInNeeded, TooLarge
from webordinary.dashboard.live import Hub, Streams
from webordinary.dashboard.mail_pages import MailPages
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.template_filters import FOLDER
from webordinary.dashboard.try_it import TryPages
from webordinary.dashboard.work_pages import WorkPages

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
    front, hub = Front(parts, Keeper(token)), Hub(parts)
    streams, refusals = Streams(parts, hub), Refusals(front)
    app = Starlette(
        routes=[
            Route("/healthz", Health(parts).answer),
            Route("/events", streams.changes),
            Route("/jobs/{job}/events", streams.job),
            *ActionPages(front).routes(),
            *TryPages(front).routes(),
            *WorkPages(front).routes(),
            *MailPages(front).routes(),
            *Api(front).routes(),
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
    """What people and programs are told when something can't be done."""

    def __init__(self, front: Front) -> None:
        """Tell it with these templates."""
        self._front = front

    async def ours(self, request: Request, error: Exception) -> Response:
        """An error of ours: its message is for people."""
        status = next(status for kind, status in STATUSES if isinstance(error, kind))
        return await self._told(request, status, str(error), type(error).__name__)

    async def of_http(self, request: Request, error: Exception) -> Response:
        """An address that leads nowhere, a method that it does not have, a form that can't be read."""
        assert isinstance(error, HTTPException)
        known = {
            HTTPStatus.NOT_FOUND: "There is nothing at this address.",
            HTTPStatus.METHOD_NOT_ALLOWED: "This address can't be asked in this way.",
        }
        told = known.get(HTTPStatus(error.status_code), error.detail)
        response = await self._told(request, error.status_code, told, "NotFound")
        response.headers.update(error.headers or {})
        return response

    async def _told(self, request: Request, status: int, told: str, kind: str) -> Response:
        if request.url.path.startswith("/api/"):
            response: Response = JSONResponse({"error": told, "kind": kind}, status)
        elif status == HTTPStatus.UNAUTHORIZED:
            response = await self._front.page(request, "door.html", status=status, problem=told)
        else:
            title = HTTPStatus(status).phrase
            response = await self._front.page(
                request, "refusal.html", status=status, title=title, problem=told
            )
        if status == HTTPStatus.UNAUTHORIZED:
            response.headers["www-authenticate"] = "Bearer"
        return response
