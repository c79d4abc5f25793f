"""`webordinary cloud unseen` and `cloud take`: mail in the bucket that nobody took in, and taking it in."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from webordinary.core.errors import BadInput, WebordinaryError
from webordinary.core.mail import MailRecord, MailState
from webordinary.core.text import one_line
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.arguments import add_limit
from webordinary.entrypoints.cli.desk import Desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import LINE_CHARACTERS, Cell, ago, clean, print_json, table

HOUR_SECONDS = 3600.0
HOURS_MAX = 100_000  # eleven years
TOLD_EVERY = 200  # mails
TAKEN = (MailState.ACCEPTED, MailState.ANSWERED)


def configure_unseen(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "A mail that came a moment ago may just be on its way. The exit code is 1 if there are any. "
        "`webordinary cloud take` takes them in."
    )
    parser.add_argument(
        "--hours", type=_hours, default=24.0, metavar="N", help="look so far back (default: 24)"
    )
    add_limit(parser, 100)


def _hours(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= HOURS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of hours from 0 to {HOURS_MAX:,}")
    return value


def configure_take(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "What was taken in before is not doubled. An event holds the mail service's verdicts on the sender, "
        "and is believed: take none from strangers. A mail of the bucket has none: its sender is asked at "
        "the address on file, unless --trust-from vouches for it."
    )
    parser.add_argument(
        "events",
        nargs="*",
        metavar="EVENT.json|-",
        help="an event of the mail service, as the function's failure queue has it; - is standard input",
    )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="KEY",
        help="a mail of the bucket, as `cloud unseen` names it; may be repeated",
    )
    parser.add_argument(
        "--trust-from", action="store_true", help="vouch for the mails of --key: each is from whom it says"
    )


async def unseen(args: argparse.Namespace, desk: Desk) -> int:
    """List what nobody took in."""
    from webordinary.operations.cloud_unseen import find_unseen

    def told(done: int, of: int) -> None:
        if not args.json and done % TOLD_EVERY == 0:
            print(f"  looked at {done:,} of {counted(of, 'mail')}", file=sys.stderr, flush=True)

    now = desk.clock.now()
    found = await find_unseen(
        desk.settings, desk.backend, since=now - args.hours * HOUR_SECONDS, limit=args.limit, told=told
    )
    if args.json:
        print_json(found)
        return Exit.NO if found.unseen else Exit.OK
    if found.unseen:
        rows: list[list[Cell]] = [
            [
                one.key,
                ago(one.arrived_at, now),
                one_line(one.from_address, LINE_CHARACTERS) or "-",
                one_line(one.subject, LINE_CHARACTERS),
                one.why,
            ]
            for one in found.unseen
        ]
        print(table(("KEY", "CAME", "SAYS IT IS FROM", "SUBJECT", "WHY IT IS HERE"), rows))
        print(
            "\ntake them in by their events from the function's failure queue: `webordinary cloud take "
            "EVENT.json`; without an event: `webordinary cloud take --key KEY`"
        )
    else:
        looked_at = counted(found.looked_at, "mail")
        print(f"{looked_at} of the last {args.hours:g} h in the bucket, none of them unseen")
    if not found.is_all:
        print("  there may be more: look less far back with --hours, or list more with --limit")
    return Exit.NO if found.unseen else Exit.OK


async def take(args: argparse.Namespace, desk: Desk) -> int:
    """Take in events and mails; say what became of each."""
    from webordinary.operations.cloud_unseen import events_in, take_key
    from webordinary.wiring.cloud_mail import take_in

    if not args.events and not args.key:
        raise BadInput("name an event, - for standard input, or a mail of the bucket with --key")
    if args.trust_from and not args.key:
        raise BadInput("an event tells itself what the mail service thought of the sender: drop --trust-from")
    events = [event for name in args.events for event in events_in(_text(name))]
    records: list[MailRecord] = []
    failed: WebordinaryError | None = None
    for event in events:
        try:
            records += await take_in(event, desk.settings, desk.backend)
        except WebordinaryError as error:
            failed = failed or error
    for key in args.key:
        try:
            records.append(await take_key(desk.settings, desk.backend, key, trust_from=args.trust_from))
        except WebordinaryError as error:
            failed = failed or error
    if args.json:
        print_json(records)
    else:
        for record in records:
            _tell(record)
    if failed is not None:
        raise failed
    return Exit.OK if all(record.state in TAKEN for record in records) else Exit.NO


def _tell(record: MailRecord) -> None:
    about = f" as job {record.job}" if record.job else ""
    print(clean(f"{record.from_address or '(no sender)'}: {record.state}{about} {record.reason}".rstrip()))


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{name} can't be read: {error}") from error
