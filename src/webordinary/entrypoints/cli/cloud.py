"""`webordinary cloud`: set the cloud up, try it with a mail, look into it, take in mail that nobody saw."""

from __future__ import annotations

import argparse
import math
import secrets
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from webordinary.core.errors import BadInput, WebordinaryError
from webordinary.core.mail import MailRecord
from webordinary.core.text import one_line
from webordinary.core.waiting import counted, span
from webordinary.entrypoints.cli.arguments import add_common, add_limit
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.mails import show_taken_in
from webordinary.entrypoints.cli.output import (
    GREEN,
    LINE_CHARACTERS,
    RED,
    YELLOW,
    Cell,
    Exit,
    ago,
    print_json,
    table,
)
from webordinary.entrypoints.cli.send import cloud_send, configure_cloud_send
from webordinary.wiring.settings import AWS, home_folder, load

HOUR_SECONDS = 3600.0
HOURS_MAX = 100_000  # eleven years
PROGRESS_EVERY = 200  # mails

STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
COLOURS = {"SUCCEEDED": GREEN, "FAILED": RED, "TIMED_OUT": RED, "ABORTED": YELLOW}


def configure_cloud(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "It needs backend = aws in the settings, or WEBORDINARY_BACKEND=aws: docs/cloud.md."
    # Not the parser's own class: that takes the last word for a command, and one of them is `send`.
    verbs = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, parser_class=argparse.ArgumentParser
    )

    def verb(name: str, summary: str) -> argparse.ArgumentParser:
        description, formatter = f"{summary[0].upper()}{summary[1:]}.", parser.formatter_class
        made = verbs.add_parser(
            name, help=summary, description=description, formatter_class=formatter, allow_abbrev=False
        )
        assert isinstance(made, argparse.ArgumentParser)
        return made

    setup = verb("setup", "create tables, queues, buckets and the state machine; safe to repeat")
    setup.add_argument(
        "--role",
        metavar="ARN",
        default="",
        help="role of the state machine; without it no state machine is created",
    )
    setup.add_argument(
        "--definition",
        metavar="FILE",
        type=Path,
        help="definition of the state machine (default: the one of this version)",
    )
    sending = verb("send", "put a test mail into the mail bucket and follow it to the reply")
    configure_cloud_send(sending)
    queues = verb("queues", "show the approximate number of messages in each queue")
    ownership = verb("ownership", "show which worker holds which lane, and its lease")
    ownership.add_argument("--all", action="store_true", help="also lanes that nobody holds")
    executions = verb("executions", "list executions of the state machine, newest first")
    add_limit(executions, 20)
    executions.add_argument(
        "--status", choices=STATUSES, metavar="STATUS", help=f"only those that are {', '.join(STATUSES)}"
    )
    unseen = verb("unseen", "list mail in the mail bucket that was never received")
    _configure_unseen(unseen)
    taking = verb("take", "receive such mail after all, by its event or from the bucket")
    _configure_take(taking)
    for one in (setup, sending, queues, ownership, executions, unseen, taking):
        add_common(one)


def run_cloud(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    verbs: dict[str, Callable[[argparse.Namespace, Context], Awaitable[int]]] = {
        "setup": _setup,
        "send": cloud_send,
        "queues": _queues,
        "ownership": _ownership,
        "executions": _executions,
        "unseen": _unseen,
        "take": _take,
    }

    if load(home_folder(args.home)).backend != AWS:
        raise BadInput(
            'this home\'s backend is embedded, so there is no cloud to look at: set backend = "aws" in '
            "webordinary.toml, or WEBORDINARY_BACKEND=aws"
        )
    return in_context(args, verbs[args.verb])


async def _setup(args: argparse.Namespace, context: Context) -> int:
    from webordinary.operations.cloud_setup import set_up, shipped_definition

    definition = (args.definition or shipped_definition()) if args.role else None
    done = await set_up(context.settings, context.clock, definition, args.role)
    key = "" if context.settings.cloud.token_key else secrets.token_hex(32)
    if args.json:
        print_json({"made": done, "token_key": key})
        return Exit.OK
    print(f"tables: {', '.join(done.tables)}")
    print(f"queue of claim requests: {done.unclaimed_queue_url}")
    print(f"buckets: {', '.join(done.buckets)}")
    if done.state_machine_arn:
        print(f"state machine: {done.state_machine_arn}")
        if context.settings.cloud.state_machine_arn != done.state_machine_arn:
            print("  set it as [cloud] state_machine_arn, so that each mail starts an execution")
    else:
        print("state machine: none, for no --role was given")
    if key:
        print("no key signs reply addresses yet. A new one for your secrets, the same everywhere:")
        print(f"  WEBORDINARY_CLOUD_TOKEN_KEY={key}")
    return Exit.OK


async def _queues(args: argparse.Namespace, context: Context) -> int:
    from webordinary.operations.cloud_setup import queues_of

    queues = await queues_of(context.settings)
    if args.json:
        print_json(queues)
    elif queues:
        rows: list[list[Cell]] = [
            [queue.name, str(queue.waiting), str(queue.in_hand), str(queue.delayed)] for queue in queues
        ]
        print(table(("QUEUE", "WAITING", "IN HAND", "DELAYED"), rows))
    else:
        print(
            f"no queues begin with {context.settings.cloud.prefix}- in this account and region: "
            "`webordinary cloud setup` makes them, or look at [cloud] prefix, AWS_REGION and the credentials"
        )
    return Exit.OK if queues else Exit.NO


async def _ownership(args: argparse.Namespace, context: Context) -> int:
    lanes = [lane for lane in await context.lanes() if args.all or lane.worker is not None]
    now = context.clock.now()
    if args.json:
        print_json(lanes)
        return Exit.OK
    rows: list[list[Cell]] = [
        [
            str(lane.lane),
            lane.worker or "-",
            str(lane.fence),
            ago(lane.claimed_at, now),
            span(lane.lease_until - now) if lane.lease_until is not None else "-",
            str(lane.depth),
        ]
        for lane in lanes
    ]
    head = ("LANE", "WORKER", "FENCE", "CLAIMED", "LEASE LEFT", "JOBS")
    print(table(head, rows) if rows else "nobody holds a lane")
    return Exit.OK


async def _executions(args: argparse.Namespace, context: Context) -> int:
    from webordinary.operations.cloud_setup import executions_of

    found = await executions_of(context.settings, limit=args.limit, status=args.status)
    if args.json:
        print_json(found)
        return Exit.OK
    now = context.clock.now()
    rows: list[list[Cell]] = [
        [
            one.mail,
            (one.status, COLOURS.get(one.status, "")),
            ago(one.started_at, now),
            span((one.ended_at or now) - one.started_at),
        ]
        for one in found
    ]
    print(table(("MAIL", "STATUS", "STARTED", "TOOK"), rows) if rows else "no such executions")
    return Exit.OK


def _configure_unseen(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "A mail that came a moment ago may just be on its way. The exit code is 1 if there are any. "
        "`webordinary cloud take` takes them in."
    )
    parser.add_argument(
        "--hours", type=_hours, default=24.0, metavar="N", help="hours to look back (default: 24)"
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


def _configure_take(parser: argparse.ArgumentParser) -> None:
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
        "--trust-from", action="store_true", help="trust the From header of the mails of --key"
    )


async def _unseen(args: argparse.Namespace, context: Context) -> int:
    """List what nobody took in."""
    from webordinary.operations.cloud_unseen import find_unseen

    def progress(done: int, of: int) -> None:
        if not args.json and done % PROGRESS_EVERY == 0:
            print(f"  looked at {done:,} of {counted(of, 'mail')}", file=sys.stderr, flush=True)

    now = context.clock.now()
    found = await find_unseen(
        context.settings,
        context.backend,
        since=now - args.hours * HOUR_SECONDS,
        limit=args.limit,
        progress=progress,
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


async def _take(args: argparse.Namespace, context: Context) -> int:
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
            records += await take_in(event, context.settings, context.backend)
        except WebordinaryError as error:
            failed = failed or error
    for key in args.key:
        try:
            records.append(await take_key(context.settings, context.backend, key, trust_from=args.trust_from))
        except WebordinaryError as error:
            failed = failed or error
    code = show_taken_in(args, records)
    if failed is not None:
        raise failed
    return code


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{name} can't be read: {error}") from error
