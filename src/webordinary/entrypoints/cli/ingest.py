"""`webordinary ingest`: raw mail from a file, a Maildir or an mbox, through the same door as SMTP."""

from __future__ import annotations

import argparse
import asyncio
import mailbox
import sys
from collections.abc import Iterator
from pathlib import Path

from webordinary.core.errors import BadInput
from webordinary.core.mail import Envelope, MailRecord, MailState
from webordinary.entrypoints.cli.arguments import add_common
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import print_json
from webordinary.wiring.mail import MailRoom, open_mail_room
from webordinary.wiring.settings import home_folder, load
from webordinary.wiring.stores import open_backend

LOOPBACK = "127.0.0.1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source", metavar="FILE|-", help="one raw mail, a Maildir, an mbox, or - for standard input"
    )
    parser.add_argument(
        "--trust-from",
        action="store_true",
        help="vouch for these mails: each is from whom it says. Without it they must prove it as by SMTP",
    )
    parser.add_argument(
        "--to", metavar="ADDRESS", help="the address they came to (default: the configured one)"
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Take mails in; say what became of each."""
    settings = load(home_folder(args.home))
    mails = list(_mails(args.source))
    backend = open_backend(settings)
    try:
        room = open_mail_room(settings, backend, trust_loopback=args.trust_from or None)
        records = asyncio.run(_receive(room, mails, args))
    finally:
        backend.close()
    if args.json:
        print_json(records)
    else:
        for record in records:
            about = f" as job {record.job}" if record.job else ""
            print(f"{record.from_address or '(no sender)'}: {record.state}{about} {record.reason}".rstrip())
    return Exit.OK if all(record.state in _GOOD for record in records) else Exit.NO


_GOOD = (MailState.ACCEPTED, MailState.ANSWERED)


async def _receive(room: MailRoom, mails: list[bytes], args: argparse.Namespace) -> list[MailRecord]:
    envelope = Envelope(
        peer=LOOPBACK if args.trust_from else "",
        mail_from="unknown",
        recipients=(args.to or room.listening.address,),
    )
    try:
        return [await room.reception.receive(raw, envelope) for raw in mails]
    finally:
        await room.close()


def _mails(source: str) -> Iterator[bytes]:
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
