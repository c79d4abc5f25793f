"""Turning a tree into what is published."""

from __future__ import annotations

from typing import Protocol

from webordinary.core.site import Project
from webordinary.core.work import BuildFailed, Built, Room


class Builder(Protocol):
    """Runs a project's build, where it has one."""

    async def build(self, project: Project, room: Room) -> Built | BuildFailed:
        """Build without network and within limits. Cancelled, it leaves no process."""
        ...
