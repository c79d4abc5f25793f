"""The JSON API: the same read models as the pages, and the same few actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webordinary.core.errors import BadInput
from webordinary.core.job import Arrival, Duplicate, Intent, JobId, JobState
from webordinary.core.json_codec import fields, to_json
from webordinary.core.lane import Lane
from webordinary.core.mail import Letter, MailRecord, MailState
from webordinary.core.views import JobView, LaneEvent, LaneView, WorkerView
from webordinary.core.waiting import Reason
from webordinary.core.work import KeptEvent
from webordinary.dashboard import actions
from webordinary.dashboard.live import NUMBER_MAX
from webordinary.dashboard.metrics import Metrics, Spread, measure, spread
from webordinary.dashboard.openapi import (
    Operation,
    Schema,
    document,
    page_schema,
    parameters,
    schema_of,
    shape,
)
from webordinary.dashboard.queries import (
    PoolSummary,
    Reasoned,
    job_case,
    jobs_page,
    lanes_page,
    letters_page,
    mails_page,
    reasoned,
    seated,
    summary,
)
from webordinary.dashboard.query_params import (
    WAIT_SECONDS_MAX,
    QueryParams,
    ResultPage,
    body_of,
    lane_of,
    text_of,
)
from webordinary.dashboard.rendering import Renderer
from webordinary.dispatch.submit import Request as Submission
from webordinary.dispatch.submit import submit
from webordinary.ports.outbox import LetterStatus

T = TypeVar("T")

HISTORY_MAX = 200
GIST_CHARACTERS = 500  # of an instruction in a list; the job itself has all of it

_FLAG: Schema = {"type": "boolean"}
_TEXT: Schema = {"type": "string"}


def _with(kind: type, **more: Schema) -> Schema:
    schema = schema_of(kind)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return shape({**properties, **more})


_LANE = _with(LaneView, why=schema_of(Reason))
_LETTER = _with(Letter, standing=_TEXT)
_DONE = shape({"done": _FLAG})


class Api:
    """See the module."""

    def __init__(self, renderer: Renderer) -> None:
        """Answer about these parts."""
        self._renderer, self._parts = renderer, renderer.parts
        self.operations = self._reads() + self._writes()

    def _reads(self) -> list[Operation]:
        job = schema_of(JobView)
        events = {"type": "array", "items": schema_of(LaneEvent)}
        return [
            Operation(
                "get", "/api/status", "The pool in a few numbers.", schema_of(PoolSummary), self.status
            ),
            Operation(
                "get",
                "/api/workers",
                "Workers, what they hold and whether they beat.",
                shape({"items": {"type": "array", "items": _with(WorkerView, healthy=_FLAG)}}),
                self.workers,
            ),
            Operation(
                "get",
                "/api/lanes",
                "Lanes by name, each with what it waits for.",
                page_schema(_LANE),
                self.lanes,
                ("limit", "after", "busy"),
            ),
            Operation(
                "get",
                "/api/lanes/{project}/{user}",
                "One lane and the latest of its history.",
                shape({"lane": _LANE, "history": events}),
                self.lane,
                ("limit",),
            ),
            Operation(
                "get",
                "/api/jobs",
                "Jobs, newest first; long instructions are cut here.",
                page_schema(job),
                self.jobs,
                ("limit", "before", "job_state", "lane"),
            ),
            Operation(
                "get",
                "/api/jobs/{job}",
                "One job, its history, and the letters about it.",
                shape(
                    {
                        "job": job,
                        "why": {"anyOf": [schema_of(Reason), {"type": "null"}]},
                        "history": events,
                        "letters": {"type": "array", "items": _LETTER},
                    }
                ),
                self.job,
            ),
            Operation(
                "get",
                "/api/jobs/{job}/events",
                "What its agent did and said, in order; can wait for more.",
                shape({"items": {"type": "array", "items": schema_of(KeptEvent)}}),
                self.job_events,
                ("limit", "number", "wait"),
            ),
            *self._reads_of_mail(),
        ]

    def _reads_of_mail(self) -> list[Operation]:
        spread_ = {"anyOf": [schema_of(Spread), {"type": "null"}]}
        return [
            Operation(
                "get",
                "/api/mails",
                "Mails, newest first, and what became of each.",
                page_schema(schema_of(MailRecord)),
                self.mails,
                ("limit", "before", "mail_state"),
            ),
            Operation(
                "get",
                "/api/letters",
                "Letters, newest first, each with how it stands.",
                page_schema(_LETTER),
                self.letters,
                ("limit", "before", "about"),
            ),
            Operation(
                "get",
                "/api/dead",
                "Dead letters, newest first.",
                page_schema(schema_of(JobView)),
                self.dead,
                ("limit", "before"),
            ),
            Operation(
                "get",
                "/api/metrics",
                "Time to claim, latency and depth over the latest jobs.",
                shape(
                    {
                        "time_to_claim": spread_,
                        "latency": spread_,
                        "open_jobs": {"type": "integer"},
                        "claims": {"type": "integer"},
                        "jobs": schema_of(dict[JobState, int]),
                    }
                ),
                self.metrics,
            ),
        ]

    def _writes(self) -> list[Operation]:
        stored = shape({"job": _TEXT, "duplicate": _FLAG})
        body = {
            "lane": {**_TEXT, "examples": ["amelia/scott"]},
            "instruction": _TEXT,
            "intent": schema_of(Intent),
            "arrival": schema_of(Arrival),
        }
        lane = "/api/lanes/{project}/{user}"
        return [
            Operation(
                "post",
                "/api/jobs",
                "Queue a job; nobody is written to about it.",
                stored,
                self.submit,
                body=body,
                body_required=("lane",),
            ),
            Operation("post", "/api/jobs/{job}/redrive", "Queue a dead job again.", _DONE, self.redrive),
            Operation("post", "/api/jobs/{job}/drop", "Put a dead job aside for good.", _DONE, self.drop),
            Operation("post", f"{lane}/interrupt", "Ask its running job to stop.", _DONE, self.interrupt),
            Operation("post", f"{lane}/release", "Take it from its owner.", _DONE, self.release),
        ]

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/api", self.overview),
            Route("/api/openapi.json", self.described),
            *(Route(one.path, one.endpoint, methods=[one.method.upper()]) for one in self.operations),
        ]

    async def described(self, request: Request) -> Response:
        QueryParams(request)
        return JSONResponse(document(self.operations))

    async def overview(self, request: Request) -> Response:
        QueryParams(request)
        listed = [(one, parameters(one)) for one in self.operations]
        return await self._renderer.page(request, "api.html", operations=listed)

    # --- reading ----------------------------------------------------------------------------------

    async def status(self, request: Request) -> Response:
        QueryParams(request)
        return _answer(await summary(self._parts))

    async def workers(self, request: Request) -> Response:
        QueryParams(request)
        found = await seated(self._parts)
        return _answer({"items": [{**fields(one.worker), "healthy": one.healthy} for one in found]})

    async def lanes(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "after", "busy")
        page = await lanes_page(
            self._parts, limit=asked.limit(), after=asked.lane("after"), busy=asked.flag("busy")
        )
        return _paged(page, _lane)

    async def lane(self, request: Request) -> Response:
        asked, lane, ledger = QueryParams(request, "limit"), lane_of(request), self._parts.backend.ledger
        (found,) = await reasoned(self._parts, [await ledger.lane(lane)])
        return _answer({"lane": _lane(found), "history": await ledger.history(lane, limit=asked.limit())})

    async def jobs(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "state", "lane")
        page = await jobs_page(
            self._parts,
            limit=asked.limit(),
            lane=asked.lane("lane"),
            state=asked.choice("state", JobState),
            before=asked.job("before"),
        )
        return _paged(page, _listed)

    async def job(self, request: Request) -> Response:
        QueryParams(request)
        case = await job_case(self._parts, JobId(text_of(request, "job")))
        letters = [_letter(one) for one in case.letters]
        return _answer({"job": case.job, "why": case.why, "history": case.history, "letters": letters})

    async def job_events(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "after", "wait")
        view = await self._parts.backend.ledger.job(JobId(text_of(request, "job")))
        events = await self._parts.backend.journal.events(
            view.id,
            after=asked.number("after", least=0, most=NUMBER_MAX, default=0),
            limit=asked.limit(),
            wait=asked.number("wait", least=0, most=WAIT_SECONDS_MAX, default=0),
        )
        return _answer({"items": events})

    async def mails(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "state")
        page = await mails_page(
            self._parts,
            limit=asked.limit(),
            state=asked.choice("state", MailState),
            before=asked.text("before"),
        )
        return _paged(page, fields)

    async def letters(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "about")
        page = await letters_page(
            self._parts, limit=asked.limit(), about=asked.text("about"), before=asked.letter("before")
        )
        return _paged(page, _letter)

    async def dead(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before")
        page = await jobs_page(
            self._parts, limit=asked.limit(), lane=None, state=JobState.DEAD, before=asked.job("before")
        )
        return _paged(page, _listed)

    async def metrics(self, request: Request) -> Response:
        QueryParams(request)
        return _answer(_summed_up(await measure(self._parts)))

    # --- changing ---------------------------------------------------------------------------------

    async def submit(self, request: Request) -> Response:
        self._renderer.keeper.admit(request)
        QueryParams(request)
        body = await body_of(request, "lane", "instruction", "intent", "arrival")
        if "lane" not in body:
            raise BadInput("'lane' is missing: PROJECT/USER")
        wanted = Submission(
            Lane.parse(body["lane"]),
            body.get("instruction", ""),
            intent=_one_of("intent", Intent, body.get("intent")) or Intent.EDIT,
            policy=_one_of("arrival", Arrival, body.get("arrival")),
        )
        stored = (await submit(wanted, self._parts.backend, self._parts.clock)).stored
        return _answer({"job": stored.job, "duplicate": isinstance(stored, Duplicate)})

    async def redrive(self, request: Request) -> Response:
        await self._admitted(request)
        await actions.redrive(self._parts, JobId(text_of(request, "job")))
        return _answer({"done": True})

    async def drop(self, request: Request) -> Response:
        await self._admitted(request)
        await actions.drop(self._parts, JobId(text_of(request, "job")))
        return _answer({"done": True})

    async def interrupt(self, request: Request) -> Response:
        await self._admitted(request)
        return _answer({"done": await actions.interrupt(self._parts, lane_of(request)) is not None})

    async def release(self, request: Request) -> Response:
        await self._admitted(request)
        return _answer({"done": await actions.release(self._parts, lane_of(request))})

    async def _admitted(self, request: Request) -> None:
        self._renderer.keeper.admit(request)
        QueryParams(request)
        await body_of(request)


def _answer(value: object) -> Response:
    return JSONResponse(to_json(value))


def _paged(page: ResultPage[T], as_fields: Callable[[T], dict[str, object]]) -> Response:
    return JSONResponse({"items": [as_fields(one) for one in page.items], "next": page.next})


def _lane(one: Reasoned) -> dict[str, object]:
    return {**fields(one[0]), "why": to_json(one[1])}


def _listed(job: JobView) -> dict[str, object]:
    return {**fields(job), "instruction": job.instruction[:GIST_CHARACTERS]}


def _letter(one: tuple[Letter, LetterStatus]) -> dict[str, object]:
    return {**fields(one[0]), "standing": str(one[1])}


def _summed_up(metrics: Metrics) -> dict[str, object]:
    return {
        "time_to_claim": spread(metrics.time_to_claim),
        "latency": spread(metrics.latency),
        "open_jobs": metrics.depth[-1][1] if metrics.depth else 0,
        "claims": len(metrics.claims),
        "jobs": metrics.jobs,
    }


def _one_of(name: str, kind: type[T], given: str | None) -> T | None:
    if given is None:
        return None
    try:
        return kind(given)  # type: ignore[call-arg] # an enum is called with its value
    except ValueError:
        raise BadInput(f"{name!r} is one of: {', '.join(kind)}") from None  # type: ignore[arg-type] # of words
