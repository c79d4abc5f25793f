"""Blobs in a dictionary."""

from __future__ import annotations

from webordinary.core.errors import NotFound
from webordinary.ports.blobs import blob_key


class MemoryBlobs:
    """See `Blobs`."""

    def __init__(self) -> None:
        """Start empty."""
        self._contents: dict[str, bytes] = {}

    async def put(self, content: bytes) -> str:
        """See `Blobs.put`."""
        key = blob_key(content)
        self._contents[key] = content
        return key

    async def get(self, key: str) -> bytes:
        """See `Blobs.get`."""
        if key not in self._contents:
            raise NotFound(f"there is no blob {key}")
        return self._contents[key]
