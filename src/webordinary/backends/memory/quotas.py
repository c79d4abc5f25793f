"""Token buckets in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.quota import TOKEN_KEPT_SECONDS, Level, level, take_one
from webordinary.ports.clock import Clock
from webordinary.ports.quotas import Bucket


class MemoryQuotas:
    """See `Quotas`."""

    def __init__(self, clock: Clock) -> None:
        """Start with all buckets full."""
        self._clock = clock
        self._levels: dict[str, Level] = {}
        self._taken: dict[tuple[str, str], float] = {}  # when which token was taken from which bucket

    async def spend(self, buckets: Sequence[Bucket], token: str) -> Bucket | None:
        """See `Quotas.spend`."""
        now = self._clock.now()
        self._forget(now)
        unpaid = {bucket.key: bucket for bucket in buckets if (token, bucket.key) not in self._taken}
        left: dict[str, Level] = {}
        for key, bucket in unpaid.items():
            self._levels[key] = level(bucket, self._levels.get(key), now)
            after = take_one(bucket, self._levels[key])
            if after is None:
                return bucket
            left[key] = after
        self._levels |= left
        self._taken |= {(token, key): now for key in unpaid}
        return None

    def _forget(self, now: float) -> None:
        self._levels = {key: found for key, found in self._levels.items() if found.full_at > now}
        self._taken = {taken: at for taken, at in self._taken.items() if at > now - TOKEN_KEPT_SECONDS}
