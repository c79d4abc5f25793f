"""What `publish`, `undo` and `redo` share: one word for the lane of somebody who may edit the site."""

from __future__ import annotations

import argparse

from webordinary.core.job import Arrival, Intent
from webordinary.dispatch.submitting import Request, project_of_member
from webordinary.entrypoints.cli.arguments import add_common, add_lane
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.submit import add_wait, submit_and_wait


def configure_word(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command that submits one word."""
    add_lane(parser)
    add_wait(parser)
    add_common(parser)


def run_word(args: argparse.Namespace, word: Intent) -> int:
    """Submit one word, as a mail of one word would; it waits behind what runs."""
    args.request = Request(args.lane, word.value, arrival=Arrival.QUEUE, intent=word)
    return at_desk(args, _submit)


async def _submit(args: argparse.Namespace, desk: Desk) -> int:
    """Refuse a lane that is nobody's: there is nothing in it, and asking would make one."""
    await project_of_member(desk.backend.directory, args.lane)
    return await submit_and_wait(args, desk)
