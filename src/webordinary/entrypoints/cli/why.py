"""`webordinary why`: one reason for each lane."""

from __future__ import annotations

import argparse

from webordinary.core.lane import Lane
from webordinary.core.views import LaneView
from webordinary.core.waiting import ESTIMATED, Reason, span
from webordinary.entrypoints.cli.arguments import add_common
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.lanes import as_json
from webordinary.entrypoints.cli.words import BOLD, cause_colour, painted, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "lane",
        nargs="?",
        type=Lane.parse,
        metavar="PROJECT/USER",
        help="the lane (default: every lane that has work)",
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Say why."""
    return at_desk(args, _why)


async def _why(args: argparse.Namespace, desk: Desk) -> int:
    if args.lane:
        lanes = [await desk.backend.ledger.lane(args.lane)]
    else:
        lanes = [lane for lane in await desk.lanes(busy=True) if lane.depth]
    reasons = await desk.reasons(lanes)
    if args.json:
        found = [as_json(lane, reason) for lane, reason in reasons]
        print_json(found[0] if args.lane else found)
    else:
        now = desk.clock.now()
        print("\n".join(in_words(lane, reason, now) for lane, reason in reasons) or "no lane has work")
    return Exit.OK


def in_words(lane: LaneView, reason: Reason, now: float) -> str:
    """A lane and its reason in one line."""
    cause = painted(reason.cause.value, cause_colour(reason.cause))
    behind = f" ({lane.depth} in line)" if lane.depth else ""
    latest = ""
    if reason.cause in ESTIMATED and reason.until is not None:
        latest = f"; at the latest in {span(reason.until - now)}"
    dead = f"; {lane.dead} dead, see `webordinary dead list`" if lane.dead else ""
    return f"{painted(str(lane.lane), BOLD)}  {cause}{behind}: {reason.text}{latest}{dead}"
