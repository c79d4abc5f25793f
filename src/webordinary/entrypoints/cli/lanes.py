"""`webordinary lanes`, `why`, `interrupt` and `release`: who holds a lane, why it waits, and taking it."""

from __future__ import annotations

import argparse

from webordinary.core.json_codec import fields
from webordinary.core.lane import Lane
from webordinary.core.views import LaneView
from webordinary.core.waiting import ESTIMATED, Reason, span
from webordinary.entrypoints.cli.arguments import add_common, add_lane, add_limit
from webordinary.entrypoints.cli.context import Context
from webordinary.entrypoints.cli.output import (
    BOLD,
    RED,
    Cell,
    Exit,
    cause_colour,
    painted,
    show,
    table,
)

LANES_HEAD = ("LANE", "STATE", "JOBS", "DEAD", "OWNER", "FENCE", "WHY")


def configure_lanes(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_limit(parser, 50)
    parser.add_argument(
        "--after",
        type=Lane.parse,
        metavar="PROJECT/USER",
        help="next page: start after this lane",
    )
    add_common(parser)


async def run_lanes(args: argparse.Namespace, context: Context) -> int:
    """List."""
    lanes = await context.reasons(await context.backend.ledger.lanes(limit=args.limit, after=args.after))
    now = context.clock.now()
    none = "no lanes" + (f" after {args.after}" if args.after else " yet: the first submit makes one")
    words = table(LANES_HEAD, [_lane_row(lane, reason, now) for lane, reason in lanes]) if lanes else none
    return show(args, [as_json(lane, reason) for lane, reason in lanes], words)


def as_json(lane: LaneView, reason: Reason) -> dict[str, object]:
    """A lane with its reason."""
    return {**fields(lane), "why": fields(reason)}


def _lane_row(lane: LaneView, reason: Reason, now: float) -> list[Cell]:
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


def configure_why(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "lane",
        nargs="?",
        type=Lane.parse,
        metavar="PROJECT/USER",
        help="the lane (default: every lane that has work)",
    )
    add_common(parser)


async def run_why(args: argparse.Namespace, context: Context) -> int:
    """Say why."""
    if args.lane:
        lanes = [await context.backend.ledger.lane(args.lane)]
    else:
        lanes = [lane for lane in await context.lanes(busy=True) if lane.depth]
    reasons = await context.reasons(lanes)
    found, now = [as_json(lane, reason) for lane, reason in reasons], context.clock.now()
    words = "\n".join(_why_in_words(lane, reason, now) for lane, reason in reasons) or "no lane has work"
    return show(args, found[0] if args.lane else found, words)


def _why_in_words(lane: LaneView, reason: Reason, now: float) -> str:
    """A lane and its reason in one line."""
    cause = painted(reason.cause.value, cause_colour(reason.cause))
    behind = f" ({lane.depth} in line)" if lane.depth else ""
    latest = ""
    if reason.cause in ESTIMATED and reason.until is not None:
        latest = f"; at the latest in {span(reason.until - now)}"
    dead = f"; {lane.dead} dead, see `webordinary dead list`" if lane.dead else ""
    return f"{painted(str(lane.lane), BOLD)}  {cause}{behind}: {reason.text}{latest}{dead}"


def configure_interrupt(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "What the job has done so far is kept; it ends as preempted and does not come back."
    add_lane(parser)
    add_common(parser)


async def run_interrupt(args: argparse.Namespace, context: Context) -> int:
    """Interrupt."""
    job = await context.backend.control.interrupt(args.lane)
    stopped = f"job {job} of {args.lane} is asked to stop; the lane goes on with its next job"
    words = stopped if job else f"nothing runs in {args.lane}; nothing was changed"
    return show(args, {"lane": args.lane, "job": job}, words, Exit.OK if job else Exit.NO)


def configure_release(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "For a worker that is stuck, or a lane that is parked. A job that runs there is killed and delivered "
        "again to the next owner; nothing is lost."
    )
    add_lane(parser)
    add_common(parser)


async def run_release(args: argparse.Namespace, context: Context) -> int:
    """Release."""
    before = await context.backend.ledger.lane(args.lane)
    was_parked = before.parked_until is not None and before.parked_until > context.clock.now()
    released = await context.backend.control.evict(args.lane)
    if released:
        words = f"{args.lane} was taken from {before.worker}"
        words += "; a new owner is asked for" if before.depth else ""
    else:
        words = f"nobody held {args.lane}; " + (
            "it is no longer parked" if was_parked else "nothing was changed"
        )
    value = {"lane": args.lane, "released": released, "from": before.worker, "was_parked": was_parked}
    return show(args, value, words, Exit.OK if released or was_parked else Exit.NO)
