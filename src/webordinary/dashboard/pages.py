"""Pages that show: the overview, jobs, lanes, workers, mails and letters."""

from __future__ import annotations

import email
import email.policy
from dataclasses import dataclass
from email.message import EmailMessage

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from webordinary.core.errors import NotFound
from webordinary.core.facts import Facts
from webordinary.core.job import JobId, JobState
from webordinary.core.mail import QUESTIONS, Letter, LetterKind, MailState
from webordinary.core.release import Place
from webordinary.core.views import JobView
from webordinary.dashboard.charts import charts
from webordinary.dashboard.metrics import JOBS_WINDOW, measure
from webordinary.dashboard.queries import (
    HISTORY_SHOWN,
    address,
    job_case,
    jobs_page,
    lanes_page,
    letters_page,
    mail_of,
    mails_page,
    reasoned,
    seated,
    sights,
    summary,
)
from webordinary.dashboard.query_params import QueryParams, lane_of, text_of
from webordinary.dashboard.rendering import Renderer, as_file, as_picture, as_text, readable
from webordinary.dashboard.timeline import draw
from webordinary.dashboard.try_it import overview
from webordinary.identify.find import unreachable
from webordinary.ports.outbox import LetterStatus
from webordinary.reply.rendering import changes_in_words, phrases

BOUNCING_SHOWN = 50
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

JOBS_OF_A_LANE = 30
PATCH_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Pictured:
    """A page of the site, before and after a job."""

    page: str
    before: str  # address of the picture; "" if there is none
    after: str


class WorkPages:
    """See the module."""

    def __init__(self, renderer: Renderer) -> None:
        """Make pages of these parts."""
        self._renderer, self._parts = renderer, renderer.parts

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/", self.first),
            Route("/pool", self.pool),
            Route("/lanes", self.lanes),
            Route("/lanes/{project}/{user}", self.lane),
            Route("/jobs", self.jobs),
            Route("/jobs/{job}", self.job),
            Route("/jobs/{job}/patch", self.patch),
            Route("/jobs/{job}/pictures/{number:int}/{which}", self.picture),
            Route("/dead", self.dead),
            Route("/metrics", self.metrics),
        ]

    async def first(self, request: Request) -> Response:
        asked = QueryParams(request, "notice", "token")
        token = asked.text("token")
        if token is not None:  # at once on to an address without it: addresses end up in histories
            return self._renderer.signed_in(token)
        return await overview(self._renderer, request)

    async def pool(self, request: Request) -> Response:
        QueryParams(request, "notice")
        return await self._renderer.page(
            request, "pool.html", workers=await seated(self._parts), summary=await summary(self._parts)
        )

    async def lanes(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "after", "all", "notice")
        everything = asked.flag("all")
        after = asked.lane("after")
        page = await lanes_page(self._parts, limit=asked.limit(), after=after, busy=not everything)
        return await self._renderer.page(
            request,
            "lanes.html",
            lanes=page,
            everything=everything,
            after=after,
            summary=await summary(self._parts),
        )

    async def lane(self, request: Request) -> Response:
        QueryParams(request, "notice")
        lane, ledger = lane_of(request), self._parts.backend.ledger
        ((view, reason),) = await reasoned(self._parts, [await ledger.lane(lane)])
        events = await ledger.history(lane, limit=HISTORY_SHOWN)
        jobs = await ledger.jobs(limit=JOBS_OF_A_LANE, lane=lane)
        return await self._renderer.page(
            request,
            "lane.html",
            lane=view,
            reason=reason,
            events=events[::-1],
            jobs=jobs,
            picture=draw(view, events, jobs, self._parts.clock.now()),
            known=await self._parts.backend.directory.project(lane.project) is not None,
            preview=address(self._parts, lane.project, Place.PREVIEW),
            live=address(self._parts, lane.project, Place.LIVE),
        )

    async def jobs(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "state", "lane", "notice")
        state, lane, before = asked.choice("state", JobState), asked.lane("lane"), asked.job("before")
        page = await jobs_page(self._parts, limit=asked.limit(), lane=lane, state=state, before=before)
        return await self._renderer.page(
            request,
            "jobs.html",
            jobs=page,
            state=state,
            states=list(JobState),
            lane=lane,
            before=before,
            counts=await self._parts.backend.ledger.counts(),
        )

    async def job(self, request: Request) -> Response:
        QueryParams(request, "notice")
        case = await job_case(self._parts, JobId(text_of(request, "job")))
        job = case.job
        return await self._renderer.page(
            request,
            "job.html",
            case=case,
            job=job,
            facts=facts_shown(job.facts),
            changes=changes_in_words(job.facts.changes),
            patch=await self._patch(job),
            pictures=pictures_of(job),
            sights=await sights(self._parts, job),
            preview=address(self._parts, job.lane.project, Place.PREVIEW),
            last_event=case.events[-1].number if case.events else 0,
        )

    async def patch(self, request: Request) -> Response:
        QueryParams(request)
        job = await self._parts.backend.ledger.job(JobId(text_of(request, "job")))
        patch = await self._patch(job)
        if not patch:
            raise NotFound(f"job {job.id} left no patch")
        return as_text(patch.encode())

    async def _patch(self, job: JobView) -> str:
        key = job.facts.preview.patch if job.facts.preview else ""
        if not key:
            return ""
        try:
            return (await self._parts.blobs.get(key))[:PATCH_BYTES].decode("utf-8", "replace")
        except NotFound:
            return ""

    async def picture(self, request: Request) -> Response:
        QueryParams(request)
        job = await self._parts.backend.ledger.job(JobId(text_of(request, "job")))
        number, which = int(request.path_params["number"]), text_of(request, "which")
        pictures = job.facts.preview.pictures if job.facts.preview else ()
        if which not in {"before", "after"} or number >= len(pictures):
            raise NotFound(f"job {job.id} left no such picture")
        page = pictures[number]
        return as_picture(await self._parts.blobs.get(page.after if which == "after" else page.before))

    async def dead(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "notice")
        before = asked.job("before")
        page = await jobs_page(
            self._parts, limit=asked.limit(), lane=None, state=JobState.DEAD, before=before
        )
        return await self._renderer.page(request, "dead.html", jobs=page, before=before)

    async def metrics(self, request: Request) -> Response:
        QueryParams(request)
        measured = await measure(self._parts)
        return await self._renderer.page(
            request, "metrics.html", charts=charts(measured), counts=measured.jobs, window=JOBS_WINDOW
        )


def pictures_of(job: JobView) -> list[Pictured]:
    """The pictures that a job left, each pair with its page's name."""
    pictures = job.facts.preview.pictures if job.facts.preview else ()
    return [
        Pictured(
            page=one.page,
            before=f"/jobs/{job.id}/pictures/{number}/before" if one.before else "",
            after=f"/jobs/{job.id}/pictures/{number}/after",
        )
        for number, one in enumerate(pictures)
    ]


def facts_shown(facts: Facts) -> dict[str, str]:
    """What a job left and what has no place of its own on its page, by what people call it."""
    preview, unfinished = facts.preview, facts.unfinished
    links = [
        f"{one.page or one.title}: the link to {one.target} leads nowhere"
        for one in (preview.broken_links if preview else ())
    ]
    conflicts = facts.live.upstream_conflicts if facts.live else ()
    apart = [f"upstream changed the same lines, and is not live: {', '.join(conflicts)}"] if conflicts else []
    shown = {
        "Commit": preview.commit if preview else "",
        "Release": preview.release if preview else "",
        "Files that came into the site": "\n".join(facts.used_files),
        "Files that did not": "\n".join(facts.unused_files),
        "Worth a look": "\n".join([*links, *apart]),
        "Left unfinished": unfinished.request if unfinished else "",
        "Kept at": unfinished.ref if unfinished else "",
        "Files with unfinished changes": "\n".join(unfinished.files) if unfinished else "",
    }
    return {name: fact for name, fact in shown.items() if fact}


class MailPages:
    """See the module."""

    def __init__(self, renderer: Renderer) -> None:
        """Make pages of these parts."""
        self._renderer, self._parts = renderer, renderer.parts

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/mail", self.inbox),
            Route("/mail/sent", self.outbox),
            Route("/mail/sent/{kind}/{about:path}", self.letter),
            Route("/mail/{mail}", self.mail),
            Route("/mail/{mail}/raw", self.raw),
            Route("/mail/{mail}/files/{number:int}", self.file),
        ]

    async def inbox(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "state", "notice")
        state, before = asked.choice("state", MailState), asked.text("before")
        page = await mails_page(self._parts, limit=asked.limit(), state=state, before=before)
        stores = self._parts.backend
        bouncing = await unreachable(stores.bounces, stores.directory, limit=BOUNCING_SHOWN)
        return await self._renderer.page(
            request,
            "mails.html",
            mails=page,
            state=state,
            states=list(MailState),
            before=before,
            bouncing=bouncing,
        )

    async def outbox(self, request: Request) -> Response:
        asked = QueryParams(request, "limit", "before", "notice")
        before = asked.letter("before")
        page = await letters_page(self._parts, limit=asked.limit(), before=before)
        return await self._renderer.page(
            request, "letters.html", letters=page, before=before, states=list(MailState), state=None
        )

    async def mail(self, request: Request) -> Response:
        QueryParams(request, "notice")
        mail = await mail_of(self._parts, text_of(request, "mail"))
        raw = await self._bytes(mail.blob)
        letters = await self._parts.backend.outbox.letters(limit=20, about=mail.job or mail.id)
        return await self._renderer.page(
            request,
            "mail.html",
            mail=mail,
            raw=readable(raw) if raw is not None else None,
            letters=letters,
            pictures=PICTURES,
            left_out=phrases().sections["file_problem"],
        )

    async def raw(self, request: Request) -> Response:
        QueryParams(request)
        mail = await mail_of(self._parts, text_of(request, "mail"))
        return as_text(await self._parts.blobs.get(mail.blob))

    async def file(self, request: Request) -> Response:
        QueryParams(request)
        mail = await mail_of(self._parts, text_of(request, "mail"))
        number = int(request.path_params["number"])
        if number >= len(mail.files):
            raise NotFound(f"mail {mail.id} has no such file")
        kept = mail.files[number]
        content = await self._parts.blobs.get(kept.blob)
        return as_picture(content) if kept.kind in PICTURES else as_file(content, kept.name)

    async def letter(self, request: Request) -> Response:
        QueryParams(request, "notice")
        letter, standing = await self._letter(text_of(request, "kind"), text_of(request, "about"))
        # A letter that asks something holds the address that says yes: not for everybody who may look.
        hidden = letter.kind in QUESTIONS and not self._renderer.keeper.signed_in(request)
        sent = await self._parts.sent_mail(letter) if self._parts.sent_mail and not hidden else None
        return await self._renderer.page(
            request,
            "letter.html",
            letter=letter,
            standing=str(standing),
            hidden=hidden,
            words=words_of(sent) if sent is not None else None,
            raw=readable(sent) if sent is not None else None,
        )

    async def _letter(self, kind: str, about: str) -> tuple[Letter, LetterStatus]:
        known = await self._parts.backend.outbox.letters(limit=len(LetterKind), about=about)
        for letter, standing in known:
            if letter.kind.value == kind:
                return letter, standing
        raise NotFound(f"no letter {kind} about {about} was ever owed")

    async def _bytes(self, blob: str) -> bytes | None:
        try:
            return await self._parts.blobs.get(blob)
        except NotFound:
            return None


def words_of(raw: bytes) -> dict[str, str]:
    """What a letter of our own says, in plain text; {} if it can't be read."""
    try:
        message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        body = message.get_body(("plain",))
        text = body.get_content() if body else ""
        return {name: str(message[name] or "") for name in ("From", "To", "Subject", "Date")} | {"text": text}
    except Exception:  # noqa: BLE001 - the standard library's parser raises all kinds of things; raw is shown too
        return {}
