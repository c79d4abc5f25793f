"""The real worker and broker code under faults, on virtual time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from webordinary.simulation.faults import Fault
from webordinary.simulation.mutants import MUTANTS
from webordinary.simulation.runner import try_mutant
from webordinary.simulation.world import BackendName, Schedule, run

MEMORY_SEEDS = int(os.environ.get("WEBORDINARY_MEMORY_SEEDS", "400"))
SQLITE_SEEDS = int(os.environ.get("WEBORDINARY_SQLITE_SEEDS", "80"))
SLICES = 4


@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize(("backend", "seeds"), [("memory", MEMORY_SEEDS), ("sqlite", SQLITE_SEEDS)])
def test_no_schedule_breaks_a_promise(backend: BackendName, seeds: int, part: int) -> None:
    """Nothing lost, reordered or done twice, whatever is killed, paused or cut off at any await."""
    for seed in range(part, seeds, SLICES):
        report = run(Schedule(seed, backend))
        assert not report.violations, f"seed {seed}: {report.violations}\n{report.trace}"


@pytest.mark.parametrize(("backend", "seeds"), [("memory", MEMORY_SEEDS // 8), ("sqlite", SQLITE_SEEDS // 4)])
def test_without_faults_nothing_is_repeated_and_every_stop_is_heeded(
    backend: BackendName, seeds: int
) -> None:
    """What only bad luck excuses is held to its strictest where there is none."""
    for seed in range(seeds):
        report = run(Schedule(seed, backend, frozenset()))
        assert not report.violations, f"seed {seed}: {report.violations}\n{report.trace}"


@pytest.mark.parametrize(("backend", "seeds"), [("memory", 100), ("sqlite", 25)])
def test_the_schedules_really_have_faults(backend: BackendName, seeds: int) -> None:
    """A simulation without bad luck proves nothing."""
    seen = {fault for seed in range(seeds) for fault in run(Schedule(seed, backend)).faults}
    assert seen == set(Fault) - ({Fault.LOCK} if backend == "memory" else set())


@pytest.mark.parametrize("name", MUTANTS)
def test_every_wrong_protocol_is_caught(name: str) -> None:
    """Never trust a harness that has not caught planted bugs, or that also catches the right protocol."""
    catch = try_mutant(name)
    assert catch.seed is not None, f"{catch.what} was not caught"
    assert catch.control_violation is None, f"the right protocol was caught too: {catch.control_violation}"


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_seed_replays_exactly(backend: str) -> None:
    """A failure that can't be replayed can't be mended; not even hash randomisation may change a run."""
    script = (
        "from webordinary.simulation.world import Schedule, run\n"
        f"print([run(Schedule(seed, {backend!r}), trace=True).trace for seed in range(5)])"
    )
    traces = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(traces) == 1
