"""Forms that change something, and signing in and out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from webordinary.core.errors import BadInput
from webordinary.core.job import Intent, JobId
from webordinary.dashboard import actions
from webordinary.dashboard.front import Front, text
from webordinary.dashboard.guard import check_origin
from webordinary.dashboard.query_params import Asked, lane_of, text_of
from webordinary.dashboard.template_filters import lane_path
from webordinary.dispatch.submit import Request as Submission
from webordinary.dispatch.submit import submit

ASKABLE = frozenset({Intent.UNDO, Intent.REDO, Intent.PUBLISH})


class ActionPages:
    """See the module."""

    def __init__(self, front: Front) -> None:
        """Act on these parts."""
        self._front, self._parts = front, front.parts

    def routes(self) -> list[Route]:
        """Where they are."""
        post = ["POST"]
        return [
            Route("/jobs/{job}/redrive", self.redrive, methods=post),
            Route("/jobs/{job}/drop", self.drop, methods=post),
            Route("/lanes/{project}/{user}/interrupt", self.interrupt, methods=post),
            Route("/lanes/{project}/{user}/release", self.release, methods=post),
            Route("/lanes/{project}/{user}/ask", self.ask, methods=post),
            Route("/door", self.door),
            Route("/door/in", self.sign_in, methods=post),
            Route("/door/out", self.sign_out, methods=post),
        ]

    async def redrive(self, request: Request) -> Response:
        async with self._front.form(request):
            job = await actions.redrive(self._parts, JobId(text_of(request, "job")))
        return self._front.back(f"/jobs/{job}", "redriven")

    async def drop(self, request: Request) -> Response:
        async with self._front.form(request):
            job = await actions.drop(self._parts, JobId(text_of(request, "job")))
        return self._front.back(f"/jobs/{job}", "dropped")

    async def interrupt(self, request: Request) -> Response:
        lane = lane_of(request)
        async with self._front.form(request):
            stopped = await actions.interrupt(self._parts, lane)
        return self._front.back(lane_path(lane), "interrupted" if stopped else "idle")

    async def release(self, request: Request) -> Response:
        lane = lane_of(request)
        async with self._front.form(request):
            taken = await actions.release(self._parts, lane)
        return self._front.back(lane_path(lane), "released" if taken else "free")

    async def ask(self, request: Request) -> Response:
        lane = lane_of(request)
        async with self._front.form(request) as form:
            given = text(form, "intent")
        intent = next((one for one in ASKABLE if one.value == given), None)
        if intent is None:
            raise BadInput("a lane can be asked to undo, redo or publish; anything else is a mail")
        receipt = await submit(Submission(lane, intent=intent), self._parts.backend, self._parts.clock)
        return self._front.back(f"/jobs/{receipt.stored.job}", "asked")

    # --- the door ---------------------------------------------------------------------------------

    async def door(self, request: Request) -> Response:
        Asked(request, "told")
        return await self._front.page(request, "door.html", problem="")

    async def sign_in(self, request: Request) -> Response:
        check_origin(request)
        async with request.form(max_files=0, max_fields=5) as form:
            return self._front.signed_in(text(form, "token").strip())

    async def sign_out(self, request: Request) -> Response:
        async with self._front.form(request):
            return self._front.keeper.sign_out(self._front.back("/", "signed-out"))
