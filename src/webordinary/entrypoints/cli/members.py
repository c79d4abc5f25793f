"""`webordinary members`, `onboard` and `offboard`: which sites there are, and who may edit them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from pathlib import Path

from webordinary.core.errors import BadInput, NotFound, WebordinaryError
from webordinary.core.job import Arrival
from webordinary.core.json_codec import fields
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.arguments import LIST_MAX, add_common
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.output import (
    FAINT,
    YELLOW,
    Cell,
    Exit,
    ago,
    clean,
    painted,
    print_json,
    show,
    table,
    typed,
)
from webordinary.identify.find import unreachable
from webordinary.identify.onboarding import (
    Leaving,
    Offboarded,
    Onboarded,
    Wanted,
    canonical_address,
    check_repository,
    is_url,
    offboard,
    onboard,
)
from webordinary.ports.bounces import Bouncing

MEMBERS_HEAD = ("PROJECT", "USER", "ADDRESS", "POLICY", "REPOSITORY")


def configure_members(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("project", nargs="?", metavar="PROJECT", help="only this site (default: all)")
    add_common(parser)


async def run_members(args: argparse.Namespace, context: Context) -> int:
    """List."""
    directory = context.backend.directory
    found = await directory.project(args.project) if args.project else None
    if args.project and found is None:
        raise NotFound(f"there is no project {args.project}")
    projects = [found] if found else await directory.projects(limit=LIST_MAX)
    listed = [(project, await directory.members(project.name)) for project in projects]
    addresses = {member.address for _, members in listed for member in members}
    bouncing = {
        one.address: one
        for one in await unreachable(context.backend.bounces, directory, limit=LIST_MAX)
        if one.address in addresses
    }
    if args.json:
        print_json([_project_as_json(project, members, bouncing) for project, members in listed])
    elif listed:
        print(
            table(
                MEMBERS_HEAD,
                [row for project, members in listed for row in _member_rows(project, members, bouncing)],
            )
        )
        for one in bouncing.values():
            print(painted(came_back(one, context.clock.now()), YELLOW))
    else:
        words = ("onboard", "amelia", "--user", "scott", "--sender", "scott@example.org")
        example = typed(*words, home=context.settings.home)
        print(f"no projects yet: add one, for example with `{example}`")
    return Exit.OK


def came_back(bouncing: Bouncing, now: float) -> str:
    """Say that somebody does not get our letters."""
    letters = counted(len(bouncing.letters), "letter")
    since = ago(bouncing.since, now)
    return f"mail to {bouncing.address} comes back: {letters}, the first {since}; {bouncing.reason}"


def _project_as_json(
    project: Project, members: list[Member], bouncing: Mapping[str, Bouncing]
) -> dict[str, object]:
    known = fields(project)
    policy = known.pop("arrival")
    listed = [
        {
            "user": member.lane.user,
            "address": member.address,
            "bouncing": bouncing[member.address].reason if member.address in bouncing else None,
        }
        for member in members
    ]
    return {**known, "policy": policy, "members": listed}


def _member_rows(
    project: Project, members: list[Member], bouncing: Mapping[str, Bouncing]
) -> list[list[Cell]]:
    terms: list[Cell] = [project.arrival.value, project.repository or ("its own", FAINT)]
    if not members:
        return [[project.name, ("nobody", FAINT), "-", *terms]]
    return [[project.name, member.lane.user, _address(member, bouncing), *terms] for member in members]


def _address(member: Member, bouncing: Mapping[str, Bouncing]) -> Cell:
    return (f"{member.address} (comes back)", YELLOW) if member.address in bouncing else member.address


def configure_onboard(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "The same command adds a second user or a second address to a project. What is there already is not "
        "changed by the way: another --policy, --repo, --build or --output needs --change. Repeating the "
        "command is safe."
    )
    parser.add_argument("project", metavar="PROJECT", help="the site, such as amelia")
    parser.add_argument("--user", required=True, metavar="NAME", help="who edits it, such as scott")
    parser.add_argument(
        "--sender", required=True, metavar="ADDRESS", help="the address that NAME writes from"
    )
    parser.add_argument(
        "--repo",
        metavar="PATH_OR_URL",
        help="git repository of the site, without credentials (default: a new one of our own; in the cloud "
        "there is none, so it must be named)",
    )
    parser.add_argument(
        "--policy",
        choices=[arrival.value for arrival in Arrival],
        help="what a new mail does to the work before it: stop the running edit of its own conversation, "
        "stop any running edit, wait behind all, or replace what has not started (default: interrupt)",
    )
    parser.add_argument(
        "--build",
        metavar="COMMAND",
        help="what turns the repository into the site, such as 'hugo'; it runs in the sandbox, without "
        "network (default: none, for plain HTML)",
    )
    parser.add_argument(
        "--output", metavar="FOLDER", help="the folder that is published, such as public (default: all of it)"
    )
    parser.add_argument(
        "--change", action="store_true", help="change policy, repository or build for everybody there"
    )
    add_common(parser)


def run_onboard(args: argparse.Namespace) -> int:
    """Onboard."""
    args.wanted = Wanted(
        lane=Lane(args.project, args.user),
        address=canonical_address(args.sender),
        arrival=Arrival(args.policy) if args.policy else None,
        repository=_absolute(args.repo) if args.repo is not None else None,
        build=args.build,
        output=args.output,
        change=args.change,
    )
    return in_context(args, _onboard, create=True)


def _absolute(repository: str) -> str:
    """A path must lead there from every folder."""
    check_repository(repository)
    if is_url(repository):
        return repository
    path = Path(repository).expanduser().absolute()
    if not path.is_dir():
        raise BadInput(f"there is no folder {path}: name the repository's folder, or its URL")
    return str(path)


async def _onboard(args: argparse.Namespace, context: Context) -> int:
    made: list[str] = []

    async def set_up() -> None:
        made.extend(await _lane_set_up(args.wanted.lane, context))

    traits = context.platform.traits
    if not traits.makes_repositories:
        await _refuse_without_repository(args.wanted, context)
    done = await onboard(args.wanted, context.backend.directory, set_up if traits.lanes_need_setup else None)
    if args.json:
        print_json(
            {
                "lane": done.member.lane,
                "address": done.member.address,
                "policy": done.project.arrival,
                "repository": done.project.repository,
                "build": done.project.build,
                "output": done.project.output,
                "new_project": done.new_project,
                "new_member": done.new_member,
                "changed": done.changed,
                "elsewhere": done.elsewhere,
                **({"made": made} if made else {}),
            }
        )
    else:
        print(clean("\n".join([*_onboarded(done), *(f"  in the cloud: {one}" for one in made)])))
    return Exit.OK


async def _refuse_without_repository(wanted: Wanted, context: Context) -> None:
    known = await context.backend.directory.project(wanted.lane.project)
    if not wanted.repository and not (known and known.repository):
        raise BadInput(
            f"in the cloud {wanted.lane.project} needs a repository that every worker can reach: one of our "
            "own making would be a folder of one container, and lost with it. Nothing was changed; name one "
            "with --repo URL"
        )


async def _lane_set_up(lane: Lane, context: Context) -> list[str]:
    from webordinary.operations.cloud_setup import let_in

    try:
        return await let_in(context.settings, lane, context.clock)
    except WebordinaryError as error:
        raise type(error)(f"nobody was let in to {lane} by this. {error}") from error


def _onboarded(done: Onboarded) -> list[str]:
    project, member = done.project, done.member
    terms = f"policy {project.arrival.value}, repository {project.repository or 'of its own'}"
    if project.build or project.output:
        terms += f", build {project.build or 'none'}, output {project.output or 'all of it'}"
    lines = []
    if done.new_project:
        lines.append(f"{project.name} is a new project: {terms}")
    elif done.changed:
        lines.append(f"the {' and '.join(done.changed)} of {project.name} changed for everybody: {terms}")
    if done.new_member:
        lines.append(f"{member.address} may edit {project.name} as {member.lane}")
    elif done.changed:
        lines.append(f"{member.address} could edit it as {member.lane} before")
    else:
        lines.append(f"nothing changed: {member.address} may edit {project.name} as {member.lane}; {terms}")
    if done.elsewhere:
        others = ", ".join(lane.project for lane in done.elsewhere)
        lines.append(f"  it may edit {others}, too: a new mail that does not say which is asked")
    return lines


def configure_offboard(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Without a user the whole project goes; with --sender only that address. Jobs and mail stay as "
        "history. Refused while jobs are open there."
    )
    parser.add_argument("who", metavar="PROJECT[/USER]", help="the site, or one of its users")
    parser.add_argument("--sender", metavar="ADDRESS", help="remove only this address")
    parser.add_argument(
        "--force", action="store_true", help="even while jobs are open; they run to their end"
    )
    add_common(parser)


def run_offboard(args: argparse.Namespace) -> int:
    """Offboard."""
    lane = Lane.parse(args.who) if "/" in args.who else None
    args.leaving = Leaving(
        project=lane.project if lane else args.who,
        user=lane.user if lane else None,
        address=args.sender,
        force=args.force,
    )
    return in_context(args, _offboard)


async def _offboard(args: argparse.Namespace, context: Context) -> int:
    done = await offboard(args.leaving, context.backend.directory, context.backend.ledger)
    if context.platform.traits.lanes_need_setup and not done.open_jobs:
        await _remove_queues(args.leaving.project, done, context)
    return show(args, done, "\n".join(_offboarded(args.leaving.project, done)))


async def _remove_queues(project: str, done: Offboarded, context: Context) -> None:
    """Remove what only lanes without a member have. Their sites stay, as on one machine."""
    from webordinary.operations.cloud_setup import let_out

    left = {member.lane for member in await context.backend.directory.members(project)}
    lanes = sorted({member.lane for member in done.removed} - left)
    for lane in lanes:  # an idle owner would go on listening to a queue that is not there
        with contextlib.suppress(NotFound):
            await context.backend.control.evict(lane)
    await let_out(context.settings, lanes, context.clock)


def _offboarded(project: str, done: Offboarded) -> list[str]:
    lines = [f"{member.address} may no longer edit {project} as {member.lane}" for member in done.removed]
    if done.removed_project:
        lines.append(f"{project} is no project any more; its jobs and mail stay as history")
    elif not done.members_left:
        lines.append(f"nobody may edit {project} now; `webordinary offboard {project}` removes it altogether")
    if done.open_jobs:
        lines.append(f"  {counted(done.open_jobs, 'open job')} there will run to the end all the same")
    return lines
