"""`webordinary release`: take a lane from its owner."""

from __future__ import annotations

import argparse

from webordinary.entrypoints.cli.arguments import add_common, add_lane
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "For a worker that is stuck, or a lane that is parked. A job that runs there is killed and delivered "
        "again to the next owner; nothing is lost."
    )
    add_lane(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Release."""
    return at_desk(args, _release)


async def _release(args: argparse.Namespace, desk: Desk) -> int:
    before = await desk.backend.ledger.lane(args.lane)
    was_parked = before.parked_until is not None and before.parked_until > desk.clock.now()
    released = await desk.backend.control.evict(args.lane)
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
