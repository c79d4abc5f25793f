"""Projects and members in plain Python."""

from __future__ import annotations

from dataclasses import replace

from webordinary.core.errors import NotFound
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.ports.clock import Clock


class MemoryDirectory:
    """See `Directory`."""

    def __init__(self, clock: Clock) -> None:
        """Start empty."""
        self._clock = clock
        self._projects: dict[str, Project] = {}
        self._members: dict[tuple[str, str], Lane] = {}  # by project and address

    async def add_project(self, project: Project, *, change: bool = False) -> bool:
        """See `Directory.add_project`."""
        known = self._projects.get(project.name)
        if known is None or change:
            created_at = known.created_at if known else self._clock.now()
            self._projects[project.name] = replace(project, created_at=created_at)
        return known is None

    async def project(self, name: str) -> Project | None:
        """See `Directory.project`."""
        return self._projects.get(name)

    async def projects(self, *, limit: int, after: str = "") -> list[Project]:
        """See `Directory.projects`."""
        names = sorted(name for name in self._projects if name > after)
        return [self._projects[name] for name in names[:limit]]

    async def add_member(self, member: Member) -> Lane | None:
        """See `Directory.add_member`."""
        project = member.lane.project
        if project not in self._projects:
            raise NotFound(f"there is no project {project}")
        known = self._members.get((project, member.address))
        if known is None:
            self._members[project, member.address] = member.lane
        return known

    async def members(self, project: str) -> list[Member]:
        """See `Directory.members`."""
        found = [Member(lane, address) for (name, address), lane in self._members.items() if name == project]
        return sorted(found, key=lambda member: (member.lane.user, member.address))

    async def lanes_of(self, address: str) -> list[Lane]:
        """See `Directory.lanes_of`."""
        return sorted(lane for (_, known), lane in self._members.items() if known == address)

    async def remove_member(self, lane: Lane, address: str | None = None) -> int:
        """See `Directory.remove_member`."""
        gone = [key for key, known in self._members.items() if known == lane and address in (None, key[1])]
        for key in gone:
            del self._members[key]
        return len(gone)

    async def remove_project(self, name: str) -> bool:
        """See `Directory.remove_project`."""
        for key in [key for key in self._members if key[0] == name]:
            del self._members[key]
        return self._projects.pop(name, None) is not None
