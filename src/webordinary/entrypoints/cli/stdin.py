"""A process that shall not outlive whoever started it watches its standard input."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable

from webordinary.core.errors import BadInput


def add_until_stdin_closes(parser: argparse.ArgumentParser) -> None:
    """Declare the flag."""
    parser.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help="leave when standard input closes, so that it does not outlive whoever started it",
    )


def when_stdin_closes(then: Callable[[], None]) -> None:
    """Call this when standard input closes."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def look() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            then()

    try:
        loop.add_reader(descriptor, look)
    except (OSError, ValueError) as error:
        raise BadInput("--until-stdin-closes needs a pipe or a terminal as standard input") from error
