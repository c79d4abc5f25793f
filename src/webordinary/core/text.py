"""Text from mails and programs, made fit to be stored and to be shown on one line."""

from __future__ import annotations

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # not Cn: emoji may be newer than this Python's tables
_JOINERS = "\u200c\u200d"  # they make words of Persian, and families of emoji


def is_storable(text: str) -> bool:
    """Say whether a text has neither a NUL nor half of a surrogate pair."""
    if text.isascii():  # nearly always, and this runs several times a job
        return "\x00" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def storable(text: str) -> str:
    """Replace what some store could not keep by question marks."""
    if text.isascii() and "\x00" not in text:  # nearly always, and this runs many times a mail
        return text
    return text.replace("\x00", "?").encode(errors="replace").decode()


def one_line(text: str, most: int | None = None) -> str:
    """Make one line, of at most so many characters: nothing in it can end a header or a line of a log."""
    line = " ".join(text.split())
    if not line.isprintable():
        seen = (
            char if char in _JOINERS or unicodedata.category(char) not in _UNSEEN else " " for char in line
        )
        line = " ".join("".join(seen).split())
    return line if most is None else shortened(line, most)


def shortened(text: str, most: int) -> str:
    """Cut a text that is too long, and show that it was cut."""
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"
