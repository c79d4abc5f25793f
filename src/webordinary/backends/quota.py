"""The arithmetic of token buckets: one number a bucket, the moment when it will be full again."""

from __future__ import annotations

from webordinary.ports.quotas import Bucket

TOKEN_KEPT_SECONDS = 7 * 24 * 3600.0  # a mail server gives up delivering again after five days
FORGET_AT_ONCE = 100  # bounded work per call
_ROUNDING = 1e-6  # seconds: the sum of a bucket's refills is not exact


def full_after_spending(bucket: Bucket, full_at: float | None, now: float) -> float | None:
    """Say when the bucket is full again if one is taken now; None if it is empty.

    A clock that was set back makes a bucket empty at worst, never emptier.
    """
    drained_until = now + bucket.burst * bucket.seconds_each
    full_at = min(max(full_at or now, now), drained_until)
    spent = full_at + bucket.seconds_each
    return spent if spent <= drained_until + _ROUNDING else None
