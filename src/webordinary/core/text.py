"""Text that every store can keep. Mails and programs may contain what is none."""

from __future__ import annotations


def is_storable(text: str) -> bool:
    """Say whether a text has neither a NUL nor half of a surrogate pair."""
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
