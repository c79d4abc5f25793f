"""Text from outside, made fit for a header or for a line that people read."""

from __future__ import annotations

import re

# Control characters (line ends included), line and paragraph separators, and the marks that turn the writing
# direction of all that follows them.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_UNFIT_BUT_LINE_ENDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n\s*\n")

ELLIPSIS = "…"


def one_line(text: str, most: int) -> str:
    """Make one line of at most so many characters: nothing in it can end a header."""
    return shortened(" ".join(_UNFIT.sub(" ", _encodable(text)).split()), most)


def first_line(text: str, most: int) -> str:
    """The first line that says something."""
    lines = (one_line(line, most) for line in _LINE_ENDS.sub("\n", text).split("\n"))
    return next((line for line in lines if line), "")


def several_lines(text: str, *, lines: int, characters: int) -> str:
    """Keep a text's lines, without blank ones, as many as a person reads on a phone."""
    plain = _UNFIT_BUT_LINE_ENDS.sub(" ", _LINE_ENDS.sub("\n", _encodable(text)))
    kept = _BLANK_LINES.sub("\n", plain).strip().split("\n")
    short = "\n".join(line.rstrip() for line in kept[:lines])
    return shortened(short if len(kept) <= lines else f"{short}\n{ELLIPSIS}", characters)


def items(text: str, *, most: int, characters: int) -> tuple[str, ...]:
    """Read a list of one item a line."""
    lines = (one_line(line, characters) for line in _LINE_ENDS.sub("\n", text).split("\n"))
    return bounded([line for line in lines if line], most)


def bounded(lines: list[str], most: int) -> tuple[str, ...]:
    """Keep so many items, and say how many more there were."""
    more = len(lines) - most
    return tuple(lines) if more <= 0 else (*lines[:most], f"and {more} more")


def shortened(text: str, most: int) -> str:
    """Cut a text that is too long, and show that it was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + ELLIPSIS


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
