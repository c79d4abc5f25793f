"""Large things, by their content."""

from __future__ import annotations

import hashlib
from typing import Protocol


def blob_key(content: bytes) -> str:
    """Name bytes by their content."""
    return hashlib.sha256(content).hexdigest()


class Blobs(Protocol):
    """Bytes that are kept under the hash of their content."""

    async def put(self, content: bytes) -> str:
        """Make the bytes durable; say under which key. The same bytes twice are one."""
        ...

    async def get(self, key: str) -> bytes:
        """Give the bytes back."""
        ...
