"""`webordinary interrupt`: stop what runs in a lane; the lane goes on with its next job."""

from __future__ import annotations

import argparse

from webordinary.entrypoints.cli.arguments import add_common, add_lane
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "What the job has done so far is kept; it ends as preempted and does not come back."
    add_lane(parser)
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Interrupt."""
    return at_desk(args, _interrupt)


async def _interrupt(args: argparse.Namespace, desk: Desk) -> int:
    job = await desk.backend.control.interrupt(args.lane)
    if args.json:
        print_json({"lane": args.lane, "job": job})
    elif job:
        print(f"job {job} of {args.lane} is asked to stop; the lane goes on with its next job")
    else:
        print(f"nothing runs in {args.lane}; nothing was changed")
    return Exit.OK if job else Exit.NO
