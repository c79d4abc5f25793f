"""How a letter stands, and how that is told to people."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

# No letter waits longer for its next try. One that is due later was put off by a clock that was set back
# since, and is due now.
WAIT_MOST_SECONDS = 2 * 3600.0


def due_moment(now: float, seconds: float) -> float:
    """When a letter that is put off by so many seconds is due."""
    return now + min(seconds, WAIT_MOST_SECONDS)


def is_due(due_at: float, now: float) -> bool:
    """Say whether a letter may be given to a sender."""
    return due_at <= now or due_at > now + WAIT_MOST_SECONDS


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
