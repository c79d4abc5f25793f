"""Token buckets in a table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress

from webordinary.backends.aws.changing import ATTEMPTS, Lanes
from webordinary.backends.aws.dynamo import ABSENT, Put, Write, new_token
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.values import Item
from webordinary.backends.quota import TOKEN_KEPT_SECONDS, Level, level, take_one
from webordinary.core.errors import BackendUnavailable
from webordinary.ports.quotas import Bucket

TTL_SLACK_SECONDS = 3600


class AwsQuotas:
    """See `Quotas`."""

    def __init__(self, lanes: Lanes) -> None:
        """Keep buckets in a table."""
        self._lanes = lanes
        self._dynamo, self._clock, self._table = lanes.dynamo, lanes.clock, lanes.settings.quotas

    async def spend(self, buckets: Sequence[Bucket], token: str) -> Bucket | None:
        """See `Quotas.spend`."""
        by_key = {bucket.key: bucket for bucket in buckets}
        if not by_key:
            return None
        for attempt in range(ATTEMPTS):
            answer = await self._spend(by_key, token)
            if not isinstance(answer, ChangedMeanwhile):
                return answer
            await self._lanes.pause(attempt)
        raise BackendUnavailable("too many ask for the same quota at once; nothing was taken, try again")

    async def _spend(self, buckets: dict[str, Bucket], token: str) -> Bucket | ChangedMeanwhile | None:
        now = self._clock.now()
        keys = [{"key": _bucket(key)} for key in buckets] + [{"key": _taken(token, key)} for key in buckets]
        found = {
            item["key"]: item for item in (await self._dynamo.get_many({self._table: keys}))[self._table]
        }
        writes: list[Write] = []
        for key, bucket in buckets.items():
            taken, seen = found.get(_taken(token, key)), found.get(_bucket(key))
            if taken is not None and taken["at"] > now - TOKEN_KEPT_SECONDS:
                continue
            found_level = level(bucket, Level(seen["fullAt"], seen.get("at", 0.0)) if seen else None, now)
            after = take_one(bucket, found_level)
            if after is None:
                if seen is not None and seen["fullAt"] > found_level.full_at:
                    await self._set_back(key, found_level, seen)
                return bucket
            writes += [
                self._put_level(key, after, seen),
                self._put(_taken(token, key), {"at": now}, taken, now + TOKEN_KEPT_SECONDS),
            ]
        try:
            if writes:
                await self._dynamo.transact(writes, new_token())
        except ChangedMeanwhile as refused:
            return refused
        return None

    async def _set_back(self, key: str, found: Level, seen: Item) -> None:
        """The clock was set back: from now on the bucket is refilled by the new one."""
        with suppress(ChangedMeanwhile):
            await self._dynamo.transact([self._put_level(key, found, seen)], new_token())

    def _put_level(self, key: str, level: Level, seen: Item | None) -> Write:
        return self._put(_bucket(key), {"fullAt": level.full_at, "at": level.at}, seen, level.full_at)

    def _put(self, key: str, values: Item, seen: Item | None, until: float) -> Write:
        """Write numbers, if they still are what was seen."""
        name = next(iter(values))
        where = {name: seen[name]} if seen is not None else {"key": ABSENT}
        return Put(self._table, {"key": key, **values, "ttl": int(until) + TTL_SLACK_SECONDS}, where)


def _bucket(key: str) -> str:
    return f"bucket {hashlib.sha256(key.encode()).hexdigest()}"


def _taken(token: str, key: str) -> str:
    both = f"{len(token)} {token} {key}".encode(errors="surrogatepass")
    return f"taken {hashlib.sha256(both).hexdigest()}"
