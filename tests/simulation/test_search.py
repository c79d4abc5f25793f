"""Every interleaving of the claim protocol's rules in small worlds, right and wrong."""

import os
from dataclasses import replace
from itertools import permutations

import pytest

from tests.simulation.search_faults import CALM, FAULTS, check_fault
from webordinary.claim.lane_runner import LaneServer
from webordinary.simulation.mutants import MUTANTS
from webordinary.simulation.search.graph import PROGRESS_STATES, explore
from webordinary.simulation.search.states import WORLDS, Setup, State
from webordinary.simulation.search.world import World

LARGE = {
    "steps": replace(WORLDS["steps"], jobs=2),
    "late requests": replace(WORLDS["late requests"], crashes=1),
    "three workers": Setup(workers=3),
    "three jobs": Setup(jobs=3),
    "everything at once": replace(WORLDS["interrupt"], outcomes=("done", "retry"), breaker=2),
}

# --- the right protocol -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_no_interleaving_breaks_a_promise(name: str) -> None:
    """The proof itself, of the rules that every backend runs: safe in every state, and every state drains."""
    report = explore(World(WORLDS[name]))
    print(report)
    assert report.ok
    assert report.states > 50, "a search that hardly moves proves nothing"


@pytest.mark.skipif(os.environ.get("WEBORDINARY_EXHAUSTIVE") != "1", reason="set WEBORDINARY_EXHAUSTIVE=1")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", LARGE)
def test_no_interleaving_of_a_larger_world_breaks_a_promise(name: str) -> None:
    report = explore(World(LARGE[name]))
    print(report)
    assert report.ok


def test_one_worker_alone_recovers_from_its_own_crash() -> None:
    """A pool of one is a pool: what restarts picks up what it dropped."""
    assert explore(World(Setup(workers=1))).ok


def test_while_nothing_goes_wrong_the_sweep_is_not_needed() -> None:
    """The sweep is for accidents: normal mail must not wait for it."""
    assert explore(World(replace(CALM, jobs=2))).ok
    assert explore(World(replace(CALM, jobs=2, steps=True))).ok


@pytest.mark.parametrize(
    "unlucky", [replace(CALM, pauses=True), replace(CALM, crashes=1), replace(CALM, losses=True)]
)
def test_every_kind_of_bad_luck_needs_the_sweep(unlucky: Setup) -> None:
    """A lease that runs out leaves no request: whoever leaves the sweep out strands a job."""
    report = explore(World(unlucky))
    assert [violation.what for violation in report.violations] == [
        "stuck: nothing moves any more and job 1 is left behind"
    ]
    assert explore(World(replace(unlucky, sweep=True))).ok


# --- wrong protocols ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_the_search_finds_a_planted_fault_where_the_right_protocol_passes(name: str) -> None:
    """A search that has not caught planted bugs proves nothing."""
    trial = check_fault(name)
    print(trial, trial.report, sep="\n")
    assert trial.control.ok, trial.control
    assert trial.found
    assert trial.found.trace


def test_every_wrong_protocol_of_the_simulation_is_searched_too() -> None:
    """All but those that are wrong in the worker's own code, which the search does not run."""
    in_the_worker = {name for name, mutant in MUTANTS.items() if mutant.server is not LaneServer}
    assert set(MUTANTS) - set(FAULTS) == in_the_worker | {"takes-all-it-can"}, "nor does it judge fairness"


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("release-unfenced", "release was accepted from a claim that is no longer the lane's"),
        ("commit-not-idempotent", "job 1 was done and was accepted again"),
        ("request-bounced", "a claim request is left for a lane with a live owner"),
        ("prefetch-two", "job 2 is running behind job 1"),
        ("fence-restarts", "the fence of a lane restarts"),
        ("gatekeeper-claims", "the gatekeeper writes"),
        ("sweep-over-owners", "a lane is stranded after the sweep"),
        ("nobody-woken", "a lane waits, and no worker was woken"),
        ("message-deleted-first", "jobs ['1'] have not ended, and their lane's queue is []"),
        ("write-unconditional", "job 2 is gone"),
    ],
)
def test_each_safety_promise_has_a_fault_that_breaks_it(name: str, promise: str) -> None:
    """A checker that never fires may be checking nothing."""
    found = check_fault(name).found
    assert found
    assert found.what == promise


@pytest.mark.parametrize("name", ["release-without-second-look", "check-then-send", "request-merged"])
def test_the_sweep_hides_some_faults(name: str) -> None:
    """Why wrong protocols run with the sweep off."""
    fault = FAULTS[name]
    assert explore(fault.world(replace(fault.setup, sweep=True), fault.rules)).ok


# --- the search itself --------------------------------------------------------------------------------


def reachable(world: World, limit: int) -> list[State]:
    """The first states of a search, with the names workers and fences really have."""
    found = [world.start()]
    seen = set(found)
    for state in found:
        for step in world.steps(state):
            if step.after not in seen and len(found) < limit:
                seen.add(step.after)
                found.append(step.after)
    return found


def test_states_that_differ_only_in_names_have_the_same_future() -> None:
    """Symmetry makes the search small; if it merged states that differ, it would prove nothing."""
    world = World(Setup(workers=3, crashes=2, strays=1))

    def future(state: State) -> set[tuple[State, bool]]:
        return {
            (world.canonical(step.after), step.sure) for step in world.steps(state) if step.after != state
        }

    for state in reachable(world, 1500)[::15]:
        alike = [world.canonical(state)]
        for order in permutations(range(3)):
            names = tuple(order.index(one) for one in range(3))
            alike.append(
                state._replace(
                    rows=world.store.renamed(state.rows, names),
                    workers=tuple(state.workers[one] for one in order),
                    stray=tuple((names[who], call) if who < 3 else (who, call) for who, call in state.stray),
                )
            )
        assert len({world.canonical(one) for one in alike}) == 1
        assert all(future(one) == future(state) for one in alike)


def test_the_same_world_gives_the_same_report() -> None:
    assert explore(World(CALM)) == explore(World(CALM))


def test_progress_is_told_while_the_search_runs() -> None:
    """Large worlds take minutes: the operator sees that it moves."""
    told: list[int] = []
    report = explore(World(WORLDS["steps"]), progress=told.append)
    assert len(told) == 1 + (report.states - 1) // PROGRESS_STATES
    assert told == sorted(told)


def test_a_report_prints_its_numbers_and_the_steps_to_the_violation() -> None:
    report = check_fault("no-sweep").report
    lines = str(report).splitlines()
    assert lines[0].endswith("VIOLATED")
    assert lines[1] == "  stuck: nothing moves any more and job 1 is left behind"
    assert lines[2].endswith("1. submit lane 1 job 1: Submitted(job='1', ahead=0, interrupts=None)")
    assert any("worker A: crashes and starts afresh" in line for line in lines)
