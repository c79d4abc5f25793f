"""`webordinary send`: a mail in by the front door, followed to its reply."""

from __future__ import annotations

import argparse
from email.message import EmailMessage

from webordinary.core.errors import NotFound
from webordinary.core.mail import MailRecord, MailState
from webordinary.core.views import JobView
from webordinary.entrypoints.cli import cloud_send
from webordinary.entrypoints.cli.answer import Answer, answer_to
from webordinary.entrypoints.cli.arguments import add_common, port
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit, exit_of
from webordinary.entrypoints.cli.following import Follower
from webordinary.entrypoints.cli.invocation import typed
from webordinary.entrypoints.cli.words import clean, print_json
from webordinary.entrypoints.cli.writing import add_writing, written
from webordinary.identify.find import mail_id
from webordinary.mail.smtp.relay import hand_in
from webordinary.wiring.running import LOOPBACK, running

LOOK_SECONDS = 0.1
KNOWN_WITHIN_SECONDS = 20.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "In the cloud there is no SMTP: this is then `webordinary cloud send`."
    parser.set_defaults(function=None)
    add_writing(parser)
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="where mail comes in (default: where `up` listens)"
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Send and follow."""
    return at_desk(args, _send)


async def _send(args: argparse.Namespace, desk: Desk) -> int:
    if desk.settings.in_cloud:
        return await cloud_send.send(args, desk)
    mail = await written(args, desk)
    where = args.smtp_port or _listening(desk)
    address = mail["From"].addresses[0].addr_spec
    recipient = desk.settings.mail.address
    await hand_in(LOOPBACK, where, sender=address, recipient=recipient, mail=mail.as_bytes())
    if not args.json:
        print(f"sent: {mail['From']} to {mail['To']}, subject {mail['Subject']!r}", flush=True)
    if not args.wait:
        if args.json:
            print_json({"message_id": mail["Message-ID"]})
        return Exit.OK
    deadline = desk.clock.monotonic() + args.wait
    record = await _known(mail, desk, deadline)
    job = await Follower(desk, quiet=args.json).follow(record.job, deadline) if record.job else None
    _tell(args, record, job, await answer_to(record, job, desk, deadline))
    if job is not None:
        return exit_of(job.state)
    return Exit.OK if record.state is MailState.ANSWERED else Exit.NO


def _listening(desk: Desk) -> int:
    up = running(desk.settings.home)
    if up is not None and up.leaving:
        raise NotFound(f"what runs on {desk.settings.home} is just leaving; nothing was sent")
    if up is None:
        up_command = typed("up", home=desk.settings.home)
        raise NotFound(
            f"nothing runs on {desk.settings.home}: start it with `{up_command}`, or name --smtp-port"
        )
    return up.smtp_port


async def _known(mail: EmailMessage, desk: Desk, deadline: float) -> MailRecord:
    """The mail as it was kept: it is, before the line says yes."""
    name = mail_id(mail["Message-ID"], mail["From"].addresses[0].addr_spec.lower())
    until = min(deadline, desk.clock.monotonic() + KNOWN_WITHIN_SECONDS)
    while (record := await desk.backend.mailbox.mail(name)) is None:
        if desk.clock.monotonic() > until:
            raise NotFound("the mail was accepted, but is not in this store: does another home listen there?")
        await desk.clock.sleep(LOOK_SECONDS)
    return record


def _tell(args: argparse.Namespace, record: MailRecord, job: JobView | None, answer: Answer) -> None:
    if args.json:
        print_json({"mail": record, "job": job, "reply": answer.text})
        return
    if job is None:
        print(f"{record.state.value}: {clean(record.reason)}")
    answer.tell()
