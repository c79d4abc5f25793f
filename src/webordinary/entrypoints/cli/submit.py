"""`webordinary submit`: a job into a lane, and back with its result."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import dataclass

from webordinary.core.errors import BadInput
from webordinary.core.job import ENDED, INSTRUCTION_CHARACTERS, Arrival, Duplicate, Intent, JobId, JobState
from webordinary.core.views import JobView
from webordinary.core.waiting import UNOWNED, Cause, Reason, counted, span
from webordinary.dispatch.submit import Receipt, Request, submit
from webordinary.entrypoints.cli.arguments import add_common, add_lane, seconds
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit, exit_of
from webordinary.entrypoints.cli.invocation import typed
from webordinary.entrypoints.cli.words import FAINT, clean, painted, print_json, state_colour

LOOK_SECONDS = 0.5  # how often somebody who waits is told what changed
BYTES_PER_CHARACTER = 4


def configure(parser: argparse.ArgumentParser) -> None:
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


def add_wait(parser: argparse.ArgumentParser) -> None:
    """How long to wait for a result."""
    parser.add_argument(
        "--wait",
        type=seconds,
        metavar="SECONDS",
        help="wait so long for the result; the exit code tells how it ended",
    )


def run(args: argparse.Namespace) -> int:
    """Submit, and wait if asked to."""
    policy = Arrival(args.policy) if args.policy else None
    args.request = Request(args.lane, _instruction(args.text), args.id, policy=policy)
    return at_desk(args, submit_and_wait, create=True)


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


async def submit_and_wait(args: argparse.Namespace, desk: Desk) -> int:
    """Submit `args.request`, and wait if asked to."""
    backend = desk.backend
    # An instruction is also for pools that echo or run a program, and know no projects.
    is_edit = args.request.intent is Intent.EDIT
    receipt = await submit(args.request, backend, desk.clock, any_project=is_edit)
    told = await _tell(receipt, desk) if not args.json else None
    if args.wait is None:
        if args.json:
            print_json(_as_json(receipt))
        else:
            print(f"  to follow it: {typed('job', receipt.stored.job, home=desk.settings.home)}")
        return Exit.OK
    sys.stdout.flush()  # whoever reads this through a pipe wants to know before the wait
    job = await _Wait(desk, receipt.stored.job, quiet=args.json, told=told).wait(args.wait)
    reason = await desk.reason(job) if job.state not in ENDED else None
    if args.json:
        print_json(_as_json(receipt) | {"result": job, "picked_up": picked_up(job), "why": reason})
    else:
        print(in_words(job, reason, args.wait))
    return exit_of(job.state)


def picked_up(job: JobView) -> bool:
    """Whether a worker has ever had the job."""
    return job.started_at is not None


# --- what is told ---------------------------------------------------------------------------------


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


async def _tell(receipt: Receipt, desk: Desk) -> tuple[JobState, Cause] | None:
    """Say what became of the request; give back why it waits, if that was said."""
    job, stored = await desk.backend.ledger.job(receipt.stored.job), receipt.stored
    if isinstance(stored, Duplicate):
        print(f"{receipt.lane} already has this message id as job {stored.job}; nothing was stored")
    else:
        print(f"job {stored.job} is in {receipt.lane}, {_place(stored.ahead)}")
        if stored.interrupts:
            print(f"  job {stored.interrupts} is asked to stop in its favour")
    if receipt.owner is not None:
        now = desk.clock.now()
        print(f"  {receipt.owner.worker} has held the lane for {span(now - receipt.owner.claimed_at)}")
    elif job.state not in ENDED:
        reason = await desk.reason(job)
        # Since the gatekeeper looked, a worker may have come: then the reason names it.
        nobody = "nobody holds the lane yet: " if reason.cause in UNOWNED else ""
        start = f"; start some with `{typed('up', home=desk.settings.home)}`"
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


@dataclass(slots=True)
class _Wait:
    """Waiting for a job, with a word on standard error whenever something changes."""

    desk: Desk
    job: JobId
    quiet: bool
    told: object = None

    async def wait(self, for_seconds: float) -> JobView:
        clock, ledger = self.desk.clock, self.desk.backend.ledger
        deadline = clock.monotonic() + for_seconds
        try:
            while True:
                left = max(deadline - clock.monotonic(), 0.0)
                view = await ledger.result(self.job, wait=min(left, LOOK_SECONDS))
                if view.state in ENDED or left <= 0:
                    return view
                await self._tell(view)
        except asyncio.CancelledError:
            self._say(
                f"stopped waiting; the job goes on: {typed('job', self.job, home=self.desk.settings.home)}"
            )
            raise

    async def _tell(self, view: JobView) -> None:
        reason = await self.desk.reason(view)
        now = (view.state, view.attempt) if view.state is JobState.RUNNING else (view.state, reason.cause)
        if now != self.told:
            self.told = now
            running = view.state is JobState.RUNNING
            self._say(f"running on {view.worker}" if running else f"{view.state.value}: {reason.text}")

    def _say(self, text: str) -> None:
        if not self.quiet:
            print(painted(f"  {text}", FAINT, stream=sys.stderr), file=sys.stderr, flush=True)
