"""`webordinary submit`, `undo`, `redo` and `publish`: a job into a lane, and back with its result."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from webordinary.core.errors import BadInput
from webordinary.core.job import ENDED, INSTRUCTION_CHARACTERS, Arrival, Duplicate, Intent, JobState
from webordinary.core.views import JobView
from webordinary.core.waiting import UNOWNED, Cause, Reason, counted, span
from webordinary.dispatch.submit import Receipt, Request, submit
from webordinary.entrypoints.cli.arguments import add_common, add_lane, seconds
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.follow import Follower
from webordinary.entrypoints.cli.output import Exit, clean, exit_of, painted, print_json, state_colour, typed

BYTES_PER_CHARACTER = 4


def configure_submit(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_lane(parser)
    parser.add_argument("text", metavar="TEXT", help="the instruction; - reads it from standard input")
    add_wait(parser)
    parser.add_argument(
        "--id", metavar="MESSAGE_ID", help="the same id twice in a lane is one job (default: a new one)"
    )
    parser.add_argument(
        "--policy",
        choices=[arrival.value for arrival in Arrival],
        help="what it does to jobs before it: stop the running edit if that was submitted here, too, and not "
        "by mail; stop any running edit; wait behind all; or replace those that have not started "
        "(default: the project's policy)",
    )
    add_common(parser)


def configure_word(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `undo`, `redo` and `publish`."""
    add_lane(parser)
    add_wait(parser)
    add_common(parser)


def add_wait(parser: argparse.ArgumentParser) -> None:
    """How long to wait for a result."""
    parser.add_argument(
        "--wait",
        type=seconds,
        metavar="SECONDS",
        help="wait up to SECONDS for the result; the exit code says how it ended",
    )


def run_submit(args: argparse.Namespace) -> int:
    """Submit, and wait if asked to."""
    policy = Arrival(args.policy) if args.policy else None
    args.request = Request(args.lane, _instruction(args.text), args.id, policy=policy)
    return in_context(args, submit_and_wait, create=True)


def run_word(args: argparse.Namespace, *, intent: Intent) -> int:
    """Submit one word, as a mail of one word would."""
    args.request = Request(args.lane, intent=intent)
    return in_context(args, submit_and_wait)


configure_undo = configure_redo = configure_publish = configure_word
run_undo = partial(run_word, intent=Intent.UNDO)
run_redo = partial(run_word, intent=Intent.REDO)
run_publish = partial(run_word, intent=Intent.PUBLISH)


def _instruction(text: str) -> str:
    if text != "-":
        return text
    data = sys.stdin.buffer.read(INSTRUCTION_CHARACTERS * BYTES_PER_CHARACTER + 1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(
            "standard input is not UTF-8 text, or is far too long; nothing was submitted"
        ) from error


async def submit_and_wait(args: argparse.Namespace, context: Context) -> int:
    """Submit `args.request`, and wait if asked to."""
    backend = context.backend
    # An instruction is also for pools that echo or run a program, and know no projects.
    is_edit = args.request.intent is Intent.EDIT
    receipt = await submit(args.request, backend, context.clock, any_project=is_edit)
    reported = await _report(receipt, context) if not args.json else None
    if args.wait is None:
        if args.json:
            print_json(_as_json(receipt))
        else:
            print(f"  to follow it: {typed('job', receipt.stored.job, home=context.settings.home)}")
        return Exit.OK
    sys.stdout.flush()  # whoever reads this through a pipe wants to know before the wait
    follower = Follower(context, quiet=args.json, reported=reported)
    job = await follower.follow(receipt.stored.job, context.clock.monotonic() + args.wait)
    reason = await context.reason(job) if job.state not in ENDED else None
    if args.json:
        print_json(_as_json(receipt) | {"result": job, "picked_up": picked_up(job), "why": reason})
    else:
        print(in_words(job, reason, args.wait))
    return exit_of(job.state)


def picked_up(job: JobView) -> bool:
    """Whether a worker has ever had the job."""
    return job.started_at is not None


# --- what is printed -----------------------------------------------------------------------------


def _as_json(receipt: Receipt) -> dict[str, object]:
    stored = receipt.stored
    fresh = not isinstance(stored, Duplicate)
    return {
        "job": stored.job,
        "lane": receipt.lane,
        "duplicate": not fresh,
        "ahead": stored.ahead if not isinstance(stored, Duplicate) else None,
        "interrupts": stored.interrupts if not isinstance(stored, Duplicate) else None,
        "owner": receipt.owner,
    }


async def _report(receipt: Receipt, context: Context) -> tuple[JobState, Cause] | None:
    """Say what became of the request; give back why it waits, if that was said."""
    job, stored = await context.backend.ledger.job(receipt.stored.job), receipt.stored
    if isinstance(stored, Duplicate):
        print(f"{receipt.lane} already has this message id as job {stored.job}; nothing was stored")
    else:
        print(f"job {stored.job} is in {receipt.lane}, {_place(stored.ahead)}")
        if stored.interrupts:
            print(f"  job {stored.interrupts} is asked to stop in its favour")
    if receipt.owner is not None:
        now = context.clock.now()
        print(f"  {receipt.owner.worker} has held the lane for {span(now - receipt.owner.claimed_at)}")
    elif job.state not in ENDED:
        reason = await context.reason(job)
        # Since the gatekeeper looked, a worker may have come: then the reason names it.
        nobody = "nobody holds the lane yet: " if reason.cause in UNOWNED else ""
        start = f"; start some with `{typed('up', home=context.settings.home)}`"
        print(f"  {nobody}{reason.text}{start if reason.cause is Cause.NO_WORKER else ''}")
        return job.state, reason.cause
    return None


def _place(ahead: int) -> str:
    return "first in line" if not ahead else f"with {counted(ahead, 'job')} ahead of it"


def in_words(job: JobView, reason: Reason | None, waited: float) -> str:
    """Say how a job stands at the end of a wait."""
    note = f": {clean(job.note)}" if job.note else ""
    if job.state in ENDED:
        took = span((job.finished_at or job.submitted_at) - job.submitted_at)
        return f"{painted(job.state.value, state_colour(job.state))} after {took}{note}"
    because = f": {reason.text}" if reason else ""
    if not picked_up(job):
        return f"no worker has picked it up within {span(waited)}{because}"
    word = "still running" if job.state is JobState.RUNNING else f"still {job.state.value}"
    return f"{word} after {span(waited)}{because}"
