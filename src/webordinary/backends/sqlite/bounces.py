"""Letters that came back, in SQLite."""

from __future__ import annotations

import json

from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.core.text import storable
from webordinary.ports.bounces import Bouncing

_ROW = "address, letters, since, reason"


class SqliteBounces:
    """See `Bounces`."""

    def __init__(self, engine: Engine) -> None:
        """Keep them in a file."""
        self._engine = engine

    async def note(self, address: str, letter: str, reason: str) -> Bouncing:
        """See `Bounces.note`."""
        return await self._engine.write(
            lambda tx: _note(tx, storable(address), storable(letter), storable(reason))
        )

    async def forget(self, address: str) -> bool:
        """See `Bounces.forget`. Looks before it writes: almost always there is nothing."""
        if await self.of(address) is None:
            return False
        sql = "DELETE FROM bounces WHERE address = ?"
        return bool(await self._engine.write(lambda tx: tx.do(sql, (storable(address),))))

    async def of(self, address: str) -> Bouncing | None:
        """See `Bounces.of`."""
        return self._engine.read(lambda tx: _of(tx, storable(address)))

    async def all(self, *, limit: int) -> list[Bouncing]:
        """See `Bounces.all`."""
        sql = f"SELECT {_ROW} FROM bounces ORDER BY address LIMIT ?"
        return [_bouncing(row) for row in self._engine.read(lambda tx: tx.all(sql, (limit,)))]


def _note(tx: Tx, address: str, letter: str, reason: str) -> Bouncing:
    noted = (_of(tx, address) or Bouncing(address, (), tx.now, "")).after(letter, reason)
    row = (noted.address, json.dumps(noted.letters), noted.since, noted.reason)
    tx.do(f"INSERT OR REPLACE INTO bounces ({_ROW}) VALUES (?, ?, ?, ?)", row)
    return noted


def _of(tx: Tx, address: str) -> Bouncing | None:
    row = tx.one(f"SELECT {_ROW} FROM bounces WHERE address = ?", (address,))
    return _bouncing(row) if row else None


def _bouncing(row: Row) -> Bouncing:
    address, letters, since, reason = row
    return Bouncing(address, tuple(json.loads(letters)), since, reason)
