"""Rate limits that survive a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from webordinary.core.errors import BadLimits
from webordinary.core.text import storable

HOUR_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket: `burst` at once, refilled at `per_hour`."""

    key: str
    burst: int
    per_hour: float

    def __post_init__(self) -> None:
        """Refuse a bucket that never gives anything, or never again."""
        object.__setattr__(self, "key", storable(self.key))
        if self.burst < 1 or self.per_hour <= 0:
            raise BadLimits(f"the quota {self.key!r} needs a burst of at least 1 and more than 0 an hour")

    @property
    def seconds_each(self) -> float:
        """How long it takes until one more can be taken."""
        return HOUR_SECONDS / self.per_hour


class Quotas(Protocol):
    """Token buckets in the store, refilled by the store's clock. A bucket nobody knows is full."""

    async def spend(self, buckets: Sequence[Bucket], token: str) -> Bucket | None:
        """Take one from every bucket, or from none: then say which one is empty.

        The same token is taken from a bucket once, so a mail that is delivered again costs nothing.
        """
        ...
