"""`webordinary`: finds the command, runs it, and turns what goes wrong into one sentence."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from webordinary import __version__
from webordinary.core.errors import WebordinaryError
from webordinary.entrypoints.cli.output import Exit, exit_for

# Its module, loaded when it is used, has `configure_NAME(parser)` and `run_NAME(args) -> int`, which may be
# async: then it is also given a `Context`, an open store.
COMMANDS = {
    "up": "start the whole system on this machine and keep it running",
    "demo": "run the three scenarios with real processes and check each",
    "send": "send a mail and follow it to the reply",
    "submit": "queue an instruction in a lane, and optionally wait for its result",
    "worker": "run one worker",
    "status": "show the pool, the jobs and the lanes that have work",
    "lanes": "list lanes: who holds each, and what it waits for",
    "jobs": "list jobs, newest first",
    "job": "show one job and what happened to it",
    "why": "explain why a lane waits",
    "undo": "undo the last change of a lane, without asking a model",
    "redo": "bring back the last change that was undone",
    "publish": "make the preview live, exactly as it is",
    "interrupt": "ask the running job of a lane to stop",
    "release": "release a lane from its owner, or unpark it",
    "dead": "manage dead-letter jobs: those whose attempts ran out",
    "onboard": "let somebody edit a site by mail",
    "offboard": "remove somebody's right to edit a site",
    "members": "list sites, and who may edit them from which address",
    "gateway": "receive mail by SMTP and IMAP, and send replies",
    "ingest": "import raw mail from a file, a Maildir or an mbox",
    "mails": "list received mails and what became of each, or show one",
    "cloud": "set up the cloud, send a test mail, and inspect what is there",
    "web": "serve the dashboard and the sites",
    "doctor": "check everything that a first run needs, and say how to fix what is missing",
    "simulate": "run the real code on virtual time under faults, or search the protocol exhaustively",
}

MODULES = {  # of commands that share one; else the module has the command's name
    **dict.fromkeys(("undo", "redo", "publish"), "submit"),
    **dict.fromkeys(("why", "interrupt", "release"), "lanes"),
    **dict.fromkeys(("job", "dead"), "jobs"),
    **dict.fromkeys(("onboard", "offboard"), "members"),
    "ingest": "mails",
    "demo": "demo.command",
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
            module = importlib.import_module(f"webordinary.entrypoints.cli.{MODULES.get(name, name)}")
            getattr(module, f"configure_{name}")(self)
            run = getattr(module, f"run_{name}")
            if iscoroutinefunction(run):
                from webordinary.entrypoints.cli.context import in_context

                run = partial(in_context, ask=run)
            self.set_defaults(run=run)

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
        description="Edit web sites by e-mail: generic workers claim lanes, serve each in order, and let go.",
        epilog="`webordinary COMMAND --help` explains a command.",
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
        where = "this is a bug in webordinary, and WEBORDINARY_DEBUG=1 shows where"
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
