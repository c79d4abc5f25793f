"""Where a site becomes visible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from webordinary.core.claim import Claim
from webordinary.core.release import Place, Release


class Publisher(Protocol):
    """Places of projects. Every switch is fenced by the lane's claim: a stale owner gets `ClaimLost`."""

    async def enter(self, claim: Claim) -> None:
        """From now on claims of this lane with a lower fence can't switch anything."""
        ...

    async def publish(self, claim: Claim, release: Release, folder: Path, commit: str) -> None:
        """Make the release in this folder the one that is previewed, at once and as a whole.

        Until the switch the former one is served. Bytes that differ from the manifest are refused.
        """
        ...

    async def promote(self, claim: Claim) -> str | None:
        """Make exactly the previewed bytes live; say which commit they came from (None: none)."""
        ...

    async def current(self, project: str, place: Place) -> tuple[Release, str] | None:
        """Say which release is in a place, and which commit it came from."""
        ...

    async def read(self, project: str, place: Place, paths: Sequence[str]) -> dict[str, bytes]:
        """Read files of the release that is in a place; what is not there is left out."""
        ...

    def address(self, project: str, place: Place) -> str:
        """Say where people look at it; "" if nowhere."""
        ...
