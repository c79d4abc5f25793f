"""What commands print: tables, colours, JSON, commands to type, and the exit code."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Self, TextIO

from webordinary.core.errors import BackendUnavailable, BadInput, NotAllowed, NotFound, WebordinaryError
from webordinary.core.job import JobState
from webordinary.core.json_codec import to_json
from webordinary.core.text import one_line
from webordinary.core.waiting import MOVING, QUIET, Cause, span
from webordinary.wiring.settings import home_folder

NAME = "webordinary"

RED, GREEN, YELLOW, BLUE, FAINT, BOLD = "31", "32", "33", "36", "2", "1"
STATE_COLOURS = {
    JobState.RUNNING: BLUE,
    JobState.RETRYING: YELLOW,
    JobState.DONE: GREEN,
    JobState.FAILED: RED,
    JobState.PREEMPTED: YELLOW,
    JobState.DEAD: RED,
    JobState.DROPPED: FAINT,
}
LINE_CHARACTERS = 200  # of what strangers wrote, in a list
LINE_CHARACTERS = 200  # of what strangers wrote, in a list
LAST_COLUMN_CHARACTERS = 20  # shorter than this it says nothing


def has_colours(stream: TextIO) -> bool:
    """Colours are for terminals, and for people who did not say no (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, *colours: str, stream: TextIO | None = None) -> str:
    """Colour a text, where that is wanted."""
    if not text or not any(colours) or not has_colours(stream or sys.stdout):
        return text
    return f"\x1b[{';'.join(filter(None, colours))}m{text}\x1b[0m"


def state_colour(state: JobState) -> str:
    """The colour of a job's state."""
    return STATE_COLOURS.get(state, "")


def cause_colour(cause: Cause) -> str:
    """Quiet, moving, or worth a look."""
    if cause in QUIET:
        return FAINT
    return BLUE if cause in MOVING else YELLOW


def clean(text: str) -> str:
    """Take out what a terminal would obey: what jobs say comes from strangers."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def indented(text: str, spaces: int = 4) -> str:
    """Set a text off from what surrounds it."""
    return "\n".join(" " * spaces + line for line in clean(text).splitlines())


def ago(at: float | None, now: float) -> str:
    """Write how long ago something was."""
    return "-" if at is None else f"{span(now - at)} ago"


Cell = str | tuple[str, str]  # a text, or a text and its colour


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], indent: str = "") -> str:
    """Align columns; the last one is cut to fit a terminal."""
    cells = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
    widths = [
        max(len(title), *(len(row[column][0]) for row in cells)) if cells else len(title)
        for column, title in enumerate(head)
    ]
    room = _room_for_last(widths, indent)
    lines = [indent + _line([(title, FAINT) for title in head], widths, room)]
    lines += [indent + _line(row, widths, room) for row in cells]
    return "\n".join(lines)


def _room_for_last(widths: Sequence[int], indent: str) -> int:
    if not sys.stdout.isatty():
        return 10_000
    taken = len(indent) + sum(widths[:-1]) + 2 * (len(widths) - 1)
    return max(shutil.get_terminal_size().columns - taken, LAST_COLUMN_CHARACTERS)


def _line(cells: Sequence[tuple[str, str]], widths: Sequence[int], room: int) -> str:
    *front, (last, colour) = cells
    parts = [
        painted(text, tint) + " " * (width - len(text))
        for (text, tint), width in zip(front, widths, strict=False)
    ]
    return "  ".join([*parts, painted(one_line(last, room), colour)]).rstrip()


# --- JSON -----------------------------------------------------------------------------------------


def print_json(value: object, *, lines: bool = False) -> None:
    """Print a value as JSON; as one line where there are many."""
    print(json.dumps(to_json(value), indent=None if lines else 2), flush=lines)


def show(args: argparse.Namespace, value: object, words: str, code: Exit | None = None) -> Exit:
    """Print a value for scripts, or its words for people; give the exit code."""
    if args.json:
        print_json(value)
    elif words:
        print(words)
    return Exit.OK if code is None else code


def own_command() -> list[str]:
    """The words that start this very program again, whatever folder we stand in."""
    return [sys.executable, "-P", "-m", NAME]


def typed(*words: str, home: Path | None = None) -> str:
    """A command to type: as short as it can be, with --home only where it is needed."""
    where = [] if home is None or home == home_folder(None) else ["--home", str(home)]
    return shlex.join([_shortest_name(), *words, *where]).replace(f"'{_shortest_name()}'", _shortest_name())


def _shortest_name() -> str:
    called = Path(sys.argv[0])
    if called.name != NAME:
        called = Path(sys.executable).with_name(NAME)
    if not called.exists():
        return f"{sys.executable} -m {NAME}"
    found = shutil.which(NAME)
    if found and Path(found).exists() and Path(found).samefile(called):
        return NAME
    relative = os.path.relpath(called)
    return relative if len(relative) < len(str(called.absolute())) else str(called.absolute())


class Exit(IntEnum):
    """Every exit code of every command."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Keep the meaning beside the code."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "success; with `--wait`, the job is done"
    NO = 1, "a negative answer: the job failed, there was nothing to stop, or a check failed"
    USAGE = 2, "invalid command line, input or setting; nothing was changed"
    STORE = 3, "the store could not be used: busy, full, unreadable or of another version"
    REFUSED = 4, "not found, or not possible in its current state"
    PREEMPTED = 5, "with `--wait`: the job was interrupted by a newer one"
    DEAD = 6, "with `--wait`: the job is a dead letter, or was dropped as one"
    RUNNING = (
        7,
        "with `--wait`: timed out while the job was running or waiting for another attempt",
    )
    UNCLAIMED = 8, "with `--wait`: timed out before a worker picked the job up"
    BUG = 70, "a bug in webordinary; WEBORDINARY_DEBUG=1 shows the traceback"
    INTERRUPTED = 130, "Ctrl-C"


def exit_of(state: JobState) -> Exit:
    """Tell how a job stands by an exit code."""
    match state:
        case JobState.DONE:
            return Exit.OK
        case JobState.FAILED:
            return Exit.NO
        case JobState.PREEMPTED:
            return Exit.PREEMPTED
        case JobState.DEAD | JobState.DROPPED:
            return Exit.DEAD
        case JobState.RUNNING | JobState.RETRYING:
            return Exit.RUNNING
        case JobState.QUEUED:
            return Exit.UNCLAIMED


def exit_for(error: WebordinaryError) -> Exit:
    """Tell an error of ours by an exit code."""
    match error:
        case BadInput():
            return Exit.USAGE
        case NotFound() | NotAllowed():
            return Exit.REFUSED
        case BackendUnavailable():
            return Exit.STORE
        case _:
            return Exit.NO
