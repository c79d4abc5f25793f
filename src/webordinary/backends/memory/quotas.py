"""Token buckets in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.quota import TOKEN_KEPT_SECONDS, can_spend, full_from
from webordinary.ports.clock import Clock
from webordinary.ports.quotas import Bucket


class MemoryQuotas:
    """See `Quotas`."""

    def __init__(self, clock: Clock) -> None:
        """Start with all buckets full."""
        self._clock = clock
        self._full_at: dict[str, float] = {}
        self._taken: dict[tuple[str, str], float] = {}  # when which token was taken from which bucket

    async def spend(self, buckets: Sequence[Bucket], token: str) -> Bucket | None:
        """See `Quotas.spend`."""
        now = self._clock.now()
        self._forget(now)
        unpaid = {bucket.key: bucket for bucket in buckets if (token, bucket.key) not in self._taken}
        for key, bucket in unpaid.items():
            self._full_at[key] = full_from(bucket, self._full_at.get(key), now)
            if not can_spend(bucket, self._full_at[key], now):
                return bucket
        for key, bucket in unpaid.items():
            self._full_at[key] += bucket.seconds_each
            self._taken[token, key] = now
        return None

    def _forget(self, now: float) -> None:
        self._full_at = {key: at for key, at in self._full_at.items() if at > now}
        self._taken = {taken: at for taken, at in self._taken.items() if at > now - TOKEN_KEPT_SECONDS}
