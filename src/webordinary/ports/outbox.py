"""Replies that are owed. Stored with what they are about, sent once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, assert_never

from webordinary.core.mail import Letter, LetterKind


class LetterState(StrEnum):
    """Where a letter stands."""

    OWED = "owed"
    SENT = "sent"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class LetterStatus:
    """Where a letter stands, and why; as text, for people."""

    state: LetterState
    held_by: str | None = None  # the sender that has it in hand
    message_id: str = ""
    reason: str = ""

    def __str__(self) -> str:
        """Say it in a few words."""
        match self.state:
            case LetterState.SENT:
                return f"sent as {self.message_id}"
            case LetterState.ABANDONED:
                return f"abandoned: {self.reason}"
            case LetterState.OWED if self.held_by is not None:
                return f"with {self.held_by}"
            case LetterState.OWED:
                return f"owed, after a failure: {self.reason}" if self.reason else "owed"
            case _:
                assert_never(self.state)


class Outbox(Protocol):
    """Letters by what they are about and their kind; the pair is unique for ever.

    The broker owes letters itself, in one step with what they tell: when a job that wants replies is accepted
    (facts: `Accepted`; due after `acknowledge_seconds`: its end may come first), and when it ends (facts:
    `Ending`). `owe` is for everything else.
    """

    async def owe(self, letter: Letter) -> bool:
        """Owe a letter; False, and no change, if this one was owed before."""
        ...

    async def take(self, sender: str, *, limit: int, hold: float, wait: float) -> list[Letter]:
        """Take letters that are due, longest due first; for `hold` seconds they are given to nobody else.

        `wait` is a long poll. A sender that dies gives its letters back by the end of their hold.
        """
        ...

    async def sent(self, letter: Letter, message_id: str) -> None:
        """The letter is out, whoever says so and however late; it is never given to anybody again."""
        ...

    async def postpone(self, letter: Letter, seconds: float, reason: str) -> None:
        """Sending failed; give the letter to somebody again after so many seconds.

        No effect if it was taken by somebody else since.
        """
        ...

    async def abandon(self, letter: Letter, reason: str) -> None:
        """The letter can't be sent or must not be; it is kept for the operator.

        No effect if it was taken by somebody else since.
        """
        ...

    async def letters(
        self, *, limit: int, about: str | None = None, before: tuple[str, LetterKind] | None = None
    ) -> list[tuple[Letter, LetterStatus]]:
        """List letters, newest first, each with how it stands.

        `before` names the last one of the page before, by what it is about and its kind.
        """
        ...
