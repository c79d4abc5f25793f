"""A letter that is owed becomes a finished message: threaded, in text and HTML, safe whatever it quotes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from enum import StrEnum

from webordinary.core.errors import BadInput
from webordinary.core.facts import Question
from webordinary.core.mail import Letter, SessionId
from webordinary.core.signed_addresses import session_address, session_token
from webordinary.core.text import one_line
from webordinary.reply.context import Case, context_of, session_of
from webordinary.reply.headers import (
    answered_subject,
    header,
    id_header,
    mailbox_header,
    message_ids,
    references,
    sendable,
)
from webordinary.reply.rendering import LetterForm, phrases, rendered

SESSION_HEADER = "X-Webordinary-Session"
NAME_CHARACTERS = 60
ID_DIGITS = 24
MOSTLY_ASCII = 0.8  # above it quoted-printable is the smaller and the more readable encoding


@dataclass(frozen=True, slots=True)
class Letterhead:
    """Who we are when we write, and the key that signs our plus-addresses."""

    address: str
    key: bytes = field(repr=False)
    name: str = "Webordinary"

    def __post_init__(self) -> None:
        """Refuse an address that nobody could answer to."""
        if not sendable(self.address) or "+" in self.address:
            raise BadInput(f"{self.address!r} can't be the address that replies come from")
        session_token(SessionId("x"), self.key)  # refuses a key that is too short

    @property
    def domain(self) -> str:
        """Where our Message-IDs are at home."""
        return sendable(self.address).rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Composed:
    """A message, ready to be handed over."""

    message_id: str
    recipient: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """There is nobody to send this letter to."""

    reason: str


class When(StrEnum):
    """What a picture shows: the page as it was, or as it is."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class LetterPicture:
    """A small picture of a changed page, shown in a letter."""

    when: When
    content: bytes = field(repr=False)  # PNG


def compose(
    letter: Letter, case: Case, letterhead: Letterhead, now: float, pictures: Sequence[LetterPicture] = ()
) -> Composed | Unanswerable:
    """Write the message. The same letter always has the same Message-ID: a repeated send is the same mail."""
    recipient = sendable(case.mail.from_address)
    if not recipient:
        return Unanswerable("the mail it answers has no address that a reply could be sent to")
    message_id = message_id_of(letter, letterhead.domain)
    answer_to = _answer_address(letter, case, letterhead)
    lines = [
        mailbox_header("From", one_line(letterhead.name, NAME_CHARACTERS), sendable(letterhead.address)),
        mailbox_header("To", "", recipient),
        mailbox_header("Reply-To", one_line(letterhead.name, NAME_CHARACTERS), answer_to),
        header("Subject", _subject(case)),
        header("Date", format_datetime(datetime.fromtimestamp(now, UTC))),
        id_header("Message-ID", [message_id]),
        *_thread_headers(case),
        *_session_headers(letter, case, letterhead),
        header("Auto-Submitted", "auto-replied"),
        header("X-Auto-Response-Suppress", "All"),
        header("Content-Language", case.language),
    ]
    say, mark = phrases(case.language), message_id.strip("<>")
    shown = [ShownPicture(say.say("picture", one.when), f"{one.when}.{mark}", one) for one in pictures]
    context = {**context_of(letter, case, answer_to), "pictures": shown}
    text, html = (rendered(form, letter.kind, context, case.language) for form in LetterForm)
    content = _content(text, html, shown)
    return Composed(message_id, recipient, "\r\n".join([*lines, ""]).encode("ascii") + content)


def message_id_of(letter: Letter, domain: str) -> str:
    """Name a letter's message by what it is about and its kind, and by nothing else."""
    digest = hashlib.sha256(letter.about.encode(errors="replace")).hexdigest()[:ID_DIGITS]
    return f"<{letter.kind}.{digest}@{domain}>"


def _subject(case: Case) -> str:
    """The mail's own subject: programs thread by it. With neither that nor an id there is no thread."""
    nothing_to_thread_by = not case.mail.subject.strip() and not case.mail.message_id
    subject = phrases(case.language).word("no_subject") if nothing_to_thread_by else case.mail.subject
    return answered_subject(subject)


def _answer_address(letter: Letter, case: Case, letterhead: Letterhead) -> str:
    """Where an answer should go: into the conversation; for a question of ours, to that question."""
    token = letter.facts.token if isinstance(letter.facts, Question) else session_of(letter, case)
    address = sendable(letterhead.address)
    return session_address(SessionId(token), letterhead.key, address) if token else address


def _thread_headers(case: Case) -> list[str]:
    answered = message_ids([case.mail.message_id])
    thread = references(case.mail.references, answered)
    return [
        *([id_header("In-Reply-To", answered)] if answered else []),
        *([id_header("References", thread)] if thread else []),
    ]


def _session_headers(letter: Letter, case: Case, letterhead: Letterhead) -> list[str]:
    session = session_of(letter, case)
    token = session_token(session, letterhead.key) if session else ""
    return [header(SESSION_HEADER, token)] if token else []


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture, what it is called, and the id by which the HTML shows it."""

    label: str
    cid: str
    picture: LetterPicture


def _content(text: str, html: str, shown: Sequence[ShownPicture] = ()) -> bytes:
    """Both forms as one MIME body. Everything about it follows from the words: no chance, no time."""
    body = EmailMessage(policy=SMTP)
    body.set_content(text, cte=_encoding(text))
    body.add_alternative(html, subtype="html", cte=_encoding(html))
    if shown:
        page = body.get_payload()[1]  # type: ignore[index] # the HTML, of the two forms
        for one in shown:
            page.add_related(  # type: ignore[union-attr]
                one.picture.content,
                maintype="image",
                subtype="png",
                cid=f"<{one.cid}>",
                filename=f"{one.picture.when}.png",
                disposition="inline",
            )
    for depth, part in enumerate(part for part in body.walk() if part.is_multipart()):
        digest = hashlib.sha256(f"{depth}{text}{html}".encode()).hexdigest()
        part.set_boundary("=_" + digest[:ID_DIGITS])
    return body.as_bytes()


def _encoding(text: str) -> str:
    plain = sum(character.isascii() for character in text)
    return "quoted-printable" if plain >= MOSTLY_ASCII * len(text) else "base64"
