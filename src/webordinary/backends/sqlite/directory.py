"""Projects and members in SQLite."""

from __future__ import annotations

from functools import partial

from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.core.errors import NotFound
from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.core.text import is_storable

_PROJECT = "SELECT name, arrival, repository, created_at, build, output FROM projects"


class SqliteDirectory:
    """See `Directory`."""

    def __init__(self, engine: Engine) -> None:
        """Look things up in a file."""
        self._engine = engine

    async def add_project(self, project: Project, *, change: bool = False) -> bool:
        """See `Directory.add_project`."""
        return await self._engine.write(lambda tx: _add_project(tx, project, change=change))

    async def project(self, name: str) -> Project | None:
        """See `Directory.project`."""
        if not is_storable(name):
            return None
        row = self._engine.read(lambda tx: tx.one(f"{_PROJECT} WHERE name = ?", (name,)))
        return _project_of(row) if row else None

    async def projects(self, *, limit: int, after: str = "") -> list[Project]:
        """See `Directory.projects`."""
        sql = f"{_PROJECT} WHERE name > ? ORDER BY name LIMIT ?"
        return [_project_of(row) for row in self._engine.read(lambda tx: tx.all(sql, (after, limit)))]

    async def add_member(self, member: Member) -> Lane | None:
        """See `Directory.add_member`."""
        return await self._engine.write(partial(_add_member, member=member))

    async def members(self, project: str) -> list[Member]:
        """See `Directory.members`."""
        sql = "SELECT user, address FROM members WHERE project = ? ORDER BY user, address"
        rows = self._engine.read(lambda tx: tx.all(sql, (project,)))
        return [Member(Lane(project, user), address) for user, address in rows]

    async def lanes_of(self, address: str) -> list[Lane]:
        """See `Directory.lanes_of`."""
        if not is_storable(address):  # as a mail may name one
            return []
        sql = "SELECT project, user FROM members WHERE address = ? ORDER BY project"
        return [Lane(*row) for row in self._engine.read(lambda tx: tx.all(sql, (address,)))]

    async def remove_member(self, lane: Lane, address: str | None = None) -> int:
        """See `Directory.remove_member`."""
        return await self._engine.write(
            lambda tx: tx.do(
                "DELETE FROM members WHERE project = ? AND user = ? AND address = IFNULL(?, address)",
                (lane.project, lane.user, address),
            )
        )

    async def remove_project(self, name: str) -> bool:
        """See `Directory.remove_project`."""
        return await self._engine.write(partial(_remove_project, name=name))


def _add_project(tx: Tx, project: Project, *, change: bool) -> bool:
    added = tx.do(
        "INSERT INTO projects (name, arrival, repository, created_at, build, output)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (project.name, project.arrival.value, project.repository, tx.now, project.build, project.output),
    )
    if not added and change:
        tx.do(
            "UPDATE projects SET arrival = ?, repository = ?, build = ?, output = ? WHERE name = ?",
            (project.arrival.value, project.repository, project.build, project.output, project.name),
        )
    return bool(added)


def _add_member(tx: Tx, member: Member) -> Lane | None:
    project, user = member.lane.project, member.lane.user
    if tx.one("SELECT 1 FROM projects WHERE name = ?", (project,)) is None:
        raise NotFound(f"there is no project {project}")
    known = tx.one("SELECT user FROM members WHERE project = ? AND address = ?", (project, member.address))
    if known is not None:
        return Lane(project, known[0])
    tx.do("INSERT INTO members (project, address, user) VALUES (?, ?, ?)", (project, member.address, user))
    return None


def _remove_project(tx: Tx, name: str) -> bool:
    tx.do("DELETE FROM members WHERE project = ?", (name,))
    return bool(tx.do("DELETE FROM projects WHERE name = ?", (name,)))


def _project_of(row: Row) -> Project:
    name, arrival, repository, created_at, build, output = row
    return Project(name, Arrival(arrival), repository, created_at, build, output)
