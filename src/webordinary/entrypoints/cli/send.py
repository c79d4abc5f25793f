"""`webordinary send` and `cloud send`: a mail in by the front door, followed to its reply."""

from __future__ import annotations

import argparse
import mimetypes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from webordinary.core.errors import BadInput, NotFound
from webordinary.core.job import ENDED, JobId
from webordinary.core.mail import MailId, MailRecord, MailState
from webordinary.core.views import JobView
from webordinary.entrypoints.cli.arguments import add_common, port, seconds
from webordinary.entrypoints.cli.context import Context
from webordinary.entrypoints.cli.follow import Answer, Follower, answer_to
from webordinary.entrypoints.cli.output import Exit, clean, exit_of, print_json, typed
from webordinary.identify.find import mail_id
from webordinary.operations.running import LOOPBACK, running

LOOK_SECONDS = 0.1
KNOWN_WITHIN_SECONDS = 20.0
ATTACHMENT_BYTES_MAX = 20_000_000


def configure_send(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "In the cloud there is no SMTP: this is then `webordinary cloud send`."
    parser.set_defaults(function=None)
    add_writing(parser)
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="SMTP port to send to (default: where `up` listens)"
    )
    add_common(parser)


async def run_send(args: argparse.Namespace, context: Context) -> int:
    """Send and follow."""
    if context.platform.traits.mail_service:
        return await cloud_send(args, context)
    from webordinary.mail.smtp.relay import hand_in

    mail = await written(args, context)
    where = args.smtp_port or _listening(context)
    address = mail["From"].addresses[0].addr_spec
    recipient = context.settings.mail.address
    await hand_in(LOOPBACK, where, sender=address, recipient=recipient, mail=mail.as_bytes())
    if not args.json:
        print(f"sent: {mail['From']} to {mail['To']}, subject {mail['Subject']!r}", flush=True)
    if not args.wait:
        if args.json:
            print_json({"message_id": mail["Message-ID"]})
        return Exit.OK
    deadline = context.clock.monotonic() + args.wait
    record = await _known(mail, context, deadline)
    job, answer = await _follow(args, context, record, deadline)
    if args.json:
        print_json({"mail": record, "job": job, "reply": answer.text})
    else:
        if job is None:
            print(f"{record.state.value}: {clean(record.reason)}")
        answer.print()
    return _exit_of(record, job)


async def _follow(
    args: argparse.Namespace, context: Context, record: MailRecord, deadline: float
) -> tuple[JobView | None, Answer]:
    """Follow a mail to the end of its job, if it has one, and to its reply."""
    follower = Follower(context, quiet=args.json, tells_end=True)
    job = await follower.follow(record.job, deadline) if record.job else None
    return job, await answer_to(record, job, context, deadline)


def _exit_of(record: MailRecord, job: JobView | None) -> Exit:
    if job is not None:
        return exit_of(job.state)
    return Exit.OK if record.state is MailState.ANSWERED else Exit.NO


def _listening(context: Context) -> int:
    up = running(context.settings.home)
    if up is not None and up.leaving:
        raise NotFound(f"what runs on {context.settings.home} is just leaving; nothing was sent")
    if up is None:
        up_command = typed("up", home=context.settings.home)
        raise NotFound(
            f"nothing runs on {context.settings.home}: start it with `{up_command}`, or name --smtp-port"
        )
    return up.smtp_port


async def _known(mail: EmailMessage, context: Context, deadline: float) -> MailRecord:
    """The mail as it was kept: it is, before the line says yes."""
    name = mail_id(mail["Message-ID"], mail["From"].addresses[0].addr_spec.lower())
    until = min(deadline, context.clock.monotonic() + KNOWN_WITHIN_SECONDS)
    while (record := await context.backend.mailbox.mail(name)) is None:
        if context.clock.monotonic() > until:
            raise NotFound("the mail was accepted, but is not in this store: does another home listen there?")
        await context.clock.sleep(LOOK_SECONDS)
    return record


def configure_cloud_send(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "The mail is put where the mail service puts mail, and its event is made up, with verdicts that "
        "vouch for the sender. So whoever may write to that bucket and invoke the handler can write as "
        "anybody: these are an operator's rights."
    )
    add_writing(parser)
    parser.add_argument(
        "--function",
        metavar="NAME",
        help="cloud function that receives the mail (default: this process)",
    )


async def cloud_send(args: argparse.Namespace, context: Context) -> int:
    """Send and follow."""
    from webordinary.operations.cloud_setup import execution_of

    mail = await written(args, context)
    record = await _taken_in(args.function, context, mail)
    if not args.json:
        print(f"{record.state.value}: {mail['From']}, subject {mail['Subject']!r}", flush=True)
    if not args.wait:
        if args.json:
            print_json({"mail": record})
        return Exit.OK
    deadline = context.clock.monotonic() + args.wait
    job, answer = await _follow(args, context, record, deadline)
    execution = await execution_of(context.settings, record.id) if record.job else None
    if args.json:
        print_json({"mail": record, "job": job, "reply": answer.text, "execution": execution})
    else:
        _print_cloud(record, job, execution, await _standing(context, job) if job is not None else "")
        answer.print()
    return _exit_of(record, job)


async def _taken_in(function: str | None, context: Context, mail: EmailMessage) -> MailRecord:
    from webordinary.operations.cloud_setup import invoke
    from webordinary.wiring.cloud_mail import drop, post

    key, sender = f"test-{context.clock.unique()}", mail["From"].addresses[0].addr_spec
    if not function:
        return await post(context.settings, context.backend, key, mail.as_bytes(), sender=sender)
    await invoke(
        context.settings, function, await drop(context.settings, key, mail.as_bytes(), sender=sender)
    )
    found = await context.backend.mailbox.mail(mail_id(mail["Message-ID"], sender.lower()))
    if found is None:
        raise NotFound(f"{function} took the mail, but it is in other tables than these")
    return found


async def _standing(context: Context, job: JobView) -> str:
    """What a job left; or what it waits for, if the seconds are over before its end."""
    return job.note if job.state in ENDED else (await context.reason(job)).text


def _print_cloud(
    record: MailRecord, job: JobView | None, execution: dict[str, Any] | None, standing: str
) -> None:
    if job is not None:
        print(f"{job.state.value}: {clean(standing)}".removesuffix(": "))
        if preview := job.facts.address:
            print(f"preview {clean(preview)}")
    elif record.reason:
        print(clean(record.reason))
    if execution is not None:
        why = f": {execution['error']}" if execution.get("error") else ""
        print(f"execution {record.id} {execution['status']}{why}")


def add_writing(parser: argparse.ArgumentParser) -> None:
    """What the mail is."""
    parser.add_argument("text", metavar="TEXT", help="what the mail says")
    parser.add_argument("--from", dest="sender", metavar="ADDRESS", help="sender (default: the first member)")
    parser.add_argument("--subject", default="My site", help="its subject (default: My site)")
    parser.add_argument(
        "--attach", action="append", default=[], metavar="FILE", help="a photo or document; may be repeated"
    )
    parser.add_argument(
        "--answers", metavar="JOB", help="reply to the mail of this job, in the same conversation"
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=120.0,
        metavar="SECONDS",
        help="follow it for up to SECONDS (default: 120); 0 only sends it",
    )


def _attachment(path: Path) -> tuple[str, bytes]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} can't be attached: {error.strerror}") from error
    if len(content) > ATTACHMENT_BYTES_MAX:
        raise BadInput(f"{path} has more than {ATTACHMENT_BYTES_MAX // 1_000_000} MB")
    return path.name, content


async def written(args: argparse.Namespace, context: Context) -> EmailMessage:
    """Write the mail that `args` tell of."""
    sender = args.sender or await _first_member(context)
    if not args.text.strip():
        raise BadInput("the mail says nothing; nothing was sent")
    answered = await _answered(args.answers, context) if args.answers else ""
    files = [_attachment(Path(name)) for name in args.attach]
    mail = EmailMessage(policy=default)
    try:
        mail["From"], mail["To"], mail["Subject"] = sender, context.settings.mail.address, args.subject
        mail["Message-ID"] = f"<{context.clock.unique()}@{mail['From'].addresses[0].domain or 'localhost'}>"
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


async def _first_member(context: Context) -> str:
    members = await context.members()
    if not members:
        raise BadInput("nobody may write yet: `webordinary onboard` lets somebody, or name --from")
    return members[0].address


async def _answered(job: str, context: Context) -> str:
    view = await context.backend.ledger.job(JobId(job))
    record = await context.backend.mailbox.mail(MailId(view.message_id))
    if record is None:
        raise NotFound(f"job {view.id} did not come by mail, so there is none to answer")
    return record.message_id
