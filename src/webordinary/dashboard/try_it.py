"""The try-it box: a real mail, sent as any other, followed until its reply; and the overview that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import formatdate
from http import HTTPStatus

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from webordinary.core.errors import BackendUnavailable, BadInput, NotAllowed, NotFound
from webordinary.core.job import ENDED, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import FINAL_LETTERS, Letter, MailRecord, MailState
from webordinary.core.release import Place
from webordinary.core.text import storable
from webordinary.dashboard.queries import (
    JobCase,
    address,
    job_case,
    lanes_page,
    mail_with_message_id,
    release_of,
    sites,
    summary,
)
from webordinary.dashboard.query_params import QueryParams, text_of
from webordinary.dashboard.rendering import SEE_OTHER, Renderer, text
from webordinary.ports.outbox import LetterState, LetterStatus

FILE_BYTES_MAX = 10 * 1024 * 1024
TEXT_CHARACTERS_MAX = 20_000
SUBJECT_CHARACTERS_MAX = 200
KEY_CHARACTERS_MAX = 40

LATEST_SHOWN = 12
ROWS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands in the box."""

    sender: str = ""
    subject: str = "A small change"
    text: str = 'Change the title to "Spring Sale"'
    problem: str = ""  # why it was not sent
    field: str = ""  # which field the problem is about; "": none in particular


EXAMPLE = Draft()


async def overview(
    renderer: Renderer, request: Request, draft: Draft = EXAMPLE, *, status: int = 200
) -> Response:
    """Make the page."""
    parts, ledger = renderer.parts, renderer.parts.backend.ledger
    return await renderer.page(
        request,
        "overview.html",
        status=status,
        draft=draft,
        summary=await summary(parts),
        lanes=await lanes_page(parts, limit=ROWS_SHOWN, after=None, busy=True),
        sites=await sites(parts),
        latest=(await ledger.history(None, limit=LATEST_SHOWN))[::-1],
        jobs=await ledger.jobs(limit=ROWS_SHOWN),
        can_try=parts.send is not None,
        mail_address=parts.mail_address,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a mail on its way. Its state is `done`, `now`, `later` or `failed`."""

    name: str
    state: str
    text: str


class TryPages:
    """See the module."""

    def __init__(self, renderer: Renderer) -> None:
        """Send and follow with these parts."""
        self._renderer, self._parts = renderer, renderer.parts

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/try", self.box),
            Route("/try", self.send, methods=["POST"]),
            Route("/try/{key}", self.follow),
        ]

    async def box(self, request: Request) -> Response:
        """Where the address leads that a form which came back left in the browser."""
        QueryParams(request)
        return await overview(self._renderer, request)

    async def send(self, request: Request) -> Response:
        try:
            async with self._renderer.form(request) as form:
                return await self._sent(request, form)
        except HTTPException as error:
            if error.status_code != HTTPStatus.BAD_REQUEST:
                raise
            problem = f"The form could not be read: {error.detail} Nothing was sent."
            draft = Draft(subject="", text="", problem=problem)
            return await overview(self._renderer, request, draft, status=error.status_code)

    async def _sent(self, request: Request, form: FormData) -> Response:
        """Send what the form says, or give it back with what is wrong: nobody writes a mail twice."""
        send, recipient = self._parts.send, self._parts.mail_address
        if send is None:
            raise NotAllowed("this dashboard has no way to send mail; nothing was sent")
        try:
            sender = await self._sender(text(form, "sender"))
            key = self._parts.clock.unique()
            await send(sender, await composed(form, sender, recipient, message_id_of(key, recipient)))
        except (BadInput, BackendUnavailable) as error:
            status = HTTPStatus.BAD_REQUEST if isinstance(error, BadInput) else HTTPStatus.SERVICE_UNAVAILABLE
            draft = Draft(
                text(form, "sender"),
                text(form, "subject"),
                text(form, "text").replace("\r\n", "\n"),
                sentence(str(error)),
                error.field if isinstance(error, Unsendable) else "",
            )
            return await overview(self._renderer, request, draft, status=status)
        return RedirectResponse(f"/try/{key}", SEE_OTHER)

    async def _sender(self, given: str) -> str:
        """Only somebody who may edit a project: this box is no way to write as a stranger."""
        lane, _, wanted = given.partition(" ")
        members = await self._parts.backend.directory.members(Lane.parse(lane).project)
        if all(str(member.lane) != lane or member.address != wanted for member in members):
            raise Unsendable("sender", f"{given!r} is nobody who may edit a site here; nothing was sent")
        return wanted

    async def follow(self, request: Request) -> Response:
        QueryParams(request, "notice")
        key = text_of(request, "key")
        if len(key) > KEY_CHARACTERS_MAX or not key.isalnum():
            raise NotFound("no such mail was sent from here")
        mail = await mail_with_message_id(self._parts, message_id_of(key, self._parts.mail_address))
        case = await job_case(self._parts, mail.job) if mail and mail.job else None
        project = case.job.lane.project if case else ""
        return await self._renderer.page(
            request,
            "try.html",
            mail=mail,
            case=case,
            steps=steps(mail, case),
            ended=case is not None and case.job.state in ENDED,
            preview=address(self._parts, project, Place.PREVIEW) if project else "",
            release=await release_of(self._parts, project) if project else "",
            last_event=case.events[-1].number if case and case.events else 0,
        )


class Unsendable(BadInput):
    """What the box holds can't be made a mail."""

    def __init__(self, field: str, problem: str) -> None:
        """Say which field it is about."""
        super().__init__(problem)
        self.field = field


def sentence(problem: str) -> str:
    """An error's words as a sentence of its own."""
    return f"{problem[:1].upper()}{problem[1:].rstrip('.')}."


def message_id_of(key: str, mail_address: str) -> str:
    """The Message-ID of a mail that was written on the page."""
    return f"<try-{key}@{mail_address.rpartition('@')[2]}>"


async def composed(form: FormData, sender: str, recipient: str, message_id: str) -> bytes:
    """Write the mail."""
    words, subject = text(form, "text").replace("\r\n", "\n"), " ".join(text(form, "subject").split())
    if not words.strip():
        raise Unsendable("text", "the mail is empty: write what should be different; nothing was sent")
    if len(words) > TEXT_CHARACTERS_MAX:
        raise Unsendable(
            "text", f"a mail from here has at most {TEXT_CHARACTERS_MAX:,} characters; nothing was sent"
        )
    if len(subject) > SUBJECT_CHARACTERS_MAX:
        raise Unsendable(
            "subject", f"a subject has at most {SUBJECT_CHARACTERS_MAX} characters; nothing was sent"
        )
    mail = EmailMessage()
    try:
        mail["From"], mail["To"] = sender, recipient
        mail["Subject"] = storable(subject) or "A change"
        mail["Message-ID"], mail["Date"] = message_id, formatdate()
        mail.set_content(storable(words))
        await _attach(mail, form)
        return mail.as_bytes()
    except (ValueError, MessageError) as error:
        raise BadInput(f"this can't be made a mail: {error}; nothing was sent") from error


async def _attach(mail: EmailMessage, form: FormData) -> None:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return
    content = await file.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise Unsendable("file", f"a file has at most {FILE_BYTES_MAX // 2**20} MB; nothing was sent")
    if content:
        name = " ".join(storable(file.filename).split())[:100]
        mail.add_attachment(content, "application", "octet-stream", filename=name)


# --- how far it is ----------------------------------------------------------------------------------


def steps(mail: MailRecord | None, case: JobCase | None) -> list[Step]:
    """Say how far a mail is, in five steps."""
    if mail is None:
        return _after([Step("Mail sent", "now", "It is with the gateway, which has not kept it yet.")])
    if mail.state is not MailState.ACCEPTED:
        came = Step("Mail arrived", "done", f"From {mail.from_address}.")
        reason = mail.reason or "It was answered without a job."
        failed = mail.state is not MailState.ANSWERED
        return [came, Step(mail.state.value.capitalize(), "failed" if failed else "done", reason)]
    accepted = Step("Mail accepted", "done", f"From {mail.from_address}, its sender is known.")
    if case is None:
        return _after([accepted])
    return _after([accepted, _claimed(case), *_ran(case), *_replied(case.letters)])


NAMES = ("Mail accepted", "Lane claimed", "Agent at work", "Preview changed", "Reply sent")


def _after(begun: list[Step]) -> list[Step]:
    """Add the steps that are still to come."""
    return [*begun, *(Step(name, "later", "") for name in NAMES[len(begun) :])]


def _claimed(case: JobCase) -> Step:
    job = case.job
    if job.worker is None and job.state in ENDED:
        return Step(job.state.value.capitalize(), "failed", job.note)
    if job.worker is None:
        return Step("Lane claimed", "now", case.why.text if case.why else "It waits for a worker.")
    return Step("Lane claimed", "done", f"{job.worker} holds {job.lane} (fence {job.fence}).")


def _ran(case: JobCase) -> list[Step]:
    job = case.job
    if job.worker is None:
        return []
    if job.state not in ENDED:
        text_ = case.why.text if case.why else ""
        return [Step("Agent at work", "now", text_)]
    if job.state is not JobState.DONE:
        return [Step("Agent at work", "done", ""), Step(job.state.value.capitalize(), "failed", job.note)]
    changed = job.facts.preview is not None
    return [
        Step("Agent at work", "done", job.note),
        Step("Preview changed" if changed else "Done", "done", "" if changed else "Nothing had to change."),
    ]


def _replied(letters: Sequence[tuple[Letter, LetterStatus]]) -> list[Step]:
    final = [status for letter, status in letters if letter.kind in FINAL_LETTERS]
    if not final:
        return []
    sent = final[0].state is LetterState.SENT
    return [Step("Reply sent" if sent else "Reply", "done" if sent else "now", "" if sent else str(final[0]))]
