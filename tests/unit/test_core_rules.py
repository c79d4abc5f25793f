"""Verdicts, limits and the tree of errors."""

import inspect
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webordinary.core import errors
from webordinary.core.errors import BadLimits, WebordinaryError
from webordinary.core.failure import FailureKind
from webordinary.core.job import MOVES, JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Failed, HandedBack, Outcome, Preempted, Retry, Verdict, judge

LIMITS = Limits(deliveries_max=3)
NEWER = JobId("newer")


def judged(
    outcome: Outcome, attempt: int = 1, *, interrupted: bool = False, by: JobId | None = None
) -> Verdict:
    return judge(outcome, attempt=attempt, interrupted=interrupted, by=by, limits=LIMITS)


# --- what an outcome makes of a job -----------------------------------------------------------------


def test_what_was_carried_out_is_done() -> None:
    assert judged(Done("new title")) == Verdict(JobState.DONE, "new title")


def test_what_was_carried_out_is_done_though_it_was_asked_to_stop() -> None:
    assert judged(Done("new title"), interrupted=True, by=NEWER).state is JobState.DONE


def test_what_cannot_work_has_failed_for_good() -> None:
    """A person's mistake is answered at once; five attempts would only make the answer late."""
    verdict = judged(Failed("there is no such page"), attempt=1)
    assert verdict == Verdict(JobState.FAILED, "there is no such page", failure=FailureKind.INTERNAL)
    assert not verdict.failed_attempt


def test_a_stopped_job_says_what_was_kept_or_at_least_who_stopped_it() -> None:
    assert judged(Preempted(NEWER, "kept on a side ref")).note == "kept on a side ref"
    assert judged(Preempted(NEWER)).note == "interrupted by the newer job newer"
    assert judged(Preempted()).note == "stopped by the operator"


def test_a_failed_attempt_is_repeated_until_the_attempts_run_out() -> None:
    verdicts = [judged(Retry("flaky"), attempt) for attempt in (1, 2, 3)]
    assert [verdict.state for verdict in verdicts] == [JobState.RETRYING, JobState.RETRYING, JobState.DEAD]
    assert [verdict.retry_in for verdict in verdicts] == [2.0, 4.0, 0.0]
    assert all(verdict.failed_attempt for verdict in verdicts)


def test_a_hand_back_is_no_failure() -> None:
    verdict = judged(HandedBack(), attempt=3)
    assert (verdict.state, verdict.failed_attempt) == (JobState.QUEUED, False)


@pytest.mark.parametrize("outcome", [Retry("flaky"), HandedBack()])
def test_a_job_that_was_asked_to_stop_never_comes_back(outcome: Outcome) -> None:
    """Neither a retry nor a hand-back may run it again after the job that interrupted it."""
    verdict = judged(outcome, interrupted=True, by=NEWER)
    assert verdict == Verdict(JobState.PREEMPTED, "interrupted by the newer job newer", by=NEWER)


def test_a_note_that_no_store_could_keep_is_made_readable() -> None:
    assert judged(Done("a\x00b\udcffc")).note == "a?b?c"
    assert judged(Failed("größer 🌷")).note == "größer 🌷"


@given(
    st.one_of(
        st.builds(Done, st.text()),
        st.builds(Failed, st.text()),
        st.builds(Preempted, st.none() | st.just(NEWER), st.text()),
        st.builds(Retry, st.text()),
        st.builds(HandedBack, st.text()),
    ),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_verdict_is_an_allowed_move_from_running(
    outcome: Outcome, attempt: int, interrupted: bool
) -> None:
    verdict = judged(outcome, attempt, interrupted=interrupted)
    assert verdict.state in MOVES[JobState.RUNNING]
    assert (verdict.retry_in > 0) == (verdict.state is JobState.RETRYING)
    verdict.note.encode()


# --- limits -----------------------------------------------------------------------------------------


def test_the_default_limits_fit_together() -> None:
    limits = Limits()
    assert (limits.lease_seconds, limits.beat_seconds, limits.idle_release_seconds) == (60, 15, 1800)


@pytest.mark.parametrize("name", Limits.__slots__)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_limits_nothing_is_refused_by_name(name: str, value: float) -> None:
    """`nan` is what a mistyped setting becomes, and every comparison with it is false."""
    with pytest.raises(BadLimits, match=name):
        replace(Limits(), **{name: value})  # type: ignore[arg-type]


def test_a_beat_so_slow_that_two_lost_ones_lose_the_lease_is_refused() -> None:
    with pytest.raises(BadLimits, match="two lost beats"):
        Limits(lease_seconds=60, beat_seconds=20)
    Limits(lease_seconds=60, beat_seconds=19.9)


@given(st.integers(1, 100_000))
def test_the_wait_between_attempts_grows_and_stays_within_its_bounds(attempt: int) -> None:
    limits = Limits()
    now, then = limits.retry_delay(attempt), limits.retry_delay(attempt + 1)
    assert limits.retry_first_seconds <= now <= then <= limits.retry_most_seconds


def test_the_wait_between_attempts_doubles() -> None:
    waits = [Limits().retry_delay(attempt) for attempt in range(1, 6)]
    assert all(later == 2 * earlier for earlier, later in pairwise(waits))


# --- errors -----------------------------------------------------------------------------------------


def drawn_tree() -> dict[str, str]:
    """Each error of the drawing with the one above it."""
    above: dict[int, str] = {}
    tree: dict[str, str] = {}
    assert errors.__doc__ is not None
    for line in errors.__doc__.splitlines():
        found = re.match(r"^([│├└─ ]*)(\w+)(  |$)", line)
        if found is None:
            continue
        depth = len(found[1]) // 4
        above[depth] = found[2]
        tree[found[2]] = above[depth - 1] if depth else "Exception"
    return tree


def test_the_drawn_tree_of_errors_is_the_tree_of_classes() -> None:
    """Whoever writes `except` reads the drawing, not the classes."""
    classes = {
        name: kind.__base__.__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, WebordinaryError) and kind.__base__ is not None
    }
    assert drawn_tree() == classes
