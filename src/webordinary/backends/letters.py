"""When a letter that is owed may be sent."""

from __future__ import annotations

# No letter waits longer for its next try. One that is due later was put off by a clock that was set back
# since, and is due now.
WAIT_MOST_SECONDS = 2 * 3600.0


def due_moment(now: float, seconds: float) -> float:
    """When a letter that is put off by so many seconds is due."""
    return now + min(seconds, WAIT_MOST_SECONDS)


def is_due(due_at: float, now: float) -> bool:
    """Say whether a letter may be given to a sender."""
    return due_at <= now or due_at > now + WAIT_MOST_SECONDS
