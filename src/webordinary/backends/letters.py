"""How a letter stands, and how that is told to people."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never


class LetterState(StrEnum):
    """Where a letter stands."""

    OWED = "owed"
    SENT = "sent"
    ABANDONED = "abandoned"


def standing(state: LetterState, *, held_by: str | None, message_id: str, reason: str) -> str:
    """Say in a few words how a letter stands."""
    match state:
        case LetterState.SENT:
            return f"sent as {message_id}"
        case LetterState.ABANDONED:
            return f"abandoned: {reason}"
        case LetterState.OWED if held_by is not None:
            return f"with {held_by}"
        case LetterState.OWED:
            return f"owed, after a failure: {reason}" if reason else "owed"
        case _:
            assert_never(state)
