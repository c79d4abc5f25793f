"""`webordinary cloud send`: a test mail by the cloud's own way in, followed to its reply."""

from __future__ import annotations

import argparse
from email.message import EmailMessage
from typing import Any

from webordinary.core.errors import NotFound
from webordinary.core.job import ENDED
from webordinary.core.mail import MailRecord, MailState
from webordinary.core.views import JobView
from webordinary.entrypoints.cli.answer import answer_to
from webordinary.entrypoints.cli.desk import Desk
from webordinary.entrypoints.cli.exits import Exit, exit_of
from webordinary.entrypoints.cli.following import Follower
from webordinary.entrypoints.cli.words import clean, print_json
from webordinary.entrypoints.cli.writing import add_writing, written
from webordinary.identify.find import mail_id


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


async def send(args: argparse.Namespace, desk: Desk) -> int:
    """Send and follow."""
    from webordinary.operations.cloud_setup import execution_of

    mail = await written(args, desk)
    record = await _taken_in(args.function, desk, mail)
    if not args.json:
        print(f"{record.state.value}: {mail['From']}, subject {mail['Subject']!r}", flush=True)
    if not args.wait:
        if args.json:
            print_json({"mail": record})
        return Exit.OK
    deadline = desk.clock.monotonic() + args.wait
    job = await Follower(desk, quiet=args.json).follow(record.job, deadline) if record.job else None
    answer = await answer_to(record, job, desk, deadline)
    execution = await execution_of(desk.settings, record.id) if record.job else None
    if args.json:
        print_json({"mail": record, "job": job, "reply": answer.text, "execution": execution})
    else:
        _tell(record, job, execution, await _standing(desk, job) if job is not None else "")
        answer.tell()
    if job is not None:
        return exit_of(job.state)
    return Exit.OK if record.state is MailState.ANSWERED else Exit.NO


async def _taken_in(function: str | None, desk: Desk, mail: EmailMessage) -> MailRecord:
    from webordinary.operations.cloud_setup import invoke
    from webordinary.wiring.cloud_mail import drop, post

    key, sender = f"test-{desk.clock.unique()}", mail["From"].addresses[0].addr_spec
    if not function:
        return await post(desk.settings, desk.backend, key, mail.as_bytes(), sender=sender)
    await invoke(desk.settings, function, await drop(desk.settings, key, mail.as_bytes(), sender=sender))
    found = await desk.backend.mailbox.mail(mail_id(mail["Message-ID"], sender.lower()))
    if found is None:
        raise NotFound(f"{function} took the mail, but it is in other tables than these")
    return found


async def _standing(desk: Desk, job: JobView) -> str:
    """What a job left; or what it waits for, if the seconds are over before its end."""
    return job.note if job.state in ENDED else (await desk.reason(job)).text


def _tell(record: MailRecord, job: JobView | None, execution: dict[str, Any] | None, standing: str) -> None:
    if job is not None:
        print(f"{job.state.value}: {clean(standing)}".removesuffix(": "))
        if preview := job.facts.address:
            print(f"preview {clean(preview)}")
    elif record.reason:
        print(clean(record.reason))
    if execution is not None:
        why = f": {execution['error']}" if execution.get("error") else ""
        print(f"execution {record.id} {execution['status']}{why}")
