"""`webordinary jobs`: jobs, newest first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.text import one_line
from webordinary.core.views import JobView
from webordinary.core.waiting import span
from webordinary.entrypoints.cli.arguments import add_before, add_common, add_limit, add_state
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import LINE_CHARACTERS, Cell, ago, print_json, state_colour, table

HEAD = ("JOB", "LANE", "STATE", "ATTEMPT", "SUBMITTED", "TOOK", "INSTRUCTION / NOTE")
WORDS_CHARACTERS = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--lane", type=Lane.parse, metavar="PROJECT/USER", help="only jobs of this lane")
    add_state(parser, JobState, "job")
    add_limit(parser, 20)
    add_before(parser, "job")
    add_common(parser)


def run(args: argparse.Namespace) -> int:
    """List."""
    return at_desk(args, _list)


async def _list(args: argparse.Namespace, desk: Desk) -> int:
    ledger = desk.backend.ledger
    before = (await ledger.job(JobId(args.before))).id if args.before else None
    state = JobState(args.state) if args.state else None
    if args.lane:
        await ledger.lane(args.lane)  # a lane nobody knows is worth a word
    jobs = await ledger.jobs(limit=args.limit, lane=args.lane, state=state, before=before)
    if args.json:
        print_json(jobs)
    else:
        print(in_words(jobs, desk.clock.now()))
    return Exit.OK


def in_words(jobs: Sequence[JobView], now: float) -> str:
    """A table of jobs."""
    return table(HEAD, [_row(job, now) for job in jobs]) if jobs else "no such jobs"


def _row(job: JobView, now: float) -> list[Cell]:
    words = one_line(job.instruction, WORDS_CHARACTERS)
    if job.note:
        words += f" → {one_line(job.note, LINE_CHARACTERS)}"
    return [
        job.id,
        str(job.lane),
        (job.state.value, state_colour(job.state)),
        str(job.attempt) if job.attempt else "-",
        ago(job.submitted_at, now),
        took(job, now),
        words,
    ]


def took(job: JobView, now: float) -> str:
    """How long the last attempt took, or has taken so far."""
    if job.started_at is None:
        return "-"
    end = job.finished_at if job.state in ENDED else now if job.state is JobState.RUNNING else None
    return span(end - job.started_at) if end is not None else "-"
