"""`webordinary status`: the pool, the jobs, and the lanes that have work."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict, dataclass

from webordinary.core.job import JobState
from webordinary.core.json_codec import fields
from webordinary.core.limits import Limits
from webordinary.core.views import LaneView, WorkerView
from webordinary.core.waiting import QUIET, SILENT_BEATS, Reason, counted, span
from webordinary.entrypoints.cli.arguments import LIST_MAX, add_common
from webordinary.entrypoints.cli.context import Context, in_context
from webordinary.entrypoints.cli.members import came_back
from webordinary.entrypoints.cli.output import (
    BOLD,
    FAINT,
    YELLOW,
    Cell,
    Exit,
    ago,
    cause_colour,
    painted,
    print_json,
    state_colour,
    table,
    typed,
)
from webordinary.identify.find import unreachable
from webordinary.operations.running import LOOPBACK, Running, running
from webordinary.ports.bounces import Bouncing

WATCH_SECONDS = 1.0
LANES_SHOWN = 20
LANES_LOOKED_AT = 150  # more are shown as "150 and more"
HOME_AND_CLEAR = "\x1b[H\x1b[J"


def configure_status(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--watch", action="store_true", help="refresh every second, until Ctrl-C")
    add_common(parser)


def run_status(args: argparse.Namespace) -> int:
    """Show, once or again and again."""
    return in_context(args, _watch if args.watch else _once)


@dataclass(frozen=True, slots=True)
class Overview:
    """All that `status` shows, at one moment."""

    now: float
    home: str
    store: str
    workers: list[WorkerView]
    jobs: dict[JobState, int]
    lanes: list[tuple[LaneView, Reason]]  # those that have work
    more_lanes: bool  # than were looked at
    running: Running | None = None  # what `up` runs here
    bouncing: tuple[Bouncing, ...] = ()  # addresses whose mail comes back


async def look(context: Context) -> Overview:
    """Read everything that `status` shows."""
    ledger, home = context.backend.ledger, context.settings.home
    busy = await ledger.lanes(limit=LANES_LOOKED_AT + 1, busy=True)
    with_work = [lane for lane in busy[:LANES_LOOKED_AT] if lane.depth]
    return Overview(
        context.clock.now(),
        str(home),
        context.platform.traits.store_name,
        await ledger.workers(),
        await ledger.counts(),
        await context.reasons(with_work),
        len(busy) > LANES_LOOKED_AT,
        running(home),
        tuple(await unreachable(context.backend.bounces, context.backend.directory, limit=LIST_MAX)),
    )


async def _once(args: argparse.Namespace, context: Context) -> int:
    picture = await look(context)
    if args.json:
        print_json(as_json(picture, context.settings.limits))
    else:
        print(in_words(picture, context))
    return Exit.OK


async def _watch(args: argparse.Namespace, context: Context) -> int:
    try:
        while True:
            picture = await look(context)
            if args.json:
                print_json(as_json(picture, context.settings.limits), lines=True)
            else:
                screen = HOME_AND_CLEAR if sys.stdout.isatty() else ""
                print(f"{screen}{in_words(picture, context)}\n", flush=True)
            await context.clock.sleep(WATCH_SECONDS)
    except asyncio.CancelledError:  # Ctrl-C is how one stops watching
        return Exit.OK


def as_json(picture: Overview, limits: Limits) -> dict[str, object]:
    """For scripts."""
    return {
        "now": picture.now,
        "home": picture.home,
        "store": picture.store,
        **_ports(picture),
        "slots": sum(worker.slots for worker in picture.workers),
        "slots_taken": sum(len(worker.lanes) for worker in picture.workers),
        "workers": [
            {**fields(worker), "healthy": healthy(worker, limits, picture.now)} for worker in picture.workers
        ],
        "jobs": picture.jobs,
        "lanes": [{**fields(lane), "why": reason} for lane, reason in picture.lanes],
        "more_lanes": picture.more_lanes,
        "bouncing": picture.bouncing,
    }


def _ports(picture: Overview) -> dict[str, int | bool]:
    """Where `up` listens; nothing if it does not run here."""
    if picture.running is None:
        return {}
    if picture.running.leaving:
        return {"leaving": True}
    return {name: value for name, value in asdict(picture.running).items() if name.endswith("port")}


def healthy(worker: WorkerView, limits: Limits, now: float) -> bool:
    """Whether a worker beats as it should."""
    return now - worker.seen_at <= SILENT_BEATS * limits.beat_seconds


def in_words(picture: Overview, context: Context) -> str:
    """For people."""
    parts = [
        f"{painted('store', BOLD)}    {picture.store}",
        *_addresses(picture),
        _pool(picture, context),
        f"{painted('jobs', BOLD)}     {_counts(picture)}",
        _lanes(picture, context),
        *(
            f"{painted('mail', BOLD)}     {painted(came_back(one, picture.now), YELLOW)}"
            for one in picture.bouncing
        ),
    ]
    return "\n".join(parts)


def _addresses(picture: Overview) -> list[str]:
    up = picture.running
    if up is None:
        return []
    if up.leaving:
        return [
            f"{painted('up', BOLD)}       leaving (pid {up.pid}): running jobs may finish or are handed back"
        ]
    where = f"dashboard {up.dashboard}, sites {up.sites}, mail at {LOOPBACK}:{up.smtp_port}"
    return [f"{painted('up', BOLD)}       {where}"]


def _pool(picture: Overview, context: Context) -> str:
    title, workers = painted("workers", BOLD), picture.workers
    if not workers:
        return f"{title}  none; start some with `{typed('up', home=context.settings.home)}`"
    slots = sum(worker.slots for worker in workers)
    taken = sum(len(worker.lanes) for worker in workers)
    rows = [_worker_row(worker, context.settings.limits, picture.now) for worker in workers]
    head = ("WORKER", "SLOTS", "UP", "SEEN", "STATE", "LANES HELD")
    return (
        f"{title}  {len(workers)}, with {taken} of {counted(slots, 'slot')} taken\n{table(head, rows, '  ')}"
    )


def _worker_row(worker: WorkerView, limits: Limits, now: float) -> list[Cell]:
    state: Cell = ("draining", YELLOW) if worker.draining else "well"
    if not healthy(worker, limits, now):
        state = ("silent", YELLOW)
    held = ", ".join(map(str, worker.lanes)) or "-"
    slots = f"{len(worker.lanes)}/{worker.slots}"
    return [worker.worker, slots, span(now - worker.since), ago(worker.seen_at, now), state, held]


def _counts(picture: Overview) -> str:
    """Count jobs by state. One whose worker is gone runs no more, whatever its last word was."""
    cut_off = sum(1 for lane, _ in picture.lanes if lane.running and not lane.owned_at(picture.now))
    counts = {**picture.jobs, JobState.RUNNING: picture.jobs.get(JobState.RUNNING, 0) - cut_off}
    shown = [
        painted(f"{count:,} {state.value}", state_colour(state))
        for state, count in counts.items()
        if count > 0
    ]
    if cut_off:
        shown.append(painted(f"{cut_off:,} cut off, to start again with the next worker", YELLOW))
    return ", ".join(shown) or "none yet"


def _lanes(picture: Overview, context: Context) -> str:
    title, lanes = painted("lanes", BOLD), picture.lanes
    if not lanes:
        return f"{title}    none has work"
    ordered = sorted(lanes, key=lambda one: one[1].cause in QUIET)[:LANES_SHOWN]
    rows: list[list[Cell]] = [
        [str(lane.lane), (reason.cause.value, cause_colour(reason.cause)), f"{lane.depth:,}", reason.text]
        for lane, reason in ordered
    ]
    many = f"{len(lanes):,} and more" if picture.more_lanes else f"{len(lanes):,}"
    shown = f"{title}    {many} with work\n{table(('LANE', 'STATE', 'JOBS', 'WHY'), rows, '  ')}"
    if len(lanes) > LANES_SHOWN:
        more = typed("lanes", home=context.settings.home)
        hidden = "others" if picture.more_lanes else f"{len(lanes) - LANES_SHOWN:,} more"
        shown += painted(f"\n  and {hidden}: {more}", FAINT)
    return shown
