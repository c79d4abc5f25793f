"""Writing a test mail: what the arguments of `send` and `cloud send` say, as a mail."""

from __future__ import annotations

import argparse
import mimetypes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from webordinary.core.errors import BadInput, NotFound
from webordinary.core.job import JobId
from webordinary.core.mail import MailId
from webordinary.entrypoints.cli.arguments import seconds
from webordinary.entrypoints.cli.desk import Desk

ATTACHMENT_BYTES_MAX = 20_000_000


def add_writing(parser: argparse.ArgumentParser) -> None:
    """What the mail is."""
    parser.add_argument("text", metavar="TEXT", help="what the mail says")
    parser.add_argument(
        "--from", dest="sender", metavar="ADDRESS", help="who writes (default: the first member there is)"
    )
    parser.add_argument("--subject", default="My site", help="its subject (default: My site)")
    parser.add_argument(
        "--attach", action="append", default=[], metavar="FILE", help="a photo or document; may be repeated"
    )
    parser.add_argument(
        "--answers", metavar="JOB", help="answer the mail of this job: the same conversation goes on"
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=120.0,
        metavar="SECONDS",
        help="follow it so long (default: 120); 0 only sends",
    )


def _attachment(path: Path) -> tuple[str, bytes]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} can't be attached: {error.strerror}") from error
    if len(content) > ATTACHMENT_BYTES_MAX:
        raise BadInput(f"{path} has more than {ATTACHMENT_BYTES_MAX // 1_000_000} MB")
    return path.name, content


async def written(args: argparse.Namespace, desk: Desk) -> EmailMessage:
    """Write the mail that `args` tell of."""
    sender = args.sender or await _first_member(desk)
    if not args.text.strip():
        raise BadInput("the mail says nothing; nothing was sent")
    answered = await _answered(args.answers, desk) if args.answers else ""
    files = [_attachment(Path(name)) for name in args.attach]
    mail = EmailMessage(policy=default)
    try:
        mail["From"], mail["To"], mail["Subject"] = sender, desk.settings.mail.address, args.subject
        mail["Message-ID"] = f"<{desk.clock.unique()}@{mail['From'].addresses[0].domain or 'localhost'}>"
        if answered:
            mail["In-Reply-To"] = mail["References"] = answered
        mail.set_content(args.text)
        for name, content in files:
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            main, _, sub = kind.partition("/")
            mail.add_attachment(content, maintype=main, subtype=sub, filename=name)
        mail.as_bytes()
        _check_address(mail["From"].addresses[0].addr_spec)
    except (ValueError, IndexError, MessageError) as error:
        raise BadInput(f"this can't be made a mail: {error}; nothing was sent") from error
    return mail


def _check_address(address: str) -> None:
    name, _, domain = address.rpartition("@")
    if not name or not domain or any(char.isspace() for char in address):
        raise ValueError(f"{address!r} is no address to write from")


async def _first_member(desk: Desk) -> str:
    members = await desk.members()
    if not members:
        raise BadInput("nobody may write yet: `webordinary onboard` lets somebody, or name --from")
    return members[0].address


async def _answered(job: str, desk: Desk) -> str:
    view = await desk.backend.ledger.job(JobId(job))
    record = await desk.backend.mailbox.mail(MailId(view.message_id))
    if record is None:
        raise NotFound(f"job {view.id} did not come by mail, so there is none to answer")
    return record.message_id
