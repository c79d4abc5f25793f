"""`webordinary cloud send`: a test mail by the cloud's own way in, followed to its reply."""

from __future__ import annotations

import argparse
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from webordinary.cli.arguments import seconds
from webordinary.cli.desk import Desk
from webordinary.cli.exits import Exit, exit_of
from webordinary.cli.following import Follower
from webordinary.cli.send import add_writing, attachment, written
from webordinary.cli.words import clean, print_json
from webordinary.core.errors import NotFound
from webordinary.core.job import ENDED
from webordinary.core.mail import FINAL_LETTERS, LetterKind, MailRecord
from webordinary.core.views import JobView
from webordinary.identify.mail_id import mail_id

LOOK_SECONDS = 0.5
SENT = "sent"  # how the standing of a letter begins that is out


def configure(parser: argparse.ArgumentParser) -> None:
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
        help="have this function of the cloud take the mail in (default: this process does)",
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=120.0,
        metavar="SECONDS",
        help="follow it so long (default: 120); 0 only sends",
    )


async def send(args: argparse.Namespace, desk: Desk) -> int:
    """Send and follow."""
    from webordinary.wiring.cloud_admin import drop_mail, execution_of

    args.files = [attachment(Path(name)) for name in args.attach]
    mail = await written(args, desk)
    key = f"test-{desk.clock.unique()}"
    await drop_mail(desk.settings, key, mail.as_bytes())
    record = await _taken_in(args, desk, mail, event_of(key, mail))
    if not args.json:
        print(f"{record.state.value}: {mail['From']}, subject {mail['Subject']!r}", flush=True)
    if not args.wait:
        if args.json:
            print_json({"mail": record})
        return Exit.OK
    deadline = desk.clock.monotonic() + args.wait
    job = await Follower(desk, quiet=args.json).follow(record.job, deadline) if record.job else None
    reply = await _reply(record, job, desk, deadline)
    execution = await execution_of(desk.settings, record.id) if record.job else None
    if args.json:
        print_json({"mail": record, "job": job, "reply": reply, "execution": execution})
    else:
        _tell(record, job, reply, execution)
    if job is not None:
        return exit_of(job.state)
    return Exit.OK if reply else Exit.NO


def event_of(key: str, mail: EmailMessage) -> dict[str, Any]:
    """What the mail service would tell of a mail that passed its checks."""
    sender = mail["From"].addresses[0].addr_spec
    verdicts = {f"{name}Verdict": {"status": "PASS"} for name in ("spf", "dkim", "dmarc", "spam", "virus")}
    told = {
        "mail": {"messageId": key, "source": sender},
        "receipt": {"recipients": [mail["To"].addresses[0].addr_spec], **verdicts},
    }
    return {"Records": [{"eventSource": "aws:ses", "eventVersion": "1.0", "ses": told}]}


async def _taken_in(
    args: argparse.Namespace, desk: Desk, mail: EmailMessage, event: dict[str, Any]
) -> MailRecord:
    if not args.function:
        from webordinary.wiring.ingest import take_in

        (record,) = await take_in(event, desk.settings, desk.backend)
        return record
    from webordinary.wiring.cloud_admin import invoke

    await invoke(desk.settings, args.function, event)
    name = mail_id(mail["Message-ID"], mail["From"].addresses[0].addr_spec.lower())
    found = await desk.backend.mailbox.mail(name)
    if found is None:
        raise NotFound(f"{args.function} took the mail, but it is in other tables than these")
    return found


async def _reply(record: MailRecord, job: JobView | None, desk: Desk, deadline: float) -> str:
    """Wait until the letter that ends it is out; say how it stands."""
    standing = ""
    while job is None or job.state in ENDED:
        for letter, how in await desk.backend.outbox.letters(limit=20, about=record.job or record.id):
            if letter.kind in FINAL_LETTERS if job else letter.kind is not LetterKind.ACCEPTED:
                standing = f"{letter.kind.value}: {how}"
                if how.startswith(SENT):
                    return standing
        if desk.clock.monotonic() >= deadline:
            break
        await desk.clock.sleep(LOOK_SECONDS)
    return standing


def _tell(record: MailRecord, job: JobView | None, reply: str, execution: dict[str, Any] | None) -> None:
    if job is not None:
        print(f"{job.state.value}: {clean(job.note)}")
        if preview := job.facts.get("preview"):
            print(f"preview {clean(preview)}")
    elif record.reason:
        print(clean(record.reason))
    print(f"reply {clean(reply)}" if reply else "no reply yet")
    if execution is not None:
        why = f": {execution['error']}" if execution.get("error") else ""
        print(f"execution {record.id} {execution['status']}{why}")
