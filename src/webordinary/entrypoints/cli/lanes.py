"""`webordinary lanes`, `why`, `interrupt` and `release`: who holds a lane, why it waits, and taking it."""

from __future__ import annotations

import argparse

from webordinary.core.lane import Lane
from webordinary.core.to_json import to_json
from webordinary.core.views import LaneView
from webordinary.core.waiting import ESTIMATED, Reason, span
from webordinary.entrypoints.cli.arguments import add_common, add_lane, add_limit
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.output import BOLD, RED, Cell, Exit, cause_colour, painted, print_json, table

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


def run_lanes(args: argparse.Namespace) -> int:
    """List."""
    return in_context(args, _lanes)


async def _lanes(args: argparse.Namespace, context: Context) -> int:
    lanes = await context.reasons(await context.backend.ledger.lanes(limit=args.limit, after=args.after))
    if args.json:
        print_json([as_json(lane, reason) for lane, reason in lanes])
    elif lanes:
        now = context.clock.now()
        print(table(LANES_HEAD, [_lane_row(lane, reason, now) for lane, reason in lanes]))
    else:
        print("no lanes" + (f" after {args.after}" if args.after else " yet: the first submit makes one"))
    return Exit.OK


def as_json(lane: LaneView, reason: Reason) -> dict[str, object]:
    """A lane with its reason."""
    fields = to_json(lane)
    assert isinstance(fields, dict)
    return {**fields, "why": to_json(reason)}


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


def run_why(args: argparse.Namespace) -> int:
    """Say why."""
    return in_context(args, _why)


async def _why(args: argparse.Namespace, context: Context) -> int:
    if args.lane:
        lanes = [await context.backend.ledger.lane(args.lane)]
    else:
        lanes = [lane for lane in await context.lanes(busy=True) if lane.depth]
    reasons = await context.reasons(lanes)
    if args.json:
        found = [as_json(lane, reason) for lane, reason in reasons]
        print_json(found[0] if args.lane else found)
    else:
        now = context.clock.now()
        print("\n".join(_why_in_words(lane, reason, now) for lane, reason in reasons) or "no lane has work")
    return Exit.OK


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


def run_interrupt(args: argparse.Namespace) -> int:
    """Interrupt."""
    return in_context(args, _interrupt)


async def _interrupt(args: argparse.Namespace, context: Context) -> int:
    job = await context.backend.control.interrupt(args.lane)
    if args.json:
        print_json({"lane": args.lane, "job": job})
    elif job:
        print(f"job {job} of {args.lane} is asked to stop; the lane goes on with its next job")
    else:
        print(f"nothing runs in {args.lane}; nothing was changed")
    return Exit.OK if job else Exit.NO


def configure_release(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "For a worker that is stuck, or a lane that is parked. A job that runs there is killed and delivered "
        "again to the next owner; nothing is lost."
    )
    add_lane(parser)
    add_common(parser)


def run_release(args: argparse.Namespace) -> int:
    """Release."""
    return in_context(args, _release)


async def _release(args: argparse.Namespace, context: Context) -> int:
    before = await context.backend.ledger.lane(args.lane)
    was_parked = before.parked_until is not None and before.parked_until > context.clock.now()
    released = await context.backend.control.evict(args.lane)
    if args.json:
        print_json({"lane": args.lane, "released": released, "from": before.worker, "was_parked": was_parked})
    elif released:
        print(
            f"{args.lane} was taken from {before.worker}"
            + ("; a new owner is asked for" if before.depth else "")
        )
    else:
        print(
            f"nobody held {args.lane}"
            + ("; it is no longer parked" if was_parked else "; nothing was changed")
        )
    return Exit.OK if released or was_parked else Exit.NO
