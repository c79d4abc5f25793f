"""Arguments that several commands share, and how they are read."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from enum import StrEnum

from webordinary.core.errors import BadInput
from webordinary.core.lane import Lane
from webordinary.wiring.settings import HANDLERS, TOP, Settings

LIST_MAX = 10_000
PORT_MAX = 65_535


def add_home(parser: argparse.ArgumentParser) -> None:
    """Every command: where the store is."""
    parser.add_argument(
        "--home",
        metavar="DIR",
        help="folder of the store and of webordinary.toml (default: WEBORDINARY_HOME, or your data folder)",
    )


def add_json(parser: argparse.ArgumentParser, what: str = "print JSON; times are seconds since 1970") -> None:
    """Every command that prints data: for scripts."""
    parser.add_argument("--json", action="store_true", help=what)


def add_common(parser: argparse.ArgumentParser) -> None:
    """Both of them."""
    add_home(parser)
    add_json(parser)


def add_lane(parser: argparse.ArgumentParser) -> None:
    """A lane by its name."""
    parser.add_argument(
        "lane", type=Lane.parse, metavar="PROJECT/USER", help="the lane, such as amelia/scott"
    )


def add_limit(parser: argparse.ArgumentParser, default: int) -> None:
    """How long a list may get."""
    parser.add_argument(
        "--limit",
        type=count,
        default=default,
        metavar="N",
        help=f"maximum number of rows (default: {default})",
    )


def add_state(parser: argparse.ArgumentParser, states: type[StrEnum], thing: str) -> None:
    """Only those in one state."""
    names = [state.value for state in states]
    parser.add_argument(
        "--state", choices=names, metavar="STATE", help=f"only {thing}s that are {', '.join(names)}"
    )


def add_before(parser: argparse.ArgumentParser, thing: str) -> None:
    """The next page of a list, newest first."""
    parser.add_argument(
        "--before",
        metavar=thing.upper(),
        help=f"next page: start before this {thing}",
    )


def add_work(parser: argparse.ArgumentParser, *, handler: str) -> None:
    """How a worker works: its slots and its handler."""
    parser.add_argument(
        "--slots",
        type=_slots,
        metavar="N",
        help="lanes served at once (default: 4)",
    )
    parser.add_argument(
        "--handler",
        choices=HANDLERS,
        help="what runs the jobs: site edits and publishes the project's site; for trials echo answers "
        "with the instruction, sleep takes as many seconds as it begins with, command runs PROGRAM "
        f"(default: {handler}, or command if there is a PROGRAM)",
    )
    parser.add_argument(
        "program",
        nargs="*",
        metavar="PROGRAM",
        help="after --, a program and its arguments. The instruction is its standard input. Exit code 0: "
        "done; 75: try again later; any other: failed. Its last lines are the answer",
    )


def chosen_work(args: argparse.Namespace, settings: Settings, *, handler: str) -> Settings:
    """Put the flags of `add_work` before the settings; the handler is the default one if none is chosen."""
    if args.program and args.handler not in (None, "command"):
        raise BadInput(f"a program was given, but --handler {args.handler} runs none: drop one of the two")
    command = tuple(args.program) or settings.command
    chosen = "command" if args.program else args.handler or settings.handler
    return replace(
        settings,
        slots=args.slots or settings.slots,
        handler=chosen or ("command" if command else handler),
        command=command,
    )


def seconds(text: str) -> float:
    """Read a length of time."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def count(text: str) -> int:
    """Read how many."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LIST_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {LIST_MAX}")
    return int(text)


def port(text: str) -> int:
    """Read a port's number; 0 is a free one."""
    if not (text.isascii() and text.isdigit() and int(text) <= PORT_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a whole number from 0 to {PORT_MAX}")
    return int(text)


def _slots(text: str) -> object:
    return TOP["slots"].from_text(text, "--slots")
