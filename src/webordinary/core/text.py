"""Text from mails and programs, made fit to be stored and to be shown on one line."""

from __future__ import annotations

import re

# Control characters (line ends included), separators, and marks that can't be seen or turn the writing
# direction of what follows them. Joiners stay: they make words of Persian and families of emoji.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


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
    line = " ".join(storable(_UNFIT.sub(" ", text)).split())
    return line if most is None else shortened(line, most)


def shortened(text: str, most: int) -> str:
    """Cut a text that is too long, and show that it was cut."""
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"
