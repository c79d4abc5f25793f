"""Small blobs in the store's own file, where they share its commits; large ones beside it."""

from __future__ import annotations

from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.tx import Tx
from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.text import is_storable
from webordinary.ports.blobs import Blobs, blob_key

SMALL_BYTES = 64 * 1024  # up to here a row is quicker than a file of its own, which takes two syncs


class SqliteBlobs:
    """See `Blobs`."""

    def __init__(self, engine: Engine, large: Blobs | None) -> None:
        """Keep blobs in a file; without a place for large ones, all of them."""
        self._engine, self._large = engine, large

    def takes(self, content: bytes) -> bool:
        """Say whether a blob belongs into the store itself."""
        return self._large is None or len(content) <= SMALL_BYTES

    async def put(self, content: bytes) -> str:
        """See `Blobs.put`."""
        if self._large is not None and not self.takes(content):
            return await self._large.put(content)
        return await self._engine.write(lambda tx: put(tx, content))

    async def get(self, key: str) -> bytes:
        """See `Blobs.get`. A blob that was damaged on the disk is never given out."""
        if not is_storable(key):
            raise NotFound(f"{key!r} is no name of a blob")
        row = self._engine.read(lambda tx: tx.one("SELECT content FROM blobs WHERE key = ?", (key,)))
        if row is None and self._large is not None:
            return await self._large.get(key)
        if row is None:
            raise NotFound(f"there is no blob {key}")
        content = bytes(row[0])
        if blob_key(content) != key:
            raise BackendUnavailable(f"the blob {key} is damaged: its content is not what was written")
        return content


def put(tx: Tx, content: bytes) -> str:
    """Keep a blob in this transaction."""
    key = blob_key(content)
    tx.do("INSERT INTO blobs (key, content) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, content))
    return key
