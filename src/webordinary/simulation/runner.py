"""Many schedules, on all cores, and what they add up to."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from webordinary.simulation.faults import Fault
from webordinary.simulation.mutants import MUTANTS
from webordinary.simulation.world import Report, Schedule, run

SEEDS_TO_CATCH_A_MUTANT = 2000
CONTROL_SEEDS = 100
CHUNK = 20


@dataclass(slots=True)
class RunSummary:
    """What a number of schedules showed together."""

    schedules: int = 0
    jobs: int = 0
    virtual_seconds: float = 0.0
    steps: int = 0
    faults: dict[Fault, int] = field(default_factory=dict)
    failures: list[Report] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """Count one more schedule."""
        self.schedules += 1
        self.jobs += report.jobs
        self.virtual_seconds += report.virtual_seconds
        self.steps += report.steps
        for fault, count in report.faults.items():
            self.faults[fault] = self.faults.get(fault, 0) + count
        if report.violations:
            self.failures.append(report)


@dataclass(frozen=True, slots=True)
class Catch:
    """How a mutant fared: caught at a seed by a checker, or not at all; and its control."""

    name: str
    what: str
    seed: int | None
    checker: str | None
    violation: str | None
    control_seeds: int
    control_violation: str | None

    @property
    def good(self) -> bool:
        """Whether the mutant was caught, and the right protocol was not."""
        return self.seed is not None and self.control_violation is None


def run_many(
    schedules: Iterable[Schedule], *, processes: int, progress: Callable[[RunSummary], None] = lambda _: None
) -> RunSummary:
    """Run schedules on several cores; the order of the results does not depend on that."""
    summary = RunSummary()
    for report in _reports(schedules, processes):
        summary.add(report)
        progress(summary)
    return summary


def _reports(schedules: Iterable[Schedule], processes: int) -> Iterator[Report]:
    if processes == 1:
        yield from map(run, schedules)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(run, schedules, chunksize=CHUNK)


def try_mutant(name: str, *, start: int = 0, seeds: int = SEEDS_TO_CATCH_A_MUTANT) -> Catch:
    """Run a wrong protocol until a checker catches it, and the right one under the same weather."""
    mutant = MUTANTS[name]
    right = Schedule(start, faults=mutant.faults, sweep=mutant.sweep)
    wrong = replace(right, mutant=name)
    caught = _first_failure(replace(wrong, seed=seed) for seed in range(start, start + seeds))
    control = range(start, start + CONTROL_SEEDS) if mutant.has_control else range(0)
    slipped = _first_failure(replace(right, seed=seed) for seed in control)
    return Catch(
        name=name,
        what=mutant.what,
        seed=caught.seed if caught else None,
        checker=caught.checker if caught else None,
        violation=caught.violations[0] if caught else None,
        control_seeds=len(control),
        control_violation=slipped.violations[0] if slipped else None,
    )


def try_mutants(names: Iterable[str], *, start: int = 0, seeds: int, processes: int) -> Iterator[Catch]:
    """Run several wrong protocols, on several cores."""
    calls = [(name, start, seeds) for name in names]
    if processes == 1:
        yield from map(_try, calls)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(_try, calls)


def _try(call: tuple[str, int, int]) -> Catch:
    name, start, seeds = call
    return try_mutant(name, start=start, seeds=seeds)


def _first_failure(schedules: Iterable[Schedule]) -> Report | None:
    return next((report for report in map(run, schedules) if report.violations), None)
