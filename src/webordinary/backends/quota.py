"""The arithmetic of token buckets: when a bucket will be full again, and by which moment that was said."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.ports.quotas import Bucket

TOKEN_KEPT_SECONDS = 7 * 24 * 3600.0  # a mail server gives up delivering again after five days
FORGET_AT_ONCE = 100  # bounded work per call
ROUNDING_SECONDS = 0.001  # the sum of many refills is not exact
SKEW_SECONDS = 600.0  # clocks of several machines differ by less; by more, a clock was set back


@dataclass(frozen=True, slots=True)
class Level:
    """How full a bucket is: `full_at - at` seconds are missing."""

    full_at: float
    at: float = 0.0  # when that was written; 0 where nobody noted it


def level(bucket: Bucket, known: Level | None, now: float) -> Level:
    """Say how full a bucket is now.

    A clock that was set back neither fills a bucket nor empties it: what was missing is missing, and is
    refilled from now on. A little earlier is another machine's clock, and counts as no time: else mails
    that alternate between two machines would be refilled by what their clocks differ.
    """
    if known is None:
        return Level(now, now)
    missing = max(known.full_at - known.at, 0.0)
    if now + SKEW_SECONDS < known.at:
        known = Level(now + missing, now)
    now = max(now, known.at)
    drained = now + bucket.burst * bucket.seconds_each  # a limit that was lowered makes it empty at worst
    return Level(min(max(known.full_at, now), drained), now)


def take_one(bucket: Bucket, found: Level) -> Level | None:
    """Take one; None if there is none left."""
    full_at = found.full_at + bucket.seconds_each
    drained = found.at + bucket.burst * bucket.seconds_each
    return Level(full_at, found.at) if full_at <= drained + ROUNDING_SECONDS else None
