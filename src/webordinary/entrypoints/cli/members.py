"""`webordinary members`: which sites there are, and who may edit them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from webordinary.core.errors import NotFound
from webordinary.core.site import Member, Project
from webordinary.core.to_json import to_json
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.arguments import LIST_MAX, add_common
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.invocation import typed
from webordinary.entrypoints.cli.words import FAINT, YELLOW, Cell, ago, painted, print_json, table
from webordinary.identify.members import unreachable
from webordinary.ports.bounces import Bouncing

HEAD = ("PROJECT", "USER", "ADDRESS", "POLICY", "REPOSITORY")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("project", nargs="?", metavar="PROJECT", help="only this site (default: all)")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """List."""
    return at_desk(args, _list)


async def _list(args: argparse.Namespace, desk: Desk) -> int:
    directory = desk.backend.directory
    found = await directory.project(args.project) if args.project else None
    if args.project and found is None:
        raise NotFound(f"there is no project {args.project}")
    projects = [found] if found else await directory.projects(limit=LIST_MAX)
    listed = [(project, await directory.members(project.name)) for project in projects]
    addresses = {member.address for _, members in listed for member in members}
    bouncing = {
        one.address: one
        for one in await unreachable(desk.backend.bounces, directory, limit=LIST_MAX)
        if one.address in addresses
    }
    if args.json:
        print_json([_as_json(project, members, bouncing) for project, members in listed])
    elif listed:
        print(table(HEAD, [row for project, members in listed for row in _rows(project, members, bouncing)]))
        for one in bouncing.values():
            print(painted(came_back(one, desk.clock.now()), YELLOW))
    else:
        words = ("onboard", "amelia", "--user", "scott", "--sender", "scott@example.org")
        example = typed(*words, home=desk.settings.home)
        print(f"no projects yet: add one, for example with `{example}`")
    return Exit.OK


def came_back(bouncing: Bouncing, now: float) -> str:
    """Say that somebody does not get our letters."""
    letters = counted(len(bouncing.letters), "letter")
    since = ago(bouncing.since, now)
    return f"mail to {bouncing.address} comes back: {letters}, the first {since}; {bouncing.reason}"


def _as_json(project: Project, members: list[Member], bouncing: Mapping[str, Bouncing]) -> dict[str, object]:
    fields = to_json(project)
    assert isinstance(fields, dict)
    policy = fields.pop("arrival")
    listed = [
        {
            "user": member.lane.user,
            "address": member.address,
            "bouncing": bouncing[member.address].reason if member.address in bouncing else None,
        }
        for member in members
    ]
    return {**fields, "policy": policy, "members": listed}


def _rows(project: Project, members: list[Member], bouncing: Mapping[str, Bouncing]) -> list[list[Cell]]:
    terms: list[Cell] = [project.arrival.value, project.repository or ("its own", FAINT)]
    if not members:
        return [[project.name, ("nobody", FAINT), "-", *terms]]
    return [[project.name, member.lane.user, _address(member, bouncing), *terms] for member in members]


def _address(member: Member, bouncing: Mapping[str, Bouncing]) -> Cell:
    return (f"{member.address} (comes back)", YELLOW) if member.address in bouncing else member.address
