"""Why a lane waits: exactly one reason, and the right one."""

from dataclasses import replace

import pytest

from webordinary.core.claim import WorkerId
from webordinary.core.estimates import Estimates
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.views import Happening, HeadView, JobView, LaneView, WorkerView
from webordinary.core.waiting import Cause, Reason, counted, span, why

NOW = 1_000_000.0
LIMITS = Limits()
LANE = Lane("amelia", "scott")
OWNER = WorkerId("vm.1.abc")

HEAD = HeadView(JobId("j1"), JobState.QUEUED, 0, 0, None, None, NOW - 3)
EMPTY = LaneView(LANE, None, 0, None, None, None, None, 0, None, 0, 0, None)
WAITING = replace(EMPTY, waiting_since=NOW - 1, depth=1, head=HEAD)
OWNED = replace(
    EMPTY,
    worker=OWNER,
    fence=4,
    claimed_at=NOW - 9,
    last_activity=NOW - 5,
    lease_until=NOW + LIMITS.lease_seconds,
)
RUNNING_HEAD = replace(HEAD, state=JobState.RUNNING, attempt=1, fence=4, started_at=NOW - 7)
RUNNING = replace(OWNED, depth=1, head=RUNNING_HEAD)

FREE = WorkerView(WorkerId("vm.2.def"), "vm", 2, 2, NOW - 60, NOW - 1, draining=False, lanes=())
FULL = WorkerView(OWNER, "vm", 1, 1, NOW - 60, NOW - 1, draining=False, lanes=(LANE,))


def reason(lane: LaneView, *workers: WorkerView) -> Reason:
    return why(lane, workers, LIMITS, NOW)


def test_a_lane_without_work_is_empty_or_kept_idle() -> None:
    assert reason(EMPTY).cause is Cause.EMPTY
    assert "1 dead letter can be redriven" in reason(replace(EMPTY, dead=1)).text
    idle = reason(OWNED, FULL)
    assert idle.cause is Cause.IDLE
    assert idle.until == NOW - 5 + LIMITS.idle_release_seconds


def test_a_row_whose_lease_ran_out_owns_nothing() -> None:
    """The lease decides, never the row's mere existence."""
    assert reason(replace(OWNED, lease_until=NOW), FULL).cause is Cause.EMPTY


def test_a_running_job_says_since_when_and_how_many_wait_behind_it() -> None:
    assert reason(RUNNING, FULL) == Reason(
        Cause.RUNNING,
        "vm.1.abc has been on job j1 for 7.0 s",
        NOW - 7 + LIMITS.job_budget_seconds,
        OWNER,
        JobId("j1"),
    )
    busy = reason(replace(RUNNING, depth=3), FULL)
    assert (busy.cause, busy.behind) == (Cause.OWNER_BUSY, 2)
    assert busy.text.endswith("; 2 jobs behind it")


def test_an_owner_that_stopped_beating_is_named_before_its_lease_runs_out() -> None:
    """A crashed owner looks busy for a whole lease; people should not have to guess."""
    left = LIMITS.lease_seconds - 2 * LIMITS.beat_seconds - 1
    silent = reason(replace(RUNNING, lease_until=NOW + left), FULL)
    assert (silent.cause, silent.until) == (Cause.OWNER_SILENT, NOW + left)


def test_an_owner_that_is_not_in_the_pool_is_silent_too() -> None:
    assert reason(RUNNING, FREE).cause is Cause.OWNER_SILENT


def test_an_owner_about_to_start_a_job() -> None:
    assert reason(replace(OWNED, depth=1, head=HEAD), FULL).cause is Cause.STARTING


@pytest.mark.parametrize("lane", [WAITING, replace(OWNED, depth=1)])
def test_back_off_and_parking_explain_themselves_with_or_without_an_owner(lane: LaneView) -> None:
    """A delayed retry that blocks its lane without a word is the worst of both."""
    retrying = replace(HEAD, state=JobState.RETRYING, attempt=2, due_at=NOW + 8)
    retry = reason(replace(lane, head=retrying), FULL)
    assert (retry.cause, retry.until) == (Cause.RETRY, NOW + 8)
    assert "starts in 8.0 s" in retry.text
    parked = reason(replace(lane, head=retrying, parked_until=NOW + 300), FULL)
    assert (parked.cause, parked.until) == (Cause.PARKED, NOW + 300)
    assert "its breaker is open" in parked.text


def test_a_job_whose_back_off_is_over_waits_for_a_worker_like_any_other() -> None:
    due = replace(HEAD, state=JobState.RETRYING, attempt=2, due_at=NOW - 1)
    assert reason(replace(WAITING, head=due, parked_until=NOW - 1), FREE).cause is Cause.BEING_CLAIMED


def test_without_workers_nobody_is_blamed() -> None:
    assert reason(WAITING).text == "no worker is running"
    leaving = replace(FREE, draining=True)
    assert reason(WAITING, leaving) == Reason(
        Cause.NO_WORKER, "every worker is shutting down", job=JobId("j1")
    )


def test_full_workers_are_told_from_free_ones() -> None:
    full = reason(WAITING, FULL)
    assert full.cause is Cause.NO_FREE_WORKER
    assert full.text.startswith("the one slot of the one worker is taken;")
    assert reason(WAITING, FULL, FREE).cause is Cause.BEING_CLAIMED
    wide = replace(FULL, slots=2, lanes=(LANE, LANE))
    assert reason(WAITING, wide).text.startswith("all 2 slots of the one worker are taken;")
    assert reason(WAITING, wide, FULL).text.startswith("all 3 slots of 2 workers are taken;")


def test_a_lane_that_a_free_worker_leaves_alone_is_pointed_out() -> None:
    """A worker tied to another lane looks free and never comes."""
    assert reason(replace(WAITING, waiting_since=NOW - 60), FREE).cause is Cause.NOT_TAKEN


def test_a_lost_owner_is_replaced_by_the_next_sweep() -> None:
    lost = replace(RUNNING, lease_until=NOW - 1)
    found = reason(lost, FREE)
    assert found.cause is Cause.OWNER_LOST
    assert found.until is not None
    assert found.until > NOW
    asked_for = replace(lost, waiting_since=NOW - 1)
    assert reason(asked_for, FREE).cause is Cause.BEING_CLAIMED


# --- estimates ------------------------------------------------------------------------------------


def done(lane: Lane, seconds: float) -> JobView:
    return JobView(
        JobId(f"d{seconds}"), lane, JobState.DONE, "", "", "", 1, NOW - 500, NOW - 400, NOW - 400 + seconds,
        None, OWNER, 1, False, None, "", 0,
    )  # fmt: skip


def estimated(lane: LaneView, known: Estimates, *workers: WorkerView) -> Reason:
    return why(lane, workers or (FULL,), LIMITS, NOW, known)


OTHER = Lane("bakery", "john")
OWN_JOBS = [done(LANE, seconds) for seconds in (20.0, 47.0, 90.0)]


def test_a_busy_owner_is_estimated_from_the_lanes_own_jobs() -> None:
    known = Estimates(LIMITS, NOW, [*OWN_JOBS, *(done(OTHER, 1.0) for _ in range(9))])
    busy = estimated(replace(RUNNING, depth=3), known)
    assert busy.expected == NOW - 7 + 47
    assert busy.text.endswith(
        "2 jobs behind it; the next one starts in about 40 s, as an estimate "
        "(half of the last 3 jobs of this lane took up to 47 s)"
    )
    assert busy.until == NOW - 7 + LIMITS.job_budget_seconds
    assert "done in about 40 s" in estimated(RUNNING, known).text


def test_a_lane_with_few_jobs_is_compared_with_everybody() -> None:
    busy = estimated(replace(RUNNING, depth=2), Estimates(LIMITS, NOW, [done(OTHER, 30.0)]))
    assert busy.expected == NOW - 7 + 30
    assert "(the last job took 30 s)" in busy.text


def test_a_job_that_takes_longer_than_usual_is_given_no_end() -> None:
    """An estimate that has passed is no estimate."""
    late = estimated(RUNNING, Estimates(LIMITS, NOW, [done(OTHER, 5.0)]))
    assert late.expected is None
    assert "longer than usual (the last job took 5.0 s)" in late.text


HELD = replace(RUNNING, lane=OTHER)


def test_a_lane_without_a_free_worker_is_told_when_a_slot_may_come() -> None:
    full = estimated(WAITING, Estimates(LIMITS, NOW, OWN_JOBS, [HELD, WAITING]))
    assert (full.cause, full.expected) == (Cause.NO_FREE_WORKER, NOW - 7 + 47)
    assert "in about 40 s, as an estimate" in full.text
    assert full.until == NOW - 7 + LIMITS.job_budget_seconds


def test_lanes_that_waited_longer_go_first() -> None:
    first = replace(WAITING, lane=Lane("choir", "lena"), waiting_since=NOW - 60)
    full = estimated(WAITING, Estimates(LIMITS, NOW, OWN_JOBS, [HELD, first, WAITING]))
    assert "1 lane waited longer" in full.text
    assert full.expected == NOW - 7 + 47 + 47
    assert full.until is None  # nobody knows how long the first one will take


def test_an_idle_claim_is_exchanged_within_a_moment() -> None:
    full = estimated(WAITING, Estimates(LIMITS, NOW, OWN_JOBS, [replace(OWNED, lane=OTHER), HELD]))
    assert full.expected == NOW + LIMITS.exchange_grace_seconds


def test_a_lane_with_a_backlog_has_its_turn_first() -> None:
    long = replace(HELD, depth=9, claimed_at=NOW - 5)
    assert (
        estimated(WAITING, Estimates(LIMITS, NOW, [done(OTHER, 10.0)], [long])).expected
        == NOW - 5 + LIMITS.turn_seconds
    )


def test_without_any_ended_job_only_the_latest_is_told() -> None:
    full = estimated(WAITING, Estimates(LIMITS, NOW, (), [HELD]))
    assert (full.expected, full.until) == (None, NOW - 7 + LIMITS.job_budget_seconds)
    assert "estimate" not in full.text
    late = estimated(WAITING, Estimates(LIMITS, NOW, [done(OTHER, 2.0)], [HELD]))
    assert late.expected is None
    assert "what runs takes longer than usual" in late.text


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (119, "119 s"),
        (120, "2 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (3900, "1 h 5 min"),
        (86400, "1 d"),
        (97200, "1 d 3 h"),
    ],
)
def test_lengths_of_time_are_written_as_people_say_them(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_counting() -> None:
    assert (counted(1, "job"), counted(0, "job"), counted(1200, "job")) == ("1 job", "0 jobs", "1,200 jobs")


def test_an_operator_takes_a_lane_from_its_owner() -> None:
    assert f"{Happening.EVICTED.value} {Happening.EVICTED.link} vm.1" == "released by the operator from vm.1"
    assert f"{Happening.CLAIMED.value} {Happening.CLAIMED.link} vm.1" == "claimed by vm.1"
