"""Token buckets in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.quota import FORGET_AT_ONCE, TOKEN_KEPT_SECONDS, Level, level, take_one
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.tx import Tx
from webordinary.ports.quotas import Bucket


class SqliteQuotas:
    """See `Quotas`."""

    def __init__(self, engine: Engine) -> None:
        """Keep buckets in a file."""
        self._engine = engine

    async def spend(self, buckets: Sequence[Bucket], token: str) -> Bucket | None:
        """See `Quotas.spend`."""
        return await self._engine.write(lambda tx: spend(tx, buckets, token))


def spend(tx: Tx, buckets: Sequence[Bucket], token: str) -> Bucket | None:
    """See `Quotas.spend`."""
    if not buckets:
        return None
    _forget(tx)
    paid = {row[0] for row in tx.all("SELECT bucket FROM taken WHERE token = ?", (token,))}
    unpaid = {bucket.key: bucket for bucket in buckets if bucket.key not in paid}
    places = ", ".join("?" * len(unpaid))
    rows = tx.all(f"SELECT key, full_at, at FROM buckets WHERE key IN ({places})", tuple(unpaid))
    known = {key: Level(full_at, at) for key, full_at, at in rows}
    left: dict[str, Level] = {}
    for key, bucket in unpaid.items():
        found = level(bucket, known.get(key), tx.now)
        after = take_one(bucket, found)
        if after is None:
            _write(tx, {key: found})
            return bucket
        left[key] = after
    _write(tx, left)
    taken = [(token, key, tx.now) for key in left]
    tx.do_each("INSERT INTO taken (token, bucket, at) VALUES (?, ?, ?)", taken)
    return None


def _write(tx: Tx, levels: dict[str, Level]) -> None:
    tx.do_each(
        "INSERT INTO buckets (key, full_at, at) VALUES (?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at, at = excluded.at",
        [(key, level.full_at, level.at) for key, level in levels.items()],
    )


def _forget(tx: Tx) -> None:
    """Forget some buckets that are full again, and tokens that nobody will come with again."""
    tx.do(
        "DELETE FROM buckets WHERE key IN (SELECT key FROM buckets WHERE full_at <= ? LIMIT ?)",
        (tx.now, FORGET_AT_ONCE),
    )
    tx.do(
        "DELETE FROM taken WHERE (token, bucket) IN (SELECT token, bucket FROM taken WHERE at <= ? LIMIT ?)",
        (tx.now - TOKEN_KEPT_SECONDS, FORGET_AT_ONCE),
    )
