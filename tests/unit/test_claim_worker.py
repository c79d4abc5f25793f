"""Generic workers: they claim what waits, serve it in order, give way and leave politely."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.unit.claim_pool import AMELIA, BRAVO, CORAL, QUICK, Pool
from tests.waiting import HANG_SECONDS, soon, until
from webordinary.claim.worker import Shape
from webordinary.core.job import Arrival, JobState
from webordinary.core.limits import Limits
from webordinary.core.views import Happening


@pytest.fixture
async def pool(request: pytest.FixtureRequest) -> AsyncIterator[Pool]:
    """A pool without workers yet; parametrise indirectly for other limits."""
    limits = getattr(request, "param", QUICK)
    assert isinstance(limits, Limits)
    pool = Pool(limits)
    yield pool
    await pool.close()


def with_limits(**changes: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pool", [replace(QUICK, **changes)], indirect=True, ids=["own limits"])  # type: ignore[arg-type]


# --- serving ----------------------------------------------------------------------------------------


async def test_a_worker_serves_the_jobs_of_a_lane_in_order(pool: Pool) -> None:
    jobs = [await pool.submit() for _ in range(5)]
    pool.start()
    for job in jobs:
        assert (await pool.ended(job)).state is JobState.DONE
    assert pool.actor.started == [(job, 1) for job in jobs]
    assert pool.actor.most_running == 1


async def test_two_workers_serve_two_lanes_at_the_same_time(pool: Pool) -> None:
    """Scenario two of the mission."""
    jobs = [await pool.submit("wait", lane) for lane in (AMELIA, BRAVO)]
    pool.start("w1")
    pool.start("w2")
    await until(lambda: pool.actor.running == 2)
    owners = {(await pool.ledger.lane(lane)).worker for lane in (AMELIA, BRAVO)}
    assert owners == {"w1", "w2"}
    pool.actor.gate.set()
    for job in jobs:
        await pool.ended(job)


async def test_a_worker_with_slots_serves_several_lanes_at_the_same_time(pool: Pool) -> None:
    for lane in (AMELIA, BRAVO, CORAL):
        await pool.submit("wait", lane)
    pool.start(slots=2)
    await until(lambda: pool.actor.running == 2)
    await asyncio.sleep(0.1)
    assert pool.actor.most_running == 2
    pool.actor.gate.set()
    await until(lambda: len(pool.actor.started) == 3)


async def test_a_worker_claims_again_after_it_was_full(pool: Pool) -> None:
    first, second = await pool.submit("wait", AMELIA), await pool.submit("do", BRAVO)
    pool.start()
    await pool.begun(first)
    assert await pool.state(second) is JobState.QUEUED
    pool.actor.gate.set()
    await pool.ended(second)


async def test_a_handler_that_raises_is_tried_again(pool: Pool) -> None:
    """A handler may fail in any way; the lane goes on."""
    job, following = await pool.submit("raise once"), await pool.submit()
    pool.start()
    view = await pool.ended(job)
    assert (view.state, view.attempt) == (JobState.DONE, 2)
    assert (await pool.ended(following)).state is JobState.DONE
    (retry,) = [e for e in await pool.ledger.history(AMELIA, limit=99) if e.what is Happening.RETRY]
    assert "ValueError: out of luck" in retry.note


async def test_a_handler_that_always_raises_is_a_dead_letter_in_the_end(pool: Pool) -> None:
    job, following = await pool.submit("raise"), await pool.submit()
    pool.start()
    view = await pool.ended(job)
    assert (view.state, view.attempt) == (JobState.DEAD, QUICK.deliveries_max)
    assert (await pool.ended(following)).state is JobState.DONE


async def test_a_handler_that_refuses_is_not_tried_again(pool: Pool) -> None:
    job = await pool.submit("refuse")
    pool.start()
    view = await pool.ended(job)
    assert (view.state, view.attempt, view.note) == (JobState.FAILED, 1, "it can't be done")


# --- interrupts and budgets -------------------------------------------------------------------------


async def test_an_interrupted_job_is_asked_to_stop_and_keeps_what_it_has(pool: Pool) -> None:
    """Scenario three of the mission, and long before the next beat would have told."""
    job = await pool.submit("polite")
    pool.start()
    await pool.begun(job)
    newer = await pool.submit("do", arrival=Arrival.INTERRUPT)
    view = await pool.ended(job)
    assert (view.state, view.note, view.interrupted_by) == (JobState.PREEMPTED, "half of it", newer)
    assert (await pool.ended(newer)).state is JobState.DONE
    assert pool.actor.killed == []


async def test_an_interrupted_job_that_does_not_stop_is_killed(pool: Pool) -> None:
    job = await pool.submit("sleep 600")
    pool.start()
    await pool.begun(job)
    newer = await pool.submit("do", arrival=Arrival.INTERRUPT)
    view = await pool.ended(job)
    assert (view.state, view.attempt) == (JobState.PREEMPTED, 1)
    assert newer in view.note
    assert pool.actor.killed == [job]
    assert (await pool.ended(newer)).state is JobState.DONE


async def test_an_interrupted_job_that_fails_on_the_way_out_is_preempted_all_the_same(pool: Pool) -> None:
    job = await pool.submit("sulky")
    pool.start()
    await pool.begun(job)
    await pool.control.interrupt(AMELIA)
    assert (await pool.ended(job)).state is JobState.PREEMPTED


async def test_the_force_meant_for_a_job_never_hits_the_next_one(pool: Pool) -> None:
    """The job that was asked to stop did so; the timer that would have killed it must be gone with it."""
    job = await pool.submit("polite")
    pool.start()
    await pool.begun(job)
    newer = await pool.submit(f"sleep {3 * pool.limits.stop_grace_seconds}", arrival=Arrival.INTERRUPT)
    view = await pool.ended(newer)
    assert (view.state, view.attempt) == (JobState.DONE, 1)
    assert pool.actor.killed == []


async def test_each_job_of_a_lane_is_stopped_by_a_word_of_its_own(pool: Pool) -> None:
    """The word to the first job stops no other, and does not make the others deaf."""
    jobs = [await pool.submit("polite") for _ in range(3)]
    pool.start()
    for job in jobs:
        await pool.begun(job)
        assert (await pool.ledger.job(job)).state is JobState.RUNNING
        assert await pool.control.interrupt(AMELIA) == job
        view = await pool.ended(job)
        assert (view.state, view.note, view.interrupted) == (JobState.PREEMPTED, "half of it", True)
    assert pool.actor.killed == []


@with_limits(job_budget_seconds=0.1, stop_grace_seconds=0.05, beat_seconds=0.5)
@pytest.mark.parametrize("instruction", ["sleep 600", "polite", "sulky"])
async def test_a_job_that_takes_too_long_has_failed(pool: Pool, instruction: str) -> None:
    """Its sender is told so; it is not tried again for another hour, however seldom the beats come."""
    job, following = await pool.submit(instruction), await pool.submit()
    pool.start()
    view = await pool.ended(job)
    assert (view.state, view.attempt) == (JobState.FAILED, 1)
    assert "took longer" in view.note
    assert (await pool.ended(following)).state is JobState.DONE


# --- letting go -------------------------------------------------------------------------------------


@with_limits(idle_release_seconds=0.1)
async def test_an_idle_lane_is_released(pool: Pool) -> None:
    pool.start()
    await pool.ended(await pool.submit())
    await pool.unowned()
    assert await pool.happenings() == [Happening.CLAIMED, Happening.RELEASED]


@with_limits(idle_release_seconds=0.3)
async def test_idle_counts_from_the_end_of_the_last_job(pool: Pool) -> None:
    """Counted from its start, a long job lost its lane and ran twice."""
    pool.start()
    job = await pool.submit("sleep 0.5")
    view = await pool.ended(job)
    assert (view.state, view.attempt) == (JobState.DONE, 1)
    await pool.unowned()
    events = await pool.ledger.history(AMELIA, limit=9)
    assert view.finished_at is not None
    assert [event.what for event in events] == [Happening.CLAIMED, Happening.RELEASED]
    assert events[-1].at - view.finished_at >= 0.29


async def test_one_worker_serves_a_second_lane_without_waiting_for_the_first_to_be_released(
    pool: Pool,
) -> None:
    """Scenario one of the mission: thirty idle minutes must cost nobody anything."""
    pool.start(slots=1)
    await pool.ended(await pool.submit("do", AMELIA))
    assert await pool.owned(AMELIA)
    assert (await pool.ended(await pool.submit("do", BRAVO))).state is JobState.DONE
    assert (await pool.happenings(AMELIA))[-1] is Happening.EXCHANGED
    assert (await pool.ended(await pool.submit("do", AMELIA))).state is JobState.DONE


@with_limits(turn_seconds=0.1, patience_seconds=0.1)
async def test_a_busy_lane_gives_way_after_its_turn(pool: Pool) -> None:
    """A lane with a thousand jobs must not keep another one waiting until they are done."""
    hot = [await pool.submit("sleep 0.02", AMELIA) for _ in range(200)]
    pool.start(slots=1)
    await pool.begun(hot[0])
    await pool.ended(await pool.submit("do", BRAVO))
    assert await pool.state(hot[-1]) is JobState.QUEUED
    assert Happening.RELEASED in await pool.happenings(AMELIA)
    done = [job for job, _ in pool.actor.started if job in hot]
    assert done == hot[: len(done)]


@with_limits(turn_seconds=0.05)
async def test_a_busy_lane_goes_on_when_nobody_waits(pool: Pool) -> None:
    jobs = [await pool.submit("sleep 0.01") for _ in range(30)]
    pool.start()
    await pool.ended(jobs[-1])
    assert await pool.happenings() == [Happening.CLAIMED]


# --- shapes of the pool -----------------------------------------------------------------------------


async def test_a_worker_tied_to_one_lane_serves_no_other(pool: Pool) -> None:
    other = await pool.submit("do", BRAVO)
    pool.start(slots=4, shape=Shape(only=AMELIA))
    await pool.ended(await pool.submit("do", AMELIA))
    assert await pool.state(other) is JobState.QUEUED


async def test_a_worker_that_exits_when_idle_leaves_nothing_behind(pool: Pool) -> None:
    """Scale to zero: the process ends by itself, and not in the middle of a job."""
    job = await pool.submit("sleep 0.5")
    _, task = pool.start(shape=Shape(exit_when_idle_seconds=0.2))
    await soon(task)
    assert await pool.state(job) is JobState.DONE
    assert not await pool.owned()
    assert await pool.ledger.workers() == []


async def test_a_worker_that_exits_when_idle_leaves_also_when_nothing_ever_came(pool: Pool) -> None:
    _, task = pool.start(shape=Shape(exit_when_idle_seconds=0.1))
    await soon(task)


# --- leaving ----------------------------------------------------------------------------------------


@with_limits(drain_grace_seconds=HANG_SECONDS)
async def test_a_draining_worker_finishes_what_runs_and_takes_nothing_more(pool: Pool) -> None:
    """A draining worker once claimed again."""
    running, waiting = await pool.submit("sleep 0.1"), await pool.submit()
    pool.start()
    await pool.begun(running)
    other = await pool.submit("do", BRAVO)
    await pool.drained()
    assert await pool.state(running) is JobState.DONE
    assert [await pool.state(job) for job in (waiting, other)] == [JobState.QUEUED] * 2
    assert not await pool.owned()
    assert (await pool.ledger.lane(AMELIA)).waiting_since is not None


@with_limits(idle_release_seconds=600)
async def test_a_draining_worker_releases_idle_lanes_at_once(pool: Pool) -> None:
    pool.start(slots=2)
    for lane in (AMELIA, BRAVO):
        await pool.ended(await pool.submit("do", lane))
    await pool.drained()
    assert not await pool.owned(AMELIA)
    assert not await pool.owned(BRAVO)


@pytest.mark.parametrize("instruction", ["sleep 600", "polite", "sulky"])
async def test_a_draining_worker_hands_back_what_does_not_finish_and_counts_no_attempt(
    pool: Pool, instruction: str
) -> None:
    """However the job takes it to be stopped: a deployment is not the job's fault."""
    job = await pool.submit(instruction)
    pool.start()
    await pool.begun(job)
    await pool.drained()
    view = await pool.ledger.job(job)
    assert (view.state, view.attempt) == (JobState.QUEUED, 0)
    assert not await pool.owned()
    pool.start("w2")
    await until(lambda: pool.actor.started.count((job, 1)) == 2)


async def test_a_draining_worker_leaves_even_if_a_handler_never_ends(pool: Pool) -> None:
    """Its lease runs out; waiting for ever would only make the kill harder."""
    job = await pool.submit("stuck")
    pool.start()
    await pool.begun(job)
    await pool.drained()
    assert await pool.ledger.workers() == []
    assert await pool.state(job) is JobState.RUNNING


async def test_a_worker_that_drains_with_nothing_to_do_leaves_at_once(pool: Pool) -> None:
    pool.start()
    await until(lambda: "keep" in pool.broker.calls)
    await pool.drained()
    assert await pool.ledger.workers() == []
