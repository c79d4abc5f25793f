"""Runs the real worker and broker on virtual time under faults, or searches every interleaving."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, replace

from webordinary.core.errors import BadInput
from webordinary.entrypoints.cli.arguments import add_json
from webordinary.entrypoints.cli.output import Exit
from webordinary.simulation.faults import EVERY_FAULT, Fault
from webordinary.simulation.mutants import MUTANTS
from webordinary.simulation.runner import SEEDS_TO_CATCH_A_MUTANT, Catch, RunSummary, run_many, try_mutants
from webordinary.simulation.search.graph import Report, explore
from webordinary.simulation.search.states import WORLDS
from webordinary.simulation.search.world import World
from webordinary.simulation.world import Schedule
from webordinary.simulation.world import run as run_schedule

PROGRESS_SECONDS = 5.0
SHOWN_FAILURES = 5


def configure_simulate(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--mutant", choices=sorted(MUTANTS), help="run a wrong protocol; being caught is success"
    )
    what.add_argument("--mutants", action="store_true", help="run every wrong protocol; all must be caught")
    what.add_argument("--replay", type=int, metavar="SEED", help="run one seed and print its whole trace")
    what.add_argument(
        "--exhaustive", action="store_true", help="search every interleaving of the rules in small worlds"
    )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="how many schedules (default: 200; mutants: up to 2000)"
    )
    parser.add_argument("--start", type=int, default=0, metavar="S", help="the first seed (default: 0)")
    parser.add_argument("--backend", choices=("memory", "sqlite"), default="memory", help="where jobs live")
    parser.add_argument(
        "--faults",
        type=_faults,
        default=EVERY_FAULT,
        metavar="LIST",
        help=f"of {','.join(Fault)} (default: all)",
    )
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="cores to use"
    )
    parser.add_argument("--world", choices=sorted(WORLDS), help="for --exhaustive: this one (default: all)")
    for name in ("jobs", "workers", "crashes"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help="for --exhaustive: so many, not its own")
    add_json(parser, "print JSON")


def run_simulate(args: argparse.Namespace) -> int:
    """Run what was asked for."""
    if args.exhaustive:
        return _exhaustive(args)
    if args.replay is not None:
        return _replay(args)
    if args.mutants or args.mutant:
        return _mutants(args, [args.mutant] if args.mutant else list(MUTANTS))
    return _seeds(args)


def _faults(text: str) -> frozenset[Fault]:
    try:
        return frozenset(Fault(name) for name in text.split(",") if name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; choose from {','.join(Fault)}") from None


# --- schedules ------------------------------------------------------------------------------------


def _seeds(args: argparse.Namespace) -> int:
    seeds = 200 if args.seeds is None else args.seeds
    if seeds < 1:
        raise BadInput("--seeds must be at least 1")
    schedules = (Schedule(seed, args.backend, args.faults) for seed in range(args.start, args.start + seeds))
    progress = _Progress(seeds)
    summary = run_many(schedules, processes=args.processes, progress=progress)
    seconds = progress.seconds()
    if args.json:
        print(json.dumps(_as_json(summary, seconds)))
    else:
        _print_summary(summary, seconds, args.backend)
    return Exit.NO if summary.failures else Exit.OK


class _Progress:
    """A word every few seconds, on a terminal only."""

    def __init__(self, total: int) -> None:
        self._total, self._began = total, time.monotonic()
        self._next = self._began + PROGRESS_SECONDS

    def __call__(self, summary: RunSummary) -> None:
        if sys.stderr.isatty() and time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_SECONDS
            print(f"{summary.schedules:,} of {self._total:,} schedules ...", file=sys.stderr)

    def seconds(self) -> float:
        return time.monotonic() - self._began


def _as_json(summary: RunSummary, seconds: float) -> dict[str, object]:
    return {
        "schedules": summary.schedules,
        "jobs": summary.jobs,
        "virtual_hours": summary.virtual_seconds / 3600,
        "steps": summary.steps,
        "faults": {fault.value: summary.faults.get(fault, 0) for fault in Fault},
        "violations": [{"seed": report.seed, "violations": report.violations} for report in summary.failures],
        "seconds": seconds,
        "schedules_per_second": summary.schedules / seconds,
    }


def _print_summary(summary: RunSummary, seconds: float, backend: str) -> None:
    faults = ", ".join(f"{fault} {summary.faults[fault]:,}" for fault in Fault if fault in summary.faults)
    print(f"backend       {backend}")
    print(
        f"schedules     {summary.schedules:,} in {seconds:.1f} s, {summary.schedules / seconds:.1f} a second"
    )
    print(f"virtual time  {summary.virtual_seconds / 3600:,.1f} hours, {summary.steps:,} steps")
    print(f"jobs          {summary.jobs:,}")
    print(f"faults        {faults or 'none'}")
    print(f"violations    {len(summary.failures)}")
    for report in summary.failures[:SHOWN_FAILURES]:
        print(f"\nseed {report.seed}: {report.violations[0]}")
        print(f"replay it with: webordinary simulate --replay {report.seed} --backend {backend}")


def _replay(args: argparse.Namespace) -> int:
    report = run_schedule(Schedule(args.replay, args.backend, args.faults), trace=True)
    if args.json:
        print(
            json.dumps(
                {"seed": report.seed, "violations": report.violations, "trace": report.trace.split("\n")}
            )
        )
    else:
        print(report.trace)
        print(f"seed {report.seed}: {report.violations or 'no violation'}")
    return Exit.NO if report.violations else Exit.OK


# --- mutants --------------------------------------------------------------------------------------


def _mutants(args: argparse.Namespace, names: list[str]) -> int:
    seeds = SEEDS_TO_CATCH_A_MUTANT if args.seeds is None else args.seeds
    catches: list[Catch] = []
    if not args.json:
        print(f"{'mutant':<28} {'seed':>5}  {'caught by':<36} right protocol, same weather")
    for catch in try_mutants(names, start=args.start, seeds=seeds, processes=min(args.processes, len(names))):
        catches.append(catch)
        if not args.json:
            _print_catch(catch)
    if args.json:
        print(json.dumps([{name: getattr(catch, name) for name in Catch.__slots__} for catch in catches]))
    elif all(catch.good for catch in catches):
        print(f"all {len(catches)} caught")
    return Exit.OK if all(catch.good for catch in catches) else Exit.NO


def _print_catch(catch: Catch) -> None:
    control = f"clean in {catch.control_seeds} seeds" if catch.control_seeds else "checked by --seeds"
    if catch.control_violation:
        control = f"CAUGHT TOO: {catch.control_violation}"
    seed = "-" if catch.seed is None else str(catch.seed)
    print(f"{catch.name:<28} {seed:>5}  {catch.checker or 'NOT CAUGHT':<36} {control}", flush=True)


# --- the exhaustive search --------------------------------------------------------------------------


def _exhaustive(args: argparse.Namespace) -> int:
    sizes = {name: getattr(args, name) for name in ("jobs", "workers", "crashes")}
    own = {name: size for name, size in sizes.items() if size is not None}
    reports: list[Report] = []
    for name in [args.world] if args.world else WORLDS:
        began = time.monotonic()
        world = World(replace(WORLDS[name], **own))
        reports.append(explore(world, progress=_states_found if sys.stderr.isatty() else None))
        if not args.json:
            print(f"{name:18} {time.monotonic() - began:6.1f} s  {reports[-1]}", flush=True)
    if args.json:
        print(json.dumps([asdict(report) for report in reports]))
    else:
        print(f"{sum(report.states for report in reports):,} states in all")
    return Exit.OK if all(report.ok for report in reports) else Exit.NO


def _states_found(states: int) -> None:
    if states % 50_000 == 0:
        print(f"{states:,} states ...", file=sys.stderr)
