"""Where a letter comes back to if it can't be delivered: an address of ours that names the letter, signed.

`edit+{mail}-{kind}.{signature}@example.com`: the mail that was answered, and the first letters of the kind of
letter. A report that comes back to such an address is about that letter; to any other it says nothing.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

from webordinary.core.mail import LetterKind, MailId
from webordinary.core.session_token import LOCAL_PART_CHARACTERS, lengthened_id, shortened_id, signature

KIND_CHARACTERS = 3
_PURPOSE = b"webordinary return path\x00"
_LETTER = re.compile(r"([a-z0-9]{1,32})-([a-z]{3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SentLetter:
    """A letter by the mail that it answers and its kind."""

    mail: MailId
    kind: LetterKind

    def __str__(self) -> str:
        """Name it."""
        return f"{self.kind} about {self.mail}"


def return_path(letter: SentLetter, key: bytes, address: str) -> str:
    """Put a letter's name into our address; where that makes none, the address as it is."""
    name = f"{shortened_id(letter.mail)}-{letter.kind[:KIND_CHARACTERS]}"
    local, _, domain = address.rpartition("@")
    signed = f"{local}+{name}.{signature(name, key, _PURPOSE)}"
    fits = len(signed) <= LOCAL_PART_CHARACTERS and _LETTER.fullmatch(name)
    return f"{signed}@{domain}" if fits else address


def letter_from_addresses(recipients: Iterable[str], key: bytes) -> SentLetter | None:
    """Read which letter came back to one of these addresses; None if we signed none of them."""
    return next((letter for one in recipients if (letter := _letter(one, key))), None)


def _letter(address: str, key: bytes) -> SentLetter | None:
    name, _, signed = address.strip("<> ").rpartition("@")[0].rpartition("+")[2].lower().rpartition(".")
    found = _LETTER.fullmatch(name)
    if (
        found is None
        or not signed.isascii()
        or not hmac.compare_digest(signed, signature(name, key, _PURPOSE))
    ):
        return None
    kind = next((kind for kind in LetterKind if kind.startswith(found[2])), None)
    return SentLetter(lengthened_id(found[1]), kind) if kind else None
