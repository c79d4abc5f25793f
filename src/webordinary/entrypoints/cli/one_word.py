"""What `publish`, `undo` and `redo` share: one word for the lane of somebody who may edit the site."""

from __future__ import annotations

import argparse

from webordinary.core.job import Intent
from webordinary.dispatch.submit import Request
from webordinary.entrypoints.cli.arguments import add_common, add_lane
from webordinary.entrypoints.cli.desk import at_desk
from webordinary.entrypoints.cli.submit import add_wait, submit_and_wait


def configure_word(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command that submits one word."""
    add_lane(parser)
    add_wait(parser)
    add_common(parser)


def run_word(args: argparse.Namespace, word: Intent) -> int:
    """Submit one word, as a mail of one word would."""
    args.request = Request(args.lane, intent=word)
    return at_desk(args, submit_and_wait)
