"""Token buckets in SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.quota import FORGET_AT_ONCE, TOKEN_KEPT_SECONDS, full_after_spending
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
        return await self._engine.write(lambda tx: _spend(tx, buckets, token))


def _spend(tx: Tx, buckets: Sequence[Bucket], token: str) -> Bucket | None:
    _forget(tx)
    spent_before = {row[0] for row in tx.all("SELECT bucket FROM taken WHERE token = ?", (token,))}
    full_at: dict[str, float] = {}
    for bucket in buckets:
        if bucket.key in spent_before or bucket.key in full_at:
            continue
        known = tx.one("SELECT full_at FROM buckets WHERE key = ?", (bucket.key,))
        spent = full_after_spending(bucket, known[0] if known else None, tx.now)
        if spent is None:
            return bucket
        full_at[bucket.key] = spent
    for key, at in full_at.items():
        tx.do(
            "INSERT INTO buckets (key, full_at) VALUES (?, ?)"
            " ON CONFLICT (key) DO UPDATE SET full_at = excluded.full_at",
            (key, at),
        )
        tx.do("INSERT INTO taken (token, bucket, at) VALUES (?, ?, ?)", (token, key, tx.now))
    return None


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
