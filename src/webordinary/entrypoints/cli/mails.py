"""`webordinary mails` and `ingest`: what came in and what became of it, and raw mail from files."""

from __future__ import annotations

import argparse
import mailbox
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from webordinary.core.errors import BadInput, NotFound
from webordinary.core.mail import Envelope, MailId, MailRecord, MailState
from webordinary.core.text import one_line
from webordinary.entrypoints.cli.arguments import add_before, add_common, add_limit, add_state
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.output import (
    FAINT,
    GREEN,
    LINE_CHARACTERS,
    RED,
    YELLOW,
    Cell,
    Exit,
    ago,
    clean,
    show,
    table,
)

LOOPBACK = "127.0.0.1"
TAKEN = (MailState.ACCEPTED, MailState.ANSWERED)
MAILS_HEAD = ("MAIL", "STATE", "CAME", "FROM", "JOB", "SUBJECT / REASON")
SUBJECT_CHARACTERS = 40
COLOURS = {
    MailState.ACCEPTED: GREEN,
    MailState.REFUSED: YELLOW,
    MailState.IGNORED: FAINT,
    MailState.QUARANTINED: RED,
    MailState.UNREADABLE: YELLOW,
}


def configure_mails(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "mail", nargs="?", metavar="MAIL", help="show this mail as it was received, instead of a list"
    )
    add_state(parser, MailState, "mail")
    add_limit(parser, 20)
    add_before(parser, "mail")
    add_common(parser)


def run_mails(args: argparse.Namespace) -> int:
    """List, or show one."""
    return in_context(args, _show_mail if args.mail else _mails)


async def _mails(args: argparse.Namespace, context: Context) -> int:
    mailbox = context.backend.mailbox
    before = (await _known(context, args.before)).id if args.before else None
    state = MailState(args.state) if args.state else None
    mails = await mailbox.mails(limit=args.limit, state=state, before=before)
    rows = [_mail_row(mail, context.clock.now()) for mail in mails]
    return show(args, mails, table(MAILS_HEAD, rows) if rows else "no such mails")


async def _show_mail(args: argparse.Namespace, context: Context) -> int:
    mail = await _known(context, args.mail)
    raw = await context.backend.blobs.get(mail.blob)
    text = raw.decode("utf-8", "replace")
    about = f": {mail.reason}" if mail.reason else ""
    words = f"{mail.state}{about}\n\n{clean(text.replace(chr(13), ''))}"
    return show(args, {"mail": mail, "raw": text}, words)


async def _known(context: Context, mail: str) -> MailRecord:
    record = await context.backend.mailbox.mail(MailId(mail))
    if record is None:
        raise NotFound(f"there is no mail {mail}")
    return record


def _mail_row(mail: MailRecord, now: float) -> list[Cell]:
    words = one_line(mail.subject, SUBJECT_CHARACTERS)
    if mail.reason:
        why = one_line(mail.reason, LINE_CHARACTERS)
        words = f"{words} → {why}" if words else why
    return [
        mail.id,
        (mail.state.value, COLOURS.get(mail.state, "")),
        ago(mail.received_at, now),
        one_line(mail.from_address, LINE_CHARACTERS) or "-",
        mail.job or "-",
        words,
    ]


def configure_ingest(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source", metavar="FILE|-", help="one raw mail, a Maildir, an mbox, or - for standard input"
    )
    parser.add_argument(
        "--trust-from",
        action="store_true",
        help="trust the From header of these mails; otherwise they are checked as by SMTP",
    )
    parser.add_argument("--to", metavar="ADDRESS", help="recipient address (default: the configured one)")
    add_common(parser)


def run_ingest(args: argparse.Namespace) -> int:
    """Take mails in; say what became of each."""
    args.mails = list(_raw_mails(args.source))
    return in_context(args, _ingest, create=True)


async def _ingest(args: argparse.Namespace, context: Context) -> int:
    from webordinary.wiring.mail import open_mail_room

    room = open_mail_room(context.settings, context.backend, trust_loopback=args.trust_from or None)
    peer, recipient = LOOPBACK if args.trust_from else "", args.to or room.listening.address
    envelope = Envelope(peer=peer, mail_from="unknown", recipients=(recipient,))
    try:
        records = [await room.reception.receive(raw, envelope) for raw in args.mails]
    finally:
        await room.close()
    return show_taken_in(args, records)


def show_taken_in(args: argparse.Namespace, records: Sequence[MailRecord]) -> Exit:
    """Say what became of mails that were taken in."""
    all_good = all(record.state in TAKEN for record in records)
    return show(args, records, "\n".join(map(_taken_in, records)), Exit.OK if all_good else Exit.NO)


def _taken_in(record: MailRecord) -> str:
    about = f" as job {record.job}" if record.job else ""
    return clean(f"{record.from_address or '(no sender)'}: {record.state}{about} {record.reason}".rstrip())


def _raw_mails(source: str) -> Iterator[bytes]:
    if source == "-":
        yield sys.stdin.buffer.read()
        return
    path = Path(source)
    try:
        if path.is_dir():
            yield from _maildir(path)
            return
        raw = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{source} can't be read: {error.strerror}") from error
    if raw.startswith(b"From "):
        box = mailbox.mbox(path, create=False)
        yield from (box.get_bytes(key) for key in box.keys())  # noqa: SIM118 - a mailbox, not a dict
    else:
        yield raw


def _maildir(path: Path) -> Iterator[bytes]:
    if not (path / "cur").is_dir():
        raise BadInput(f"{path} is a folder but no Maildir: it has no folder cur")
    box = mailbox.Maildir(path, create=False)
    for key in sorted(box.keys()):
        yield box.get_bytes(key)
