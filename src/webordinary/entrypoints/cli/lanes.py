"""`webordinary lanes`: who holds each lane, and what it waits for."""

from __future__ import annotations

import argparse

from webordinary.core.lane import Lane
from webordinary.core.to_json import to_json
from webordinary.core.views import LaneView
from webordinary.core.waiting import Reason
from webordinary.entrypoints.cli.arguments import add_common, add_limit
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import RED, Cell, cause_colour, print_json, table

HEAD = ("LANE", "STATE", "JOBS", "DEAD", "OWNER", "FENCE", "WHY")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_limit(parser, 50)
    parser.add_argument(
        "--after",
        type=Lane.parse,
        metavar="PROJECT/USER",
        help="go on after this lane: the last one of the page before",
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """List."""
    return at_desk(args, _list)


async def _list(args: argparse.Namespace, desk: Desk) -> int:
    lanes = await desk.reasons(await desk.backend.ledger.lanes(limit=args.limit, after=args.after))
    if args.json:
        print_json([as_json(lane, reason) for lane, reason in lanes])
    elif lanes:
        now = desk.clock.now()
        print(table(HEAD, [_row(lane, reason, now) for lane, reason in lanes]))
    else:
        print("no lanes" + (f" after {args.after}" if args.after else " yet: the first submit makes one"))
    return Exit.OK


def as_json(lane: LaneView, reason: Reason) -> dict[str, object]:
    """A lane with its reason."""
    fields = to_json(lane)
    assert isinstance(fields, dict)
    return {**fields, "why": to_json(reason)}


def _row(lane: LaneView, reason: Reason, now: float) -> list[Cell]:
    owner = lane.worker if lane.worker and lane.owned_at(now) else "-"
    dead: Cell = (str(lane.dead), RED) if lane.dead else "-"
    state = (reason.cause.value, cause_colour(reason.cause))
    return [
        str(lane.lane),
        state,
        f"{lane.depth:,}" if lane.depth else "-",
        dead,
        owner,
        str(lane.fence),
        reason.text,
    ]
