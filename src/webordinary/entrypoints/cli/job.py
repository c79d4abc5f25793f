"""`webordinary job`: one job and what happened to it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from webordinary.core.job import ENDED, JobId
from webordinary.core.mail import MailId
from webordinary.core.text import one_line
from webordinary.core.views import JobView, LaneEvent
from webordinary.core.waiting import Reason, counted
from webordinary.core.work import KeptEvent
from webordinary.entrypoints.cli.arguments import add_common
from webordinary.entrypoints.cli.desk import Desk, at_desk
from webordinary.entrypoints.cli.exits import Exit
from webordinary.entrypoints.cli.words import (
    BOLD,
    FAINT,
    LINE_CHARACTERS,
    ago,
    clean,
    indented,
    painted,
    print_json,
    state_colour,
)
from webordinary.reply.phrases import changes_in_words

EVENTS_MAX = 500


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("job", metavar="JOB", help="its id; a unique beginning is enough")
    add_diff(parser)
    add_common(parser)


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Whether to show the patch."""
    parser.add_argument("--diff", action="store_true", help="show what it changed, as a patch")


def run(args: argparse.Namespace) -> int:
    """Show."""
    return at_desk(args, show)


async def show(args: argparse.Namespace, desk: Desk) -> int:
    """Show the job and its timeline."""
    ledger = desk.backend.ledger
    job, mail = await _with_message_id(await ledger.job(JobId(args.job)), desk)
    events = await ledger.history(job.lane, limit=EVENTS_MAX, job=job)
    said = await desk.backend.journal.events(job.id, limit=EVENTS_MAX)
    reason = await desk.reason(job) if job.state not in ENDED else None
    patch = await _patch(job, desk) if args.diff else ""
    if args.json:
        diff = {"diff": patch} if args.diff else {}
        print_json({"job": job, "mail": mail, "history": events, "events": said, "why": reason} | diff)
        return Exit.OK
    print(in_words(job, mail, events, reason, desk.clock.now()))
    if said:
        print("\n".join(["", painted("agent", BOLD), *_said(job, said)]))
    if args.diff:
        print(f"\n{painted('diff', BOLD)}\n{clean(patch) or '  nothing changed'}")
    return Exit.OK


async def _with_message_id(job: JobView, desk: Desk) -> tuple[JobView, MailId | None]:
    """A job that a mail asked for is stored under our id of that mail; people know the mail's own."""
    mail = await desk.backend.mailbox.mail(MailId(job.message_id))
    if mail is None:
        return job, None
    return replace(job, message_id=mail.message_id or job.message_id), mail.id


async def _patch(job: JobView, desk: Desk) -> str:
    key = job.facts.preview.patch if job.facts.preview else ""
    if not key:
        return ""
    content = await desk.backend.blobs.get(key)
    return content.decode(errors="replace")


def _said(job: JobView, said: Sequence[KeptEvent]) -> list[str]:
    first = job.submitted_at
    return [f"  {one.at - first:+9.2f} s  {one.kind.value:<8} {one_line(one.text, 160)}" for one in said]


def in_words(
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
