"""Projects and who may edit them. Tables, nothing hard-coded."""

from __future__ import annotations

from typing import Protocol

from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project


class Directory(Protocol):
    """Projects and their members."""

    async def add_project(self, project: Project, *, change: bool = False) -> bool:
        """Add a project, created now; False, and no change, if there is one of that name.

        With `change` that one gets the policy, the repository and the build given here.
        """
        ...

    async def project(self, name: str) -> Project | None:
        """Find a project."""
        ...

    async def projects(self, *, limit: int, after: str = "") -> list[Project]:
        """List projects by name."""
        ...

    async def add_member(self, member: Member) -> Lane | None:
        """Let an address edit a project as this user; no change if it already does as somebody: say as whom.

        Without such a project there is nothing to edit: `NotFound`.
        """
        ...

    async def members(self, project: str) -> list[Member]:
        """List who may edit a project, by user and address."""
        ...

    async def lanes_of(self, address: str) -> list[Lane]:
        """List the lanes this address may write to, by name; at most one per project."""
        ...

    async def remove_member(self, lane: Lane, address: str | None = None) -> int:
        """Take an address, or all addresses, from a user; say how many were taken."""
        ...

    async def remove_project(self, name: str) -> bool:
        """Remove a project and its members; jobs and mail stay as history."""
        ...
