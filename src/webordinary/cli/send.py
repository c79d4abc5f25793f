"""`webordinary send`: a mail in over SMTP, followed to its reply."""

from __future__ import annotations

import argparse
import mimetypes
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from webordinary.adapters.folder_mailer import file_name
from webordinary.adapters.smtp_client import hand_in
from webordinary.cli.arguments import add_common, port, seconds
from webordinary.cli.desk import Desk, at_desk
from webordinary.cli.exits import Exit, exit_of
from webordinary.cli.following import Follower
from webordinary.cli.invocation import typed
from webordinary.cli.words import FAINT, clean, indented, painted, print_json
from webordinary.core.errors import BadInput, NotFound
from webordinary.core.job import ENDED, JobId
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, MailId, MailRecord, MailState
from webordinary.core.views import JobView
from webordinary.identify.mail_id import mail_id
from webordinary.wiring.folders import outbox_folder
from webordinary.wiring.running import LOOPBACK, running

LOOK_SECONDS = 0.1
KNOWN_WITHIN_SECONDS = 20.0
ATTACHMENT_BYTES_MAX = 20_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_writing(parser)
    parser.add_argument(
        "--smtp-port", type=port, metavar="PORT", help="where mail comes in (default: where `up` listens)"
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=120.0,
        metavar="SECONDS",
        help="follow it so long (default: 120); 0 only sends",
    )
    add_common(parser)


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


def run(args: argparse.Namespace) -> int:
    """Send and follow."""
    args.files = [attachment(Path(name)) for name in args.attach]
    return at_desk(args, _send)


def attachment(path: Path) -> tuple[str, bytes]:
    """Read a file that goes along."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} can't be attached: {error.strerror}") from error
    if len(content) > ATTACHMENT_BYTES_MAX:
        raise BadInput(f"{path} has more than {ATTACHMENT_BYTES_MAX // 1_000_000} MB")
    return path.name, content


async def _send(args: argparse.Namespace, desk: Desk) -> int:
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
    reply = await _reply(record, job, desk, deadline)
    _tell(args, record, job, reply)
    if job is not None:
        return exit_of(job.state)
    return Exit.OK if record.state is MailState.ANSWERED else Exit.NO


async def written(args: argparse.Namespace, desk: Desk) -> EmailMessage:
    """Write the mail that `args` tell of."""
    sender = args.sender or await _first_member(desk)
    mail = EmailMessage(policy=default)
    mail["From"], mail["To"], mail["Subject"] = sender, desk.settings.mail.address, args.subject
    mail["Message-ID"] = f"<{desk.clock.unique()}@{sender.rpartition('@')[2] or 'localhost'}>"
    if args.answers:
        answered = await _answered(args.answers, desk)
        mail["In-Reply-To"] = answered
        mail["References"] = answered
    mail.set_content(args.text)
    for name, content in args.files:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        main, _, sub = kind.partition("/")
        mail.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return mail


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


def _listening(desk: Desk) -> int:
    if desk.settings.in_cloud:
        raise NotFound("in the cloud mail comes in by the mail service: `webordinary cloud send` tries that")
    up = running(desk.settings.home)
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


async def _reply(record: MailRecord, job: JobView | None, desk: Desk, deadline: float) -> str:
    """Wait for the letter that ends it, and read it where it was put."""
    about = record.job or record.id
    while desk.clock.monotonic() < deadline:
        for letter, _ in await desk.backend.outbox.letters(limit=20, about=about):
            if _is_final(letter, job) and (text := _text(desk, letter)):
                return text
        if job is not None and job.state not in ENDED:
            break
        await desk.clock.sleep(LOOK_SECONDS)
    return ""


def _is_final(letter: Letter, job: JobView | None) -> bool:
    return letter.kind in FINAL_LETTERS if job is not None else letter.kind is not LetterKind.ACCEPTED


def _text(desk: Desk, letter: Letter) -> str:
    path = outbox_folder(desk.settings.home) / file_name(f"{letter.about}.{letter.kind}")
    if not path.is_file():
        return ""
    message = message_from_bytes(path.read_bytes(), policy=default)
    body = message.get_body(("plain",))
    return str(body.get_content()).replace("\r\n", "\n") if body is not None else ""


def _tell(args: argparse.Namespace, record: MailRecord, job: JobView | None, reply: str) -> None:
    if args.json:
        print_json({"mail": record, "job": job, "reply": reply})
        return
    if job is None:
        print(f"{record.state.value}: {clean(record.reason)}")
    if reply:
        print(f"\n{painted('reply', FAINT)}\n{indented(clean(reply), 2)}")
    else:
        print("no reply yet")
