"""Every interleaving of the small model of the claim protocol, right and wrong."""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from webordinary.simulation.model import FAULTS, Fault, Phase, Setup, State, canonical, packed, start
from webordinary.simulation.model_faults import SETUPS, check_fault, render_trial
from webordinary.simulation.model_search import PROGRESS_STATES, explore, render
from webordinary.simulation.model_world import steps

CALM = Setup(crashes=0, sweep=False, pauses=False)

ONE_CLAIMER_DIES = Setup(
    jobs=1,
    crashes=1,
    crash_only_in=Phase.ACKNOWLEDGE,
    sweep=False,
    pauses=False,
    request_outlasts_lease=True,
)
"""The friendliest crash there is: the dead claimer's request has not been deleted and comes back in time."""


def walked(setup: Setup, lines: Sequence[str]) -> State:
    """The state after exactly these steps."""
    state = start(setup)
    for line in lines:
        possible = {f"{step.who} {step.what}": step.after for step in steps(state, setup)}
        assert line in possible, f"{line!r} is not among {sorted(possible)}"
        state = possible[line]
    return state


def reachable(setup: Setup, limit: int) -> list[State]:
    """The first states of a search, with the names workers and fences really have."""
    found = [start(setup)]
    seen = set(found)
    for state in found:
        for step in steps(state, setup):
            if step.after not in seen and len(found) < limit:
                seen.add(step.after)
                found.append(step.after)
    return found


def future(state: State, setup: Setup) -> frozenset[tuple[bytes, bool]]:
    """Where the next step can lead, names aside, and whether a lane may count on it."""
    return frozenset((packed(canonical(step.after, setup)), step.kind.sure) for step in steps(state, setup))


# --- the right protocol ----------------------------------------------------------------------------


def test_no_interleaving_of_two_jobs_two_workers_and_a_crash_breaks_a_promise() -> None:
    """The proof itself: order, at most once, one owner, and a way to drain from everywhere."""
    report = explore(Setup(jobs=2, workers=2, crashes=1, sweep=True))
    print(render(report))
    assert report.ok
    assert report.states > 100_000, "a search that hardly moves proves nothing"


@pytest.mark.skipif(os.environ.get("WEBORDINARY_EXHAUSTIVE") != "1", reason="set WEBORDINARY_EXHAUSTIVE=1")
@pytest.mark.timeout(3600)
def test_no_interleaving_of_two_jobs_three_workers_and_two_crashes_breaks_a_promise() -> None:
    report = explore(Setup(jobs=2, workers=3, crashes=2, sweep=True))
    print(render(report))
    assert report.ok


def test_one_worker_alone_recovers_from_its_own_crash() -> None:
    """A pool of one is a pool: what restarts picks up what it dropped."""
    assert explore(Setup(jobs=2, workers=1, crashes=1)).ok


def test_while_nothing_goes_wrong_the_sweep_is_not_needed() -> None:
    """The sweep is for accidents: normal mail must not wait for it, not even when requests are duplicated."""
    assert explore(CALM).ok


def test_an_owner_paused_past_its_lease_needs_the_sweep_even_without_any_crash() -> None:
    """It takes the head into flight unseen: the next owner finds nothing to receive and lets go."""
    report = explore(Setup(jobs=1, crashes=0, sweep=False))
    print(render(report))
    assert not report.ok
    assert any("is paused" in line for line in report.violations[0].trace)
    assert explore(Setup(jobs=1, crashes=0, sweep=True)).ok


# --- the case that random schedules nearly miss ----------------------------------------------------


def test_a_duplicated_request_whose_claimer_dies_strands_the_job_without_the_sweep() -> None:
    """Ten of 100,000 random schedules hit this; the search finds it at once, in the right protocol."""
    report = explore(ONE_CLAIMER_DIES)
    print(render(report))
    (violation,) = report.violations
    assert violation.what == "stuck: nothing moves any more and job 1 is left behind"
    for part in ("makes the request visible again", "crashes", "deletes the request it was refused for"):
        assert any(part in line for line in violation.trace)


def test_the_same_crash_is_harmless_without_duplicates_or_with_the_sweep() -> None:
    """It is the duplicate that makes the acknowledged request the only one, and the sweep that saves it."""
    assert explore(replace(ONE_CLAIMER_DIES, duplicates=False)).ok
    assert explore(replace(ONE_CLAIMER_DIES, sweep=True)).ok


def test_the_second_claimer_dies_and_the_first_acknowledges_the_only_request() -> None:
    """The story as the design tells it, step by step."""
    end = walked(
        ONE_CLAIMER_DIES,
        [
            "submitter 1 sends job 1",
            "submitter 1 reads ownership: no live owner",
            "submitter 1 sends a claim request",
            "worker A receives a claim request",
            "unclaimed queue makes the request visible again, from under worker A",
            "worker B receives a claim request",
            "worker B claims the lane with fence 1",
            "worker B crashes and starts afresh",
            "worker A finds the lane owned: refused",
            "worker A deletes the request it was refused for",
            "time runs out for the lease of an owner that is gone",
        ],
    )
    assert not end.drained
    assert not [step for step in steps(end, ONE_CLAIMER_DIES) if step.kind.sure]


def test_a_request_that_comes_back_before_the_lease_ends_is_dropped_for_a_dead_owner() -> None:
    """No duplicate is needed where the request's visibility timeout is shorter than the lease."""
    report = explore(replace(ONE_CLAIMER_DIES, duplicates=False, request_outlasts_lease=False))
    print(render(report))
    assert not report.ok


# --- wrong protocols -------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_the_search_finds_a_planted_fault_where_the_right_protocol_passes(fault: Fault) -> None:
    """A search that has not caught planted bugs proves nothing."""
    trial = check_fault(fault)
    print(render_trial(trial), render(trial.report), sep="\n")
    assert trial.control.ok
    assert trial.found
    assert trial.found.trace


def test_every_fault_is_described_and_has_its_setup() -> None:
    assert set(FAULTS) == set(SETUPS) == set(Fault)


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        (Fault.NO_FENCING, "job 1 was accepted from a claim that is no longer the lane's"),
        (Fault.RELEASE_UNFENCED, "two workers hold the lane with running leases"),
        (Fault.NOT_IDEMPOTENT, "job 1 was accepted twice"),
        (Fault.REQUEST_BOUNCED, "a claim request was dead-lettered"),
    ],
)
def test_each_safety_promise_has_a_fault_that_breaks_it(fault: Fault, promise: str) -> None:
    """A checker that never fires may be checking nothing."""
    trial = check_fault(fault)
    assert trial.found
    assert trial.found.what == promise


def test_a_message_deleted_too_early_also_breaks_the_order_of_jobs() -> None:
    setup = Setup(crashes=1, crash_only_in=Phase.SETTLE, pauses=False, fault=Fault.MESSAGE_DELETED_FIRST)
    assert [violation.what for violation in explore(setup).violations] == ["job 2 was accepted before job 1"]


def test_the_sweep_hides_some_faults_and_not_others() -> None:
    """Why wrong protocols run with the sweep off, and why the sweep alone is no substitute for the rest."""
    with_sweep = {fault: replace(SETUPS[fault], fault=fault, sweep=True) for fault in SETUPS}
    assert explore(with_sweep[Fault.NO_SECOND_LOOK]).ok
    assert explore(with_sweep[Fault.CHECK_THEN_SEND]).ok
    assert explore(with_sweep[Fault.REQUEST_CONSUMED_FIRST]).ok
    assert not explore(with_sweep[Fault.ROW_ABSENCE_ONLY]).ok


# --- the search itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [None, Fault.FENCE_RESTARTS])
def test_states_that_differ_only_in_names_have_the_same_future(fault: Fault | None) -> None:
    """Symmetry makes the search small; if it merged states that differ, it would prove nothing."""
    setup = Setup(jobs=2, workers=3, crashes=2, fault=fault)
    for state in reachable(setup, 1500)[::7]:
        alike = [state._replace(workers=workers) for workers in permutations(state.workers)]
        alike.append(canonical(state, setup))
        assert len({packed(canonical(one, setup)) for one in alike}) == 1
        assert len({future(one, setup) for one in alike}) == 1


def test_the_search_visits_exactly_what_a_search_without_symmetry_visits() -> None:
    """Nothing is missed and nothing is made up by merging states."""
    setup = Setup(jobs=2, crashes=1, sweep=False, pauses=False, duplicates=False)
    plain = reachable(setup, 50_000)
    assert (
        len({packed(canonical(state, setup)) for state in plain})
        == explore(setup).states
        < len(plain)
        < 50_000
    )


def test_the_same_setup_gives_the_same_report() -> None:
    setup = Setup(jobs=1, crashes=0, sweep=False)
    assert explore(setup) == explore(setup)


def test_progress_is_told_while_the_search_runs() -> None:
    """Three workers and two crashes take minutes: the operator sees that it moves."""
    told: list[int] = []
    report = explore(Setup(jobs=1, crashes=0), progress=told.append)
    assert len(told) == 1 + (report.states - 1) // PROGRESS_STATES
    assert told == sorted(told)


def test_a_report_prints_its_numbers_and_the_steps_to_the_violation() -> None:
    report = check_fault(Fault.GATEKEEPER_CLAIMS).report
    assert render(report).splitlines() == [
        f"[gatekeeper-claims] {report.setup}: 4 states, 3 transitions, 3 steps deep, VIOLATED",
        "  stuck: nothing moves any more and job 1 is left behind",
        "    1. submitter 1 sends job 1",
        "    2. submitter 1 reads ownership: no live owner, so the gatekeeper claims for nobody",
        "    3. time runs out for the lease of an owner that is gone",
    ]
