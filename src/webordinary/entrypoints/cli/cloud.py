"""`webordinary cloud`: set the cloud up, try it with a mail, and look into it."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from webordinary.core.errors import BadInput
from webordinary.core.waiting import span
from webordinary.entrypoints.cli import cloud_send, cloud_unseen
from webordinary.entrypoints.cli.arguments import add_common, add_limit
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import GREEN, RED, YELLOW, Cell, ago, print_json, table
from webordinary.wiring.settings import home_folder, load

STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
COLOURS = {"SUCCEEDED": GREEN, "FAILED": RED, "TIMED_OUT": RED, "ABORTED": YELLOW}


def configure(parser: argparse.ArgumentParser) -> None:
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

    setup = verb("setup", "make tables, queues, buckets and the state machine; safe to repeat")
    setup.add_argument(
        "--role", metavar="ARN", default="", help="the role of the state machine; without it none is made"
    )
    setup.add_argument(
        "--definition",
        metavar="FILE",
        type=Path,
        help="the state machine's definition (default: the one that comes with this version)",
    )
    sending = verb("send", "drop a test mail into the mail bucket and follow it to the reply")
    cloud_send.configure(sending)
    queues = verb("queues", "show about how many messages are in each queue")
    ownership = verb("ownership", "show which worker holds which lane, by which lease")
    ownership.add_argument("--all", action="store_true", help="also lanes that nobody holds")
    executions = verb("executions", "list executions of the state machine, newest first")
    add_limit(executions, 20)
    executions.add_argument(
        "--status", choices=STATUSES, metavar="STATUS", help=f"only those that are {', '.join(STATUSES)}"
    )
    unseen = verb("unseen", "list mail in the mail bucket that nobody took in")
    cloud_unseen.configure_unseen(unseen)
    taking = verb("take", "take such mail in after all, by its event or from the bucket")
    cloud_unseen.configure_take(taking)
    for one in (setup, sending, queues, ownership, executions, unseen, taking):
        add_common(one)


def run(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    verbs: dict[str, Callable[[argparse.Namespace, Desk], Awaitable[int]]] = {
        "setup": _setup,
        "send": cloud_send.send,
        "queues": _queues,
        "ownership": _ownership,
        "executions": _executions,
        "unseen": cloud_unseen.unseen,
        "take": cloud_unseen.take,
    }

    if not load(home_folder(args.home)).in_cloud:
        raise BadInput(
            'this home\'s backend is embedded, so there is no cloud to look at: set backend = "aws" in '
            "webordinary.toml, or WEBORDINARY_BACKEND=aws"
        )
    return at_desk(args, verbs[args.verb])


async def _setup(args: argparse.Namespace, desk: Desk) -> int:
    from webordinary.operations.cloud_setup import set_up, shipped_definition

    definition = (args.definition or shipped_definition()) if args.role else None
    done = await set_up(desk.settings, desk.clock, definition, args.role)
    key = "" if desk.settings.cloud.token_key else secrets.token_hex(32)
    if args.json:
        print_json({"made": done, "token_key": key})
        return Exit.OK
    print(f"tables: {', '.join(done.tables)}")
    print(f"queue of claim requests: {done.unclaimed_queue_url}")
    print(f"buckets: {', '.join(done.buckets)}")
    if done.state_machine_arn:
        print(f"state machine: {done.state_machine_arn}")
        if desk.settings.cloud.state_machine_arn != done.state_machine_arn:
            print("  set it as [cloud] state_machine_arn, so that each mail starts an execution")
    else:
        print("state machine: none, for no --role was given")
    if key:
        print("no key signs reply addresses yet. A new one for your secrets, the same everywhere:")
        print(f"  WEBORDINARY_CLOUD_TOKEN_KEY={key}")
    return Exit.OK


async def _queues(args: argparse.Namespace, desk: Desk) -> int:
    from webordinary.operations.cloud_setup import queues_of

    queues = await queues_of(desk.settings)
    if args.json:
        print_json(queues)
    elif queues:
        rows: list[list[Cell]] = [
            [queue.name, str(queue.waiting), str(queue.in_hand), str(queue.delayed)] for queue in queues
        ]
        print(table(("QUEUE", "WAITING", "IN HAND", "DELAYED"), rows))
    else:
        print(
            f"no queues begin with {desk.settings.cloud.prefix}- in this account and region: "
            "`webordinary cloud setup` makes them, or look at [cloud] prefix, AWS_REGION and the credentials"
        )
    return Exit.OK if queues else Exit.NO


async def _ownership(args: argparse.Namespace, desk: Desk) -> int:
    lanes = [lane for lane in await desk.lanes() if args.all or lane.worker is not None]
    now = desk.clock.now()
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


async def _executions(args: argparse.Namespace, desk: Desk) -> int:
    from webordinary.operations.cloud_setup import executions_of

    found = await executions_of(desk.settings, limit=args.limit, status=args.status)
    if args.json:
        print_json(found)
        return Exit.OK
    now = desk.clock.now()
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
