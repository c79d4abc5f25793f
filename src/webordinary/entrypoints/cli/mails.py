"""`webordinary mails`: what came in and what became of it, quarantine included."""

from __future__ import annotations

import argparse

from webordinary.core.errors import NotFound
from webordinary.core.mail import MailId, MailRecord, MailState
from webordinary.core.text import one_line
from webordinary.entrypoints.cli.arguments import add_before, add_common, add_limit, add_state
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import (
    FAINT,
    GREEN,
    LINE_CHARACTERS,
    RED,
    YELLOW,
    Cell,
    ago,
    clean,
    print_json,
    table,
)

HEAD = ("MAIL", "STATE", "CAME", "FROM", "JOB", "SUBJECT / REASON")
SUBJECT_CHARACTERS = 40
COLOURS = {
    MailState.ACCEPTED: GREEN,
    MailState.REFUSED: YELLOW,
    MailState.IGNORED: FAINT,
    MailState.QUARANTINED: RED,
    MailState.UNREADABLE: YELLOW,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "mail", nargs="?", metavar="MAIL", help="show this one as it came in, instead of a list"
    )
    add_state(parser, MailState, "mail")
    add_limit(parser, 20)
    add_before(parser, "mail")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """List, or show one."""
    return at_desk(args, _show if args.mail else _list)


async def _list(args: argparse.Namespace, desk: Desk) -> int:
    mailbox = desk.backend.mailbox
    before = (await _known(desk, args.before)).id if args.before else None
    state = MailState(args.state) if args.state else None
    mails = await mailbox.mails(limit=args.limit, state=state, before=before)
    if args.json:
        print_json(mails)
    elif mails:
        print(table(HEAD, [_row(mail, desk.clock.now()) for mail in mails]))
    else:
        print("no such mails")
    return Exit.OK


async def _show(args: argparse.Namespace, desk: Desk) -> int:
    mail = await _known(desk, args.mail)
    raw = await desk.backend.blobs.get(mail.blob)
    text = raw.decode("utf-8", "replace")
    if args.json:
        print_json({"mail": mail, "raw": text})
    else:
        about = f": {mail.reason}" if mail.reason else ""
        print(f"{mail.state}{about}\n\n{clean(text.replace(chr(13), ''))}")
    return Exit.OK


async def _known(desk: Desk, mail: str) -> MailRecord:
    record = await desk.backend.mailbox.mail(MailId(mail))
    if record is None:
        raise NotFound(f"there is no mail {mail}")
    return record


def _row(mail: MailRecord, now: float) -> list[Cell]:
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
