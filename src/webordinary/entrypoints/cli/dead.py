"""`webordinary dead`: jobs whose attempts ran out."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable

from webordinary.core.errors import BadInput
from webordinary.core.job import JobId
from webordinary.entrypoints.cli import job as job_command
from webordinary.entrypoints.cli.arguments import add_common, add_limit
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.jobs import in_words
from webordinary.entrypoints.cli.words import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, summary: str) -> argparse.ArgumentParser:
        description, formatter = f"{summary[0].upper()}{summary[1:]}.", parser.formatter_class
        return verbs.add_parser(
            name, help=summary, description=description, formatter_class=formatter, allow_abbrev=False
        )

    listing = verb("list", "list dead jobs, newest first")
    add_limit(listing, 50)
    showing = verb("show", "show a dead job and what happened to it")
    showing.add_argument("job", metavar="JOB", help="its id; a unique beginning is enough")
    job_command.add_diff(showing)
    redriving = verb(
        "redrive", "queue dead jobs again, behind what waits in their lanes, with all their attempts"
    )
    dropping = verb("drop", "put dead jobs aside for good")
    for several in (redriving, dropping):
        several.add_argument("jobs", nargs="*", metavar="JOB", help="their ids; unique beginnings are enough")
        several.add_argument("--all", action="store_true", help="every dead job")
    for one in (listing, showing, redriving, dropping):
        add_common(one)


def run(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    verbs: dict[str, Callable[[argparse.Namespace, Desk], Awaitable[int]]] = {
        "list": _list,
        "show": job_command.show,
        "redrive": _redrive,
        "drop": _drop,
    }
    return at_desk(args, verbs[args.verb])


async def _list(args: argparse.Namespace, desk: Desk) -> int:
    dead = await desk.dead(args.limit)
    if args.json:
        print_json(dead)
    else:
        print(in_words(dead, desk.clock.now()) if dead else "no dead jobs")
    return Exit.OK


async def _redrive(args: argparse.Namespace, desk: Desk) -> int:
    return await _each(args, desk, desk.backend.control.redrive, "queued again")


async def _drop(args: argparse.Namespace, desk: Desk) -> int:
    return await _each(args, desk, desk.backend.control.drop, "dropped")


async def _each(
    args: argparse.Namespace, desk: Desk, act: Callable[[JobId], Awaitable[None]], did: str
) -> int:
    if bool(args.jobs) == args.all:
        raise BadInput("name the jobs, or say --all")
    oldest_first = list(reversed(await desk.dead())) if args.all else []
    jobs = oldest_first or [await desk.backend.ledger.job(JobId(job)) for job in args.jobs]
    for job in jobs:
        await act(job.id)
        if not args.json:
            print(f"job {job.id} of {job.lane} is {did}")
    if args.json:
        print_json({"jobs": [job.id for job in jobs], "did": did})
    elif not jobs:
        print("no dead jobs")
    return Exit.OK if jobs else Exit.NO
