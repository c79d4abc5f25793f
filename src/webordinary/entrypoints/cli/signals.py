"""When a long-running command is to leave: on a signal, or with whoever started it."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable

from webordinary.core.errors import BadInput


def add_until_stdin_closes(parser: argparse.ArgumentParser) -> None:
    """Declare the flag."""
    parser.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help="exit when standard input closes, so that it does not outlive its parent process",
    )


def leave_event(*, until_stdin_closes: bool) -> asyncio.Event:
    """Set when somebody wants this process to leave."""
    leave, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave.set)
    if until_stdin_closes:
        when_stdin_closes(leave.set)
    return leave


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
