"""A raw mail becomes a plain value. Never an exception, never a hang, never a guess about who sent it.

The order is the point: sizes are counted on the raw bytes, the sender is read from the raw header lines, and
only then does a library see the mail. What it makes of it is turned into our own values once and forgotten.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from webordinary.core.failure import MailProblem
from webordinary.core.mail import (
    Automatic,
    FoundFile,
    ParsedMail,
    SignedParts,
    Stretch,
    UnreadableMail,
    own_words,
)
from webordinary.intake.attachments import sort_files, with_names_of_pictures
from webordinary.intake.auto_replies import SESSION_HEADER, automation
from webordinary.intake.body import TEXT_TOO_LONG, Contents, contents
from webordinary.intake.headers import Headers, addresses_in_from, one_sender, read_headers
from webordinary.intake.limits import (
    ID_CHARACTERS,
    INSTRUCTION_CHARACTERS,
    SUBJECT_CHARACTERS,
    TEXT_LINES,
    CannotRead,
)
from webordinary.intake.marked_text import manner, marked
from webordinary.intake.mime_parts import check_size, read_parts
from webordinary.intake.signed_view import signed_view

_NAME = re.compile(r"[^\W\d_]{3,}")
DAMAGED = "it is damaged"
INSTRUCTION_TOO_LONG = (
    f"its text is longer than {INSTRUCTION_CHARACTERS:,} characters; please attach long texts as a file"
)


def read(
    raw: bytes, own_domains: Collection[str] = (), signed: SignedParts | None = None, sender: str = ""
) -> ParsedMail | UnreadableMail:
    """Understand a mail, or say in plain words why not. `own_domains` are those in our own Message-IDs.

    With `signed`, nothing is looked at but that. With `sender`, that is who wrote it: they said so.
    """
    if signed is not None:
        try:
            return read(signed_view(raw, signed), own_domains)
        except CannotRead as problem:
            return UnreadableMail(content_hash(raw), problem.reason)
    try:
        top = _read_top(raw, own_domains, sender)
    except CannotRead as problem:
        return UnreadableMail(content_hash(raw), problem.reason, problem=problem.problem)
    try:
        return _read_whole(raw, top)
    except CannotRead as problem:
        return top.unreadable(problem.reason, problem.problem)
    except Exception:  # noqa: BLE001 - whatever a mail does to a library ends here
        return top.unreadable(DAMAGED)


def unread(raw: bytes, reason: str, own_domains: Collection[str] = ()) -> UnreadableMail:
    """A mail that nobody may look at any further: as much as its header says, and the reason."""
    try:
        return _read_top(raw, own_domains).unreadable(reason, MailProblem.TOO_LONG)
    except CannotRead:
        return UnreadableMail(content_hash(raw), reason, problem=MailProblem.TOO_LONG)


def read_each(raws: Sequence[bytes], own_domains: Collection[str]) -> list[ParsedMail | UnreadableMail]:
    """Read several mails."""
    return [read(raw, own_domains) for raw in raws]


def content_hash(raw: bytes) -> str:
    """The name of these very bytes."""
    return hashlib.sha256(raw).hexdigest()


@dataclass(frozen=True, slots=True)
class _Top:
    """What the header alone tells."""

    headers: Headers
    content_hash: str
    message_id: str
    sender: str  # "" if it is not clear
    problem: str  # why it is not
    automatic: Automatic | None

    def unreadable(self, reason: str, problem: MailProblem = MailProblem.DAMAGED) -> UnreadableMail:
        return UnreadableMail(
            self.content_hash,
            reason,
            self.message_id,
            reply_to=self.sender,
            automatic=self.automatic,
            problem=problem,
            maybe_from=() if self.sender else addresses_in_from(self.headers),
        )


def _read_top(raw: bytes, own_domains: Collection[str], sender: str = "") -> _Top:
    headers = read_headers(raw)
    problem = ""
    try:
        sender = sender or one_sender(headers)
    except CannotRead as unclear:
        problem = unclear.reason
    ids = headers.ids("message-id")
    return _Top(
        headers=headers,
        content_hash=content_hash(raw),
        message_id=ids[0] if len(ids) == 1 else "",
        sender=sender,
        problem=problem,
        automatic=automation(headers, sender, own_domains),
    )


def _read_whole(raw: bytes, top: _Top) -> ParsedMail:
    if top.problem:
        raise CannotRead(top.problem)
    check_size(raw)
    headers = top.headers
    found = contents(read_parts(raw))
    files = sort_files(found.files)
    return ParsedMail(
        message_id=top.message_id,
        content_hash=top.content_hash,
        from_address=top.sender,
        from_domain=top.sender.rpartition("@")[2],
        subject=headers.first("subject", SUBJECT_CHARACTERS),
        stretches=_stretches(found, headers, files.found),
        in_reply_to=headers.ids("in-reply-to"),
        references=headers.ids("references"),
        session_header=headers.first(SESSION_HEADER, ID_CHARACTERS),
        files=tuple(files.found),
        skipped=tuple(files.skipped),
        automatic=top.automatic,
        is_reaction=found.is_reaction,
        declared_language=headers.first("content-language", ID_CHARACTERS)
        or headers.first("accept-language", ID_CHARACTERS),
    )


def _stretches(found: Contents, headers: Headers, files: Sequence[FoundFile]) -> tuple[Stretch, ...]:
    if sum(stretch.text.count("\n") + 1 for stretch in found.texts) > TEXT_LINES:
        raise CannotRead(TEXT_TOO_LONG, MailProblem.TOO_LONG)
    how = manner(headers.first("subject"), is_in_thread=headers.has("in-reply-to", "references"))
    stretches = marked(found.texts, how, _names(headers.first("from")))
    if len(own_words(stretches)) > INSTRUCTION_CHARACTERS:
        raise CannotRead(INSTRUCTION_TOO_LONG, MailProblem.TOO_LONG)
    return tuple(replace(one, text=with_names_of_pictures(one.text, files)) for one in stretches)


def _names(sender: str) -> frozenset[str]:
    """The words of a sender's name and address: a signature has some of them."""
    return frozenset(word.lower() for word in _NAME.findall(sender.partition("@")[0]))
