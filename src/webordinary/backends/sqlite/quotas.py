"""Token buckets in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.quota import FORGET_AT_ONCE, TOKEN_KEPT_SECONDS, can_spend, full_from
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
    full_at: dict[str, float] = {}
    for key, bucket in unpaid.items():
        known = tx.one("SELECT full_at FROM buckets WHERE key = ?", (key,))
        full_at[key] = full_from(bucket, known[0] if known else None, tx.now)
        if not can_spend(bucket, full_at[key], tx.now):
            _fill(tx, key, full_at[key])
            return bucket
    for key, bucket in unpaid.items():
        _fill(tx, key, full_at[key] + bucket.seconds_each)
        tx.do("INSERT INTO taken (token, bucket, at) VALUES (?, ?, ?)", (token, key, tx.now))
    return None


def _fill(tx: Tx, key: str, full_at: float) -> None:
    tx.do(
        "INSERT INTO buckets (key, full_at) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at",
        (key, full_at),
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
