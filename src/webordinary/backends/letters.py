"""When a letter that is owed may be sent."""

from __future__ import annotations

from webordinary.core.limits import believable

# No letter waits longer for its next try, and no sender holds one longer.
WAIT_MOST_SECONDS, HOLD_MOST_SECONDS = 2 * 3600.0, 1800.0


def held_until(now: float, seconds: float) -> float:
    """Until when a letter is given to nobody else."""
    return now + min(seconds, HOLD_MOST_SECONDS)


def put_off_until(now: float, seconds: float) -> float:
    """When a letter that is put off by so many seconds is due."""
    return now + min(seconds, WAIT_MOST_SECONDS)


def is_due(due_at: float, now: float, *, held: bool) -> bool:
    """Say whether a letter may be given to a sender."""
    return believable(due_at, now + (HOLD_MOST_SECONDS if held else WAIT_MOST_SECONDS)) <= now
