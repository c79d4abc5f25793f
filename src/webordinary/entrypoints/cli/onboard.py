"""`webordinary onboard`: let somebody edit a site by mail."""

from __future__ import annotations

import argparse
from pathlib import Path

from webordinary.core.errors import BadInput, WebordinaryError
from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.entrypoints.cli.arguments import add_common
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import clean, print_json
from webordinary.identify.members import canonical_address
from webordinary.identify.onboarding import Onboarded, Wanted, check_repository, is_url, onboard


def configure(parser: argparse.ArgumentParser) -> None:
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


def run(args: argparse.Namespace) -> int:
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
    return at_desk(args, _onboard, create=True)


def _absolute(repository: str) -> str:
    """A path must lead there from every folder."""
    check_repository(repository)
    if is_url(repository):
        return repository
    path = Path(repository).expanduser().absolute()
    if not path.is_dir():
        raise BadInput(f"there is no folder {path}: name the repository's folder, or its URL")
    return str(path)


async def _onboard(args: argparse.Namespace, desk: Desk) -> int:
    made: list[str] = []

    async def make_in_cloud() -> None:
        made.extend(await _made_in_cloud(args.wanted.lane, desk))

    if desk.settings.in_cloud:
        await _refuse_without_repository(args.wanted, desk)
    done = await onboard(
        args.wanted, desk.backend.directory, make_in_cloud if desk.settings.in_cloud else None
    )
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
        print(clean("\n".join([*_in_words(done), *(f"  in the cloud: {one}" for one in made)])))
    return Exit.OK


async def _refuse_without_repository(wanted: Wanted, desk: Desk) -> None:
    known = await desk.backend.directory.project(wanted.lane.project)
    if not wanted.repository and not (known and known.repository):
        raise BadInput(
            f"in the cloud {wanted.lane.project} needs a repository that every worker can reach: one of our "
            "own making would be a folder of one container, and lost with it. Nothing was changed; name one "
            "with --repo URL"
        )


async def _made_in_cloud(lane: Lane, desk: Desk) -> list[str]:
    from webordinary.operations.cloud_setup import let_in

    try:
        return await let_in(desk.settings, lane, desk.clock)
    except WebordinaryError as error:
        raise type(error)(f"nobody was let in to {lane} by this. {error}") from error


def _in_words(done: Onboarded) -> list[str]:
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
