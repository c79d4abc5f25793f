"""`webordinary jobs`, `job` and `dead`: jobs, what happened to each, and those whose attempts ran out."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from webordinary.core.errors import BadInput
from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import MailId
from webordinary.core.text import one_line
from webordinary.core.views import JobView, LaneEvent
from webordinary.core.waiting import Reason, counted, span
from webordinary.core.work import KeptEvent
from webordinary.entrypoints.cli.arguments import add_before, add_common, add_limit, add_state
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.output import (
    BOLD,
    FAINT,
    LINE_CHARACTERS,
    Cell,
    Exit,
    ago,
    clean,
    indented,
    painted,
    print_json,
    show,
    state_colour,
    table,
)
from webordinary.reply.rendering import changes_in_words

EVENTS_MAX = 500

JOBS_HEAD = ("JOB", "LANE", "STATE", "ATTEMPT", "SUBMITTED", "TOOK", "INSTRUCTION / NOTE")
WORDS_CHARACTERS = 40


def configure_jobs(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--lane", type=Lane.parse, metavar="PROJECT/USER", help="only jobs of this lane")
    add_state(parser, JobState, "job")
    add_limit(parser, 20)
    add_before(parser, "job")
    add_common(parser)


async def run_jobs(args: argparse.Namespace, context: Context) -> int:
    """List."""
    ledger = context.backend.ledger
    before = (await ledger.job(JobId(args.before))).id if args.before else None
    state = JobState(args.state) if args.state else None
    if args.lane:
        await ledger.lane(args.lane)  # a lane nobody knows is worth a word
    jobs = await ledger.jobs(limit=args.limit, lane=args.lane, state=state, before=before)
    return show(args, jobs, jobs_table(jobs, context.clock.now()))


def jobs_table(jobs: Sequence[JobView], now: float) -> str:
    """A table of jobs."""
    return table(JOBS_HEAD, [_job_row(job, now) for job in jobs]) if jobs else "no such jobs"


def _job_row(job: JobView, now: float) -> list[Cell]:
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


def configure_job(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("job", metavar="JOB", help="job id, or a unique prefix of it")
    add_diff(parser)
    add_common(parser)


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Whether to show the patch."""
    parser.add_argument("--diff", action="store_true", help="show what it changed, as a patch")


async def run_job(args: argparse.Namespace, context: Context) -> int:
    """Show the job and its timeline."""
    ledger = context.backend.ledger
    job, mail = await _with_message_id(await ledger.job(JobId(args.job)), context)
    events = await ledger.history(job.lane, limit=EVENTS_MAX, job=job)
    said = await context.backend.journal.events(job.id, limit=EVENTS_MAX)
    reason = await context.reason(job) if job.state not in ENDED else None
    patch = await _patch(job, context) if args.diff else ""
    if args.json:
        diff = {"diff": patch} if args.diff else {}
        print_json({"job": job, "mail": mail, "history": events, "events": said, "why": reason} | diff)
        return Exit.OK
    print(_job_in_words(job, mail, events, reason, context.clock.now()))
    if said:
        print("\n".join(["", painted("agent", BOLD), *_said(job, said)]))
    if args.diff:
        print(f"\n{painted('diff', BOLD)}\n{clean(patch) or '  nothing changed'}")
    return Exit.OK


async def _with_message_id(job: JobView, context: Context) -> tuple[JobView, MailId | None]:
    """A job that a mail asked for is stored under our id of that mail; people know the mail's own."""
    mail = await context.backend.mailbox.mail(MailId(job.message_id))
    if mail is None:
        return job, None
    return replace(job, message_id=mail.message_id or job.message_id), mail.id


async def _patch(job: JobView, context: Context) -> str:
    key = job.facts.preview.patch if job.facts.preview else ""
    if not key:
        return ""
    content = await context.backend.blobs.get(key)
    return content.decode(errors="replace")


def _said(job: JobView, said: Sequence[KeptEvent]) -> list[str]:
    first = job.submitted_at
    return [f"  {one.at - first:+9.2f} s  {one.kind.value:<8} {one_line(one.text, 160)}" for one in said]


def _job_in_words(
    job: JobView, mail: MailId | None, events: Sequence[LaneEvent], reason: Reason | None, now: float
) -> str:
    """For people."""
    attempts = f", {counted(job.attempt, 'attempt')}" if job.attempt else ""
    state = painted(job.state.value, state_colour(job.state))
    lines = [f"{painted('job', BOLD)} {job.id} in {job.lane}: {state}{attempts}"]
    if reason is not None:
        lines.append(f"  {reason.text}")
    if job.interrupted:
        by = f"the newer job {job.interrupted_by}" if job.interrupted_by else "the operator"
        lines.append(f"  asked to stop by {by}")
    came = f"mail {mail}, message id" if mail else "message id"
    lines.append(
        painted(f"  {came} {one_line(job.message_id, LINE_CHARACTERS)}, policy {job.arrival}", FAINT)
    )
    lines += ["", painted("instruction", BOLD), indented(job.instruction, 2)]
    lines += ["", painted("timeline", BOLD), *_timeline(job, events, now)]
    if job.note:
        lines += ["", painted("note", BOLD), indented(job.note, 2)]
    changes = changes_in_words(job.facts.changes)
    if changes:
        lines += ["", painted("changes", BOLD), indented("\n".join(changes), 2)]
    if job.facts.address:
        place = "live" if job.facts.live else "preview"
        lines += ["", f"{painted(place, BOLD)}  {one_line(job.facts.address, LINE_CHARACTERS)}"]
    return "\n".join(lines)


def _timeline(job: JobView, events: Sequence[LaneEvent], now: float) -> list[str]:
    moments = [(job.submitted_at, "submitted"), *((event.at, _event(event)) for event in events)]
    if job.started_at is not None:
        moments.append((job.started_at, f"attempt {job.attempt} started on {job.worker}"))
    if job.finished_at is not None:
        moments.append((job.finished_at, job.state.value))
    first = job.submitted_at
    return [
        f"  {at - first:+9.2f} s  {ago(at, now):>14}  {what}"
        for at, what in sorted(moments, key=lambda m: m[0])
    ]


def _event(event: LaneEvent) -> str:
    of_lane = event.worker and event.job is None
    by = f" {event.what.link} {event.worker} (fence {event.fence})" if of_lane else ""
    note = f": {one_line(event.note, 120)}" if event.note else ""
    return f"{'lane ' if event.job is None else ''}{event.what.value}{by}{note}"


def configure_dead(parser: argparse.ArgumentParser) -> None:
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
    showing.add_argument("job", metavar="JOB", help="job id, or a unique prefix of it")
    add_diff(showing)
    redriving = verb(
        "redrive", "queue dead jobs again, behind what waits in their lanes, with all their attempts"
    )
    dropping = verb("drop", "drop dead jobs for good")
    for several in (redriving, dropping):
        several.add_argument("jobs", nargs="*", metavar="JOB", help="job ids, or unique prefixes of them")
        several.add_argument("--all", action="store_true", help="every dead job")
    for one in (listing, showing, redriving, dropping):
        add_common(one)


def run_dead(args: argparse.Namespace) -> int:
    """Do what the verb says."""
    verbs: dict[str, Callable[[argparse.Namespace, Context], Awaitable[int]]] = {
        "list": _dead,
        "show": run_job,
        "redrive": _redrive,
        "drop": _drop,
    }
    return in_context(args, verbs[args.verb])


async def _dead(args: argparse.Namespace, context: Context) -> int:
    dead = await context.dead(args.limit)
    return show(args, dead, jobs_table(dead, context.clock.now()) if dead else "no dead jobs")


async def _redrive(args: argparse.Namespace, context: Context) -> int:
    return await _each(args, context, context.backend.control.redrive, "queued again")


async def _drop(args: argparse.Namespace, context: Context) -> int:
    return await _each(args, context, context.backend.control.drop, "dropped")


async def _each(
    args: argparse.Namespace, context: Context, act: Callable[[JobId], Awaitable[None]], did: str
) -> int:
    if bool(args.jobs) == args.all:
        raise BadInput("name the jobs, or say --all")
    oldest_first = list(reversed(await context.dead())) if args.all else []
    jobs = oldest_first or [await context.backend.ledger.job(JobId(job)) for job in args.jobs]
    for job in jobs:
        await act(job.id)
        if not args.json:
            print(f"job {job.id} of {job.lane} is {did}")
    value = {"jobs": [job.id for job in jobs], "did": did}
    return show(args, value, "" if jobs else "no dead jobs", Exit.OK if jobs else Exit.NO)
