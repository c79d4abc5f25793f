"""`webordinary offboard`: take the right to edit a site away."""

from __future__ import annotations

import argparse
import contextlib

from webordinary.core.errors import NotFound
from webordinary.core.lane import Lane
from webordinary.core.waiting import counted
from webordinary.entrypoints.cli.arguments import add_common
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import print_json
from webordinary.identify.onboarding import Leaving, Offboarded, offboard


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Without a user the whole project goes; with --sender only that address. Jobs and mail stay as "
        "history. Refused while jobs are open there."
    )
    parser.add_argument("who", metavar="PROJECT[/USER]", help="the site, or one of its users")
    parser.add_argument("--sender", metavar="ADDRESS", help="take only this address away")
    parser.add_argument(
        "--force", action="store_true", help="also while jobs are open; they run to their end"
    )
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """Offboard."""
    lane = Lane.parse(args.who) if "/" in args.who else None
    args.leaving = Leaving(
        project=lane.project if lane else args.who,
        user=lane.user if lane else None,
        address=args.sender,
        force=args.force,
    )
    return at_desk(args, _offboard)


async def _offboard(args: argparse.Namespace, desk: Desk) -> int:
    done = await offboard(args.leaving, desk.backend.directory, desk.backend.ledger)
    if desk.settings.in_cloud and not done.open_jobs:
        await _remove_queues(args.leaving.project, done, desk)
    if args.json:
        print_json(done)
    else:
        print("\n".join(_in_words(args.leaving.project, done)))
    return Exit.OK


async def _remove_queues(project: str, done: Offboarded, desk: Desk) -> None:
    """Remove what only lanes without a member have. Their sites stay, as on one machine."""
    from webordinary.operations.cloud_setup import let_out

    left = {member.lane for member in await desk.backend.directory.members(project)}
    lanes = sorted({member.lane for member in done.removed} - left)
    for lane in lanes:  # an idle owner would go on listening to a queue that is not there
        with contextlib.suppress(NotFound):
            await desk.backend.control.evict(lane)
    await let_out(desk.settings, lanes, desk.clock)


def _in_words(project: str, done: Offboarded) -> list[str]:
    lines = [f"{member.address} may no longer edit {project} as {member.lane}" for member in done.removed]
    if done.removed_project:
        lines.append(f"{project} is no project any more; its jobs and mail stay as history")
    elif not done.members_left:
        lines.append(f"nobody may edit {project} now; `webordinary offboard {project}` removes it altogether")
    if done.open_jobs:
        lines.append(f"  {counted(done.open_jobs, 'open job')} there will run to the end all the same")
    return lines
