"""Pages about mail: what came in and became of it, what went out. Mail is hostile: nothing of it is run."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from webordinary.core.errors import NotFound
from webordinary.core.mail import QUESTIONS, Letter, LetterKind, MailState
from webordinary.dashboard.front import Front, as_file, as_picture, as_text, readable
from webordinary.dashboard.queries import letters_page, mail_of, mails_page
from webordinary.dashboard.query_params import Asked, text_of
from webordinary.identify.members import unreachable
from webordinary.ports.outbox import LetterStatus
from webordinary.reply.phrases import phrases

BOUNCING_SHOWN = 50
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class MailPages:
    """See the module."""

    def __init__(self, front: Front) -> None:
        """Make pages of these parts."""
        self._front, self._parts = front, front.parts

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
        asked = Asked(request, "limit", "before", "state", "told")
        state, before = asked.choice("state", MailState), asked.text("before")
        page = await mails_page(self._parts, limit=asked.limit(), state=state, before=before)
        stores = self._parts.backend
        bouncing = await unreachable(stores.bounces, stores.directory, limit=BOUNCING_SHOWN)
        return await self._front.page(
            request,
            "mails.html",
            mails=page,
            state=state,
            states=list(MailState),
            before=before,
            bouncing=bouncing,
        )

    async def outbox(self, request: Request) -> Response:
        asked = Asked(request, "limit", "before", "told")
        before = asked.letter("before")
        page = await letters_page(self._parts, limit=asked.limit(), before=before)
        return await self._front.page(
            request, "letters.html", letters=page, before=before, states=list(MailState), state=None
        )

    async def mail(self, request: Request) -> Response:
        Asked(request, "told")
        mail = await mail_of(self._parts, text_of(request, "mail"))
        raw = await self._bytes(mail.blob)
        letters = await self._parts.backend.outbox.letters(limit=20, about=mail.job or mail.id)
        return await self._front.page(
            request,
            "mail.html",
            mail=mail,
            raw=readable(raw) if raw is not None else None,
            letters=letters,
            pictures=PICTURES,
            left_out=phrases().sections["file_problem"],
        )

    async def raw(self, request: Request) -> Response:
        Asked(request)
        mail = await mail_of(self._parts, text_of(request, "mail"))
        return as_text(await self._parts.blobs.get(mail.blob))

    async def file(self, request: Request) -> Response:
        Asked(request)
        mail = await mail_of(self._parts, text_of(request, "mail"))
        number = int(request.path_params["number"])
        if number >= len(mail.files):
            raise NotFound(f"mail {mail.id} has no such file")
        kept = mail.files[number]
        content = await self._parts.blobs.get(kept.blob)
        return as_picture(content) if kept.kind in PICTURES else as_file(content, kept.name)

    async def letter(self, request: Request) -> Response:
        Asked(request, "told")
        letter, standing = await self._letter(text_of(request, "kind"), text_of(request, "about"))
        # A letter that asks something holds the address that says yes: not for everybody who may look.
        hidden = letter.kind in QUESTIONS and not self._front.keeper.signed_in(request)
        sent = await self._parts.sent_mail(letter) if self._parts.sent_mail and not hidden else None
        return await self._front.page(
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
