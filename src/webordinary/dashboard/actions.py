"""What can be changed on the dashboard, the forms for it, and signing in and out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from webordinary.core.errors import BadInput
from webordinary.core.job import Intent, JobId
from webordinary.core.lane import Lane
from webordinary.dashboard.guard import check_origin
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.query_params import QueryParams, lane_of, text_of
from webordinary.dashboard.rendering import Renderer, lane_path, text
from webordinary.dispatch.submit import Request as Submission
from webordinary.dispatch.submit import submit

ASKABLE = frozenset({Intent.UNDO, Intent.REDO, Intent.PUBLISH})


async def redrive(parts: Parts, job: JobId) -> JobId:
    """Queue a dead job again."""
    whole = (await parts.backend.ledger.job(job)).id
    await parts.backend.control.redrive(whole)
    return whole


async def drop(parts: Parts, job: JobId) -> JobId:
    """Put a dead job aside."""
    whole = (await parts.backend.ledger.job(job)).id
    await parts.backend.control.drop(whole)
    return whole


async def interrupt(parts: Parts, lane: Lane) -> JobId | None:
    """Ask a lane's running job to stop."""
    await parts.backend.ledger.lane(lane)
    return await parts.backend.control.interrupt(lane)


async def release(parts: Parts, lane: Lane) -> bool:
    """Take a lane from its owner."""
    await parts.backend.ledger.lane(lane)
    return await parts.backend.control.evict(lane)


class ActionPages:
    """See the module."""

    def __init__(self, renderer: Renderer) -> None:
        """Act on these parts."""
        self._renderer, self._parts = renderer, renderer.parts

    def routes(self) -> list[Route]:
        """Where they are."""
        post = ["POST"]
        return [
            Route("/jobs/{job}/redrive", self.redrive, methods=post),
            Route("/jobs/{job}/drop", self.drop, methods=post),
            Route("/lanes/{project}/{user}/interrupt", self.interrupt, methods=post),
            Route("/lanes/{project}/{user}/release", self.release, methods=post),
            Route("/lanes/{project}/{user}/ask", self.ask, methods=post),
            Route("/sign-in", self.sign_in_page),
            Route("/sign-in", self.sign_in, methods=post),
            Route("/sign-out", self.sign_out, methods=post),
        ]

    async def redrive(self, request: Request) -> Response:
        async with self._renderer.form(request):
            job = await redrive(self._parts, JobId(text_of(request, "job")))
        return self._renderer.back(f"/jobs/{job}", "redriven")

    async def drop(self, request: Request) -> Response:
        async with self._renderer.form(request):
            job = await drop(self._parts, JobId(text_of(request, "job")))
        return self._renderer.back(f"/jobs/{job}", "dropped")

    async def interrupt(self, request: Request) -> Response:
        lane = lane_of(request)
        async with self._renderer.form(request):
            stopped = await interrupt(self._parts, lane)
        return self._renderer.back(lane_path(lane), "interrupted" if stopped else "idle")

    async def release(self, request: Request) -> Response:
        lane = lane_of(request)
        async with self._renderer.form(request):
            taken = await release(self._parts, lane)
        return self._renderer.back(lane_path(lane), "released" if taken else "free")

    async def ask(self, request: Request) -> Response:
        lane = lane_of(request)
        async with self._renderer.form(request) as form:
            given = text(form, "intent")
        intent = next((one for one in ASKABLE if one.value == given), None)
        if intent is None:
            raise BadInput("a lane can be asked to undo, redo or publish; anything else is a mail")
        receipt = await submit(Submission(lane, intent=intent), self._parts.backend, self._parts.clock)
        return self._renderer.back(f"/jobs/{receipt.stored.job}", "asked")

    # --- signing in and out -----------------------------------------------------------------------

    async def sign_in_page(self, request: Request) -> Response:
        QueryParams(request, "notice")
        return await self._renderer.page(request, "sign_in.html", problem="")

    async def sign_in(self, request: Request) -> Response:
        check_origin(request)
        async with request.form(max_files=0, max_fields=5) as form:
            return self._renderer.signed_in(text(form, "token").strip())

    async def sign_out(self, request: Request) -> Response:
        async with self._renderer.form(request):
            return self._renderer.keeper.sign_out(self._renderer.back("/", "signed-out"))
