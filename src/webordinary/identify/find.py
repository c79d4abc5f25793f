"""Whose conversation is this? Session id first, then thread, then sender. None of them authenticates.

The sender was authenticated before; here it must also be a member of the project that was found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from webordinary.core.addresses import without_tag
from webordinary.core.lane import Lane
from webordinary.core.language import Language
from webordinary.core.mail import LetterKind, MailId, MailRecord, MailState, ParsedMail, SessionId
from webordinary.core.site import Session
from webordinary.ports.bounces import Bounces, Bouncing
from webordinary.ports.directory import Directory
from webordinary.ports.ledger import Ledger
from webordinary.ports.mailbox import Mailbox
from webordinary.ports.outbox import Outbox

CHARACTERS = 32


def mail_id(message_id_or_hash: str, sender: str) -> MailId:
    """Name a mail by its Message-ID (its content's hash where that is missing) and who it says wrote it.

    The sender is part of it: nobody else's mail can take the place of one by carrying its Message-ID.
    """
    digest = hashlib.sha256(f"{message_id_or_hash}\n{sender}".encode(errors="surrogateescape"))
    return MailId(digest.hexdigest()[:CHARACTERS])


JOBS_LOOKED_AT = 20


async def usual_language(lane: Lane, session: SessionId, ledger: Ledger, mailbox: Mailbox) -> Language | None:
    """The language of the conversation's last request, else of the lane's."""
    jobs = await ledger.jobs(limit=JOBS_LOOKED_AT, lane=lane)
    last = next((job for job in jobs if job.session == session), jobs[0] if jobs else None)
    mail = await mailbox.mail(MailId(last.message_id)) if last else None
    return mail.language if mail else None


THREAD_IDS_MAX = 50


@dataclass(frozen=True, slots=True)
class Found:
    """The lane, and its conversation if this mail goes on with one."""

    lane: Lane
    session: Session | None
    how: str


@dataclass(frozen=True, slots=True)
class AnswerTo:
    """The sender says which project an earlier mail of theirs was about."""

    question: MailRecord
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """The sender may edit several projects, and nothing says which one is meant."""

    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Stranger:
    """The sender may not edit what this mail is about, or nothing at all."""

    reason: str
    project: str = ""  # whose conversation it is


Identified = Found | AnswerTo | Several | Stranger


async def identify(
    mail: ParsedMail, sender: str, session_id: str, mailbox: Mailbox, directory: Directory, outbox: Outbox
) -> Identified:
    """Find the lane of an authenticated sender's mail. `session_id` is the one its token was signed for."""
    lanes = tuple(await directory.lanes_of(sender))
    session = await _conversation(mail, session_id, mailbox)
    if session is not None:
        return _in_conversation(session, lanes, sender, "session" if session.id == session_id else "thread")
    if not lanes:
        return Stranger(f"{sender} is not a member of any project")
    question = await _open_question(mail, mailbox, outbox)
    if question is not None:
        return AnswerTo(question, lanes)
    return Found(lanes[0], None, "sender") if len(lanes) == 1 else Several(lanes)


async def _conversation(mail: ParsedMail, session_id: str, mailbox: Mailbox) -> Session | None:
    if session_id:
        session = await mailbox.session(SessionId(session_id))
        if session is not None:
            return session
    ids = _thread_ids(mail)
    return await mailbox.thread(ids) if ids else None


def _in_conversation(session: Session, lanes: Sequence[Lane], sender: str, how: str) -> Identified:
    """A thread or a session routes; whoever writes in it must be a member of its project all the same."""
    if any(lane.project == session.lane.project for lane in lanes):
        return Found(session.lane, session, how)
    project = session.lane.project
    return Stranger(f"{sender} is not a member of {project}, whose conversation this is", project)


async def _open_question(mail: ParsedMail, mailbox: Mailbox, outbox: Outbox) -> MailRecord | None:
    """Find the sender's own mail that we answered with the question which project it is about."""
    for message_id in reversed(_thread_ids(mail)):
        record = await mailbox.mail(MailId(mail_id(message_id, mail.from_address)))
        if record is not None and record.state is MailState.ANSWERED:
            letters = await outbox.letters(limit=len(LetterKind), about=record.id)
            if any(letter.kind is LetterKind.ASKED for letter, _ in letters):
                return record
    return None


def _thread_ids(mail: ParsedMail) -> list[str]:
    return [*mail.references, *mail.in_reply_to][-THREAD_IDS_MAX:]


def chosen_lane(answer: str, lanes: Sequence[Lane]) -> Lane | None:
    """Read which project an answer names; exactly one, or none is chosen."""
    words = {word.strip(".,!?\"'") for word in answer.lower().replace("/", " ").split()}
    named = [lane for lane in lanes if lane.project in words]
    return named[0] if len(named) == 1 else None


# --- members by the address they write from -------------------------------------------------------------


async def address_on_file(address: str, directory: Directory) -> str:
    """The member's address that another one stands for: `name+tag@domain` is a mailbox of `name@domain`."""
    if without_tag(address) == address or await directory.lanes_of(address):
        return address
    return without_tag(address) if await directory.lanes_of(without_tag(address)) else address


async def is_member(address: str, directory: Directory) -> bool:
    """Say whether somebody may edit anything by mail from this address."""
    return bool(await directory.lanes_of(await address_on_file(address, directory)))


async def unreachable(bounces: Bounces, directory: Directory, *, limit: int) -> list[Bouncing]:
    """List the marked addresses that still are somebody's who may edit a site."""
    return [
        one for one in await bounces.all(limit=limit) if one.marked and await directory.lanes_of(one.address)
    ]
