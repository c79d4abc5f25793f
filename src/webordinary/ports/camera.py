"""Pictures of pages, for replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Camera(Protocol):
    """Takes pictures of pages as they are served."""

    async def pictures(self, addresses: Sequence[str]) -> list[bytes | None]:
        """Take a PNG of each page, within limits; None where that was not possible."""
        ...
