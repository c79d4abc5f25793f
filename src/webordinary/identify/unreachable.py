"""Members whose letters come back, for the operator."""

from __future__ import annotations

from webordinary.ports.bounces import Bounces, Bouncing
from webordinary.ports.directory import Directory


async def unreachable(bounces: Bounces, directory: Directory, *, limit: int) -> list[Bouncing]:
    """List the marked addresses that still are somebody's who may edit a site."""
    return [
        one for one in await bounces.all(limit=limit) if one.marked and await directory.lanes_of(one.address)
    ]
