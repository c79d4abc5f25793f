"""Sending mail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Sent:
    """The message is with the next server, or in the folder."""


@dataclass(frozen=True, slots=True)
class TryLater:
    """It is not; another try may help."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """It is not, and will not be."""

    reason: str


class Mailer(Protocol):
    """Hands one finished message over."""

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater | Rejected:
        """Hand the message over. `key` is unique per letter: a second send with the same key is one mail.

        `return_path` is where a report goes if it can't be delivered; "": where the mailer says.
        """
        ...


class SentLetters(Mailer, Protocol):
    """Letters that stay where we can read them: what went out, for whoever looks."""

    async def copy(self, key: str) -> bytes | None:
        """Read what was sent under this key; None if nothing is here."""
        ...
