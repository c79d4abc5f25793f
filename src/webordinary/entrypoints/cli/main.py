"""`webordinary`: finds the command, runs it, and turns what goes wrong into one sentence."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from webordinary import __version__
from webordinary.core.errors import WebordinaryError
from webordinary.entrypoints.cli.exits import Exit, exit_for

# One line a command; cli/NAME.py has `configure(parser)` and `run(args) -> int`, and is loaded when used.
COMMANDS = {
    "up": "bring up the whole system on this machine and keep it running",
    "demo": "play the three scenarios with real processes and say what was seen",
    "send": "send a mail in and follow it to the reply",
    "submit": "queue an instruction in a lane, and wait for its result if you like",
    "worker": "run one worker",
    "status": "show the pool, the jobs and the lanes that have work",
    "lanes": "list lanes: who holds each, and what it waits for",
    "jobs": "list jobs, newest first",
    "job": "show one job and what happened to it",
    "why": "say why a lane waits",
    "undo": "take back the last change of a lane, without asking a model",
    "redo": "bring back what was undone last",
    "publish": "make exactly what is previewed live",
    "interrupt": "ask the running job of a lane to stop",
    "release": "take a lane from its owner, or end its parking",
    "dead": "look after jobs whose attempts ran out",
    "onboard": "let somebody edit a site by mail",
    "offboard": "take the right to edit a site away",
    "members": "list sites, and who may edit them from which address",
    "gateway": "take mail in by SMTP and IMAP, and send replies",
    "ingest": "take raw mail in from a file, a Maildir or an mbox",
    "mails": "list what mail came in and what became of it, or show one",
    "cloud": "set the cloud up, try it with a mail, and look into it",
    "web": "serve the dashboard and the sites",
    "doctor": "check everything that a first run needs, and say how to fix it",
    "simulate": "run the real code on virtual time under faults, or search the protocol exhaustively",
}


class Formatter(argparse.HelpFormatter):
    """Help with its columns aligned: argparse forgets that the names of commands are indented further."""

    def add_argument(self, action: argparse.Action) -> None:
        """Leave room for the indent."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it is shown nowhere else
            self._action_max_length += self._indent_increment


class CommandParser(argparse.ArgumentParser):
    """A parser that loads its command when it is needed, so that every command starts fast."""

    def load(self) -> None:
        """Learn the command's arguments."""
        name = self.prog.split()[-1]
        if name in COMMANDS and self.get_default("run") is None:
            module = importlib.import_module(f"webordinary.entrypoints.cli.{name}")
            module.configure(self)
            self.set_defaults(run=module.run)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401 - as overloaded there
        """Load, then parse."""
        self.load()
        return super().parse_known_args(args, namespace)


def build_parser(width: int | None = None) -> CommandParser:
    """Make the parser of all commands; with a width, help is the same on every terminal."""
    shape: dict[str, Any] = {
        "formatter_class": partial(Formatter, width=width),
        "allow_abbrev": False,
    }
    parser = CommandParser(
        prog="webordinary",
        description="Generic workers claim lanes, serve each in order, and let go.",
        epilog="`webordinary COMMAND --help` tells more about a command.",
        **shape,
    )
    parser.add_argument("--version", action="version", version=f"webordinary {__version__}")
    commands = parser.add_subparsers(dest="name", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", **shape)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; say how it went by the exit code."""
    try:
        args = build_parser().parse_args(argv)
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except WebordinaryError as error:
        return _say(str(error), exit_for(error))
    except BrokenPipeError:
        return _reader_left()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        ours = first_of_ours(error)
        if ours is not None:
            return _say(str(ours), exit_for(ours))
        if os.environ.get("WEBORDINARY_DEBUG"):
            raise
        where = "this is a mistake in webordinary itself, and WEBORDINARY_DEBUG=1 shows where it is"
        return _say(f"{type(error).__name__}: {error}; {where}", Exit.BUG)


def first_of_ours(error: Exception) -> WebordinaryError | None:
    """Find the error that speaks for a group of loops that ended together, if all had one of ours."""
    if isinstance(error, ExceptionGroup) and error.split(WebordinaryError)[1] is None:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
    return error if isinstance(error, WebordinaryError) else None


def _say(sentence: str, code: Exit) -> int:
    with contextlib.suppress(OSError):
        print(f"webordinary: {sentence}", file=sys.stderr)
    return code


def _reader_left() -> int:
    """Whoever read our output has seen enough; that is no error. Nothing may be flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK
