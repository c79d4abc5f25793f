"""The arithmetic of token buckets: one number a bucket, the moment when it will be full again."""

from __future__ import annotations

from webordinary.ports.quotas import Bucket

TOKEN_KEPT_SECONDS = 7 * 24 * 3600.0  # a mail server gives up delivering again after five days
FORGET_AT_ONCE = 100  # bounded work per call
ROUNDING_SECONDS = 0.001  # the sum of many refills is not exact


def full_from(bucket: Bucket, full_at: float | None, now: float) -> float:
    """Say when the bucket is full again. A clock that was set back makes it empty, never emptier."""
    drained = now + bucket.burst * bucket.seconds_each
    return min(max(full_at or now, now), drained)


def can_spend(bucket: Bucket, full_at: float, now: float) -> bool:
    """Whether there is one left to take."""
    return full_at + bucket.seconds_each <= now + bucket.burst * bucket.seconds_each + ROUNDING_SECONDS
