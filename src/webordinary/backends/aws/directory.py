"""Projects and who may edit them, in a table.

Each member is written twice, by project and by address, in one transaction: who may edit what is always read
from the table itself, never from an index that may lag behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from webordinary.backends.aws.dynamo import ABSENT, Check, Delete, Dynamo, Put, Where, Write, new_token
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.values import Item
from webordinary.core.errors import NotFound
from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.core.text import is_storable
from webordinary.ports.clock import Clock

CONFIG = "config"
MEMBER = "member "
MEMBERS_AT_ONCE = 40  # two items each, in a transaction of at most a hundred
KEY_BYTES = 900
ALL_PROJECTS = "all projects"  # a list of names; no project can be called so


class AwsDirectory:
    """See `Directory`."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings, clock: Clock) -> None:
        """Look things up in a table."""
        self._dynamo, self._table, self._clock = dynamo, settings.projects, clock

    # --- projects ---------------------------------------------------------------------------------

    async def add_project(self, project: Project, *, change: bool = False) -> bool:
        """See `Directory.add_project`."""
        while True:
            known = await self._config(project.name)
            if known is not None and not change:
                return False
            created_at = known["createdAt"] if known else self._clock.now()
            where = {"createdAt": created_at} if known else {"projectId": ABSENT}
            writes: list[Write] = [Put(self._table, _project_item(project, created_at), where)]
            if known is None:
                writes.append(Put(self._table, _listed(project.name)))
            if await self._written(writes):
                return known is None

    async def _config(self, name: str) -> Item | None:
        if not name or not is_storable(name):
            return None
        return await self._dynamo.get(self._table, {"projectId": name, "item": CONFIG})

    async def project(self, name: str) -> Project | None:
        """See `Directory.project`."""
        item = await self._config(name)
        return _project(item) if item else None

    async def projects(self, *, limit: int, after: str = "") -> list[Project]:
        """See `Directory.projects`."""
        where = Where(self._table, ("projectId", ALL_PROJECTS), None, ("item", ">", after or " "))
        names = [item["item"] for item in await self._dynamo.query(where, limit=limit)]
        found = [await self.project(name) for name in names]
        return [project for project in found if project is not None]

    async def remove_project(self, name: str) -> bool:
        """See `Directory.remove_project`. The project goes first, so that nobody joins it meanwhile."""
        known = await self._config(name)
        if known is not None:
            gone: list[Write] = [
                Delete(self._table, {"projectId": name, "item": CONFIG}),
                Delete(self._table, _listed(name)),
            ]
            await self._dynamo.transact(gone, new_token())
        if name and is_storable(name):
            await self._remove(await self._member_items(name))
        return known is not None

    # --- members ----------------------------------------------------------------------------------

    async def add_member(self, member: Member) -> Lane | None:
        """See `Directory.add_member`."""
        project = member.lane.project
        by_project, by_address = _member_items(member)
        while True:
            known = await self._dynamo.get(self._table, _key(by_address))
            if await self._config(project) is None:
                raise NotFound(f"there is no project {project}")
            if known is not None:
                return Lane(project, known["user"])
            there = Check(self._table, {"projectId": project, "item": CONFIG}, {"item": CONFIG})
            new = {"projectId": ABSENT}
            writes: list[Write] = [
                there,
                Put(self._table, by_address, new),
                Put(self._table, by_project, new),
            ]
            if await self._written(writes):
                return None

    async def members(self, project: str) -> list[Member]:
        """See `Directory.members`."""
        items = await self._member_items(project)
        found = [Member(Lane(project, item["user"]), item["address"]) for item in items]
        return sorted(found, key=lambda member: (member.lane.user, member.address))

    async def _member_items(self, project: str) -> list[Item]:
        where = Where(self._table, ("projectId", project), None, ("item", "begins_with", MEMBER))
        return await self._dynamo.query(where)

    async def lanes_of(self, address: str) -> list[Lane]:
        """See `Directory.lanes_of`."""
        if not address or not is_storable(address):  # as a mail may name one
            return []
        items = await self._dynamo.query(Where(self._table, ("projectId", _address(address))))
        return sorted(Lane(item["project"], item["user"]) for item in items)

    async def remove_member(self, lane: Lane, address: str | None = None) -> int:
        """See `Directory.remove_member`."""
        items = await self._member_items(lane.project)
        return await self._remove(
            [item for item in items if item["user"] == lane.user and address in (None, item["address"])]
        )

    async def _remove(self, members: Sequence[Item]) -> int:
        for start in range(0, len(members), MEMBERS_AT_ONCE):
            writes: list[Write] = []
            for item in members[start : start + MEMBERS_AT_ONCE]:
                member = Member(Lane(item["projectId"], item["user"]), item["address"])
                writes += [Delete(self._table, _key(one)) for one in _member_items(member)]
            await self._dynamo.transact(writes, new_token())
        return len(members)

    async def _written(self, writes: Sequence[Write]) -> bool:
        try:
            await self._dynamo.transact(writes, new_token())
        except ChangedMeanwhile:
            return False
        return True


def _key(item: Item) -> dict[str, str]:
    return {"projectId": item["projectId"], "item": item["item"]}


def _listed(project: str) -> dict[str, str]:
    return {"projectId": ALL_PROJECTS, "item": project}


def _address(address: str) -> str:
    raw = address.encode()
    return f"address {address if len(raw) <= KEY_BYTES else hashlib.sha256(raw).hexdigest()}"


def _member_items(member: Member) -> tuple[Item, Item]:
    """A member by project, and by address."""
    about = {"project": member.lane.project, "user": member.lane.user, "address": member.address}
    address = _address(member.address)
    return (
        {"projectId": member.lane.project, "item": f"{MEMBER}{address.removeprefix('address ')}", **about},
        {"projectId": address, "item": member.lane.project, **about},
    )


def _project_item(project: Project, created_at: float) -> Item:
    return {
        "projectId": project.name,
        "item": CONFIG,
        "arrival": project.arrival.value,
        "repository": project.repository,
        "createdAt": created_at,
        "build": project.build,
        "output": project.output,
    }


def _project(item: Item) -> Project:
    return Project(
        item["projectId"],
        Arrival(item["arrival"]),
        item["repository"],
        float(item["createdAt"]),
        item["build"],
        item["output"],
    )
