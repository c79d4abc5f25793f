"""What a worker does when its claim is lost, its handler is stuck, or its store does not answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.unit.claim_pool import AMELIA, QUICK, Pool
from tests.waiting import HANG_SECONDS, soon, until
from webordinary.claim.lane_runner import LaneServer
from webordinary.claim.release_reasons import LetGo
from webordinary.core.claim import Interrupt, WorkerId
from webordinary.core.job import Arrival, JobState
from webordinary.core.views import Happening

SHORT_LEASE = replace(QUICK, lease_seconds=0.7, beat_seconds=0.1, stop_grace_seconds=0.1)


@pytest.fixture
async def pool(request: pytest.FixtureRequest) -> AsyncIterator[Pool]:
    """A pool without workers yet; parametrise indirectly for other limits."""
    pool = Pool(getattr(request, "param", QUICK))
    yield pool
    await pool.close()


short_lease = pytest.mark.parametrize("pool", [SHORT_LEASE], indirect=True, ids=["short lease"])


async def serve(pool: Pool) -> LaneServer:
    """One lane in the hands of its server, without a worker around it: no beat, no sweep, no claim loop."""
    claimed = await pool.backend.broker.claim(WorkerId("w1"), room=1, wait=0)
    server = LaneServer(
        claimed.claims[0], pool.broker, pool.actor, pool.clock, pool.limits, changed=lambda: None
    )
    server.start(pool.clock.monotonic(), done=lambda _: None)
    return server


# --- a claim that is lost ---------------------------------------------------------------------------


async def test_a_claim_lost_while_its_job_runs_kills_the_job_and_settles_nothing(pool: Pool) -> None:
    """Somebody else may be at work on the same site by now."""
    job = await pool.submit("sleep 600")
    pool.start()
    await pool.begun(job)
    await pool.control.evict(AMELIA)
    await until(lambda: pool.actor.killed == [job])
    assert "settle" not in pool.broker.calls
    await pool.begun(job, attempt=2)
    assert Happening.REDELIVERED in await pool.happenings()


@short_lease
async def test_a_worker_cut_off_from_its_store_kills_its_jobs_when_their_leases_run_out(pool: Pool) -> None:
    """The watchdog of a lease never waits for the call that renews it."""
    job = await pool.submit("sleep 600")
    pool.start()
    await pool.begun(job)
    pool.broker.before = {"keep", "claim", "next_job", "settle", "release", "sweep"}
    await until(lambda: pool.actor.killed == [job])
    assert "settle" not in pool.broker.calls
    assert await pool.state(job) is JobState.RUNNING


@short_lease
async def test_a_beat_that_never_comes_back_does_not_stop_the_watchdog(pool: Pool) -> None:
    job = await pool.submit("sleep 600")
    pool.start()
    await pool.begun(job)
    pool.broker.held["keep"] = asyncio.Event()
    await until(lambda: pool.actor.killed == [job])


@short_lease
async def test_a_stuck_handler_that_ignores_cancellation_loses_its_lease(pool: Pool) -> None:
    """However lively the rest of the worker is: the lane goes on elsewhere, and nothing of it is accepted."""
    job = await pool.submit("stuck")
    pool.start("w1")
    await pool.begun(job)
    newer = await pool.submit("do", arrival=Arrival.INTERRUPT)
    pool.start("w2")
    assert (await pool.ended(newer)).worker == "w2"
    assert await pool.state(job) is JobState.PREEMPTED
    pool.actor.gate.set()
    await until(lambda: pool.actor.running == 0)
    await asyncio.sleep(0.05)
    assert await pool.state(job) is JobState.PREEMPTED


async def test_a_job_that_arrives_with_the_news_that_its_claim_is_lost_is_not_started(pool: Pool) -> None:
    """The delivery was on its way when the lease ran out; nobody would be left to stop the job."""
    await pool.submit()
    pool.broker.held["next_job"] = asyncio.Event()
    server = await serve(pool)
    await until(lambda: "next_job" in pool.broker.calls)
    await asyncio.sleep(0)
    server.lose()
    pool.broker.held["next_job"].set()
    await until(lambda: not server.trusted())
    await asyncio.sleep(0.05)
    assert pool.actor.started == []
    assert server.reason is LetGo.LOST


async def test_a_handler_that_shrugs_off_the_loss_of_its_claim_is_not_settled(pool: Pool) -> None:
    """It says that it is done, but it was told that nothing of it counts any more; nor does more follow."""
    job, following = await pool.submit("stuck"), await pool.submit()
    server = await serve(pool)
    await pool.begun(job)
    server.lose()
    await asyncio.sleep(0.05)
    pool.actor.gate.set()
    await until(lambda: pool.actor.running == 0)
    await asyncio.sleep(0.05)
    assert "settle" not in pool.broker.calls
    assert await pool.state(job) is JobState.RUNNING
    assert await pool.state(following) is JobState.QUEUED


# --- an interrupt that comes too late ---------------------------------------------------------------


async def test_an_interrupt_that_comes_while_its_job_is_being_settled_stops_nobody(pool: Pool) -> None:
    """Its force once hit the job that came next, and the lane stood still until its lease ran out."""
    job, following = await pool.submit(), await pool.submit("sleep 0.6")
    settled = pool.broker.held["settle"] = asyncio.Event()
    server = await serve(pool)
    await until(lambda: "settle" in pool.broker.calls)
    server.interrupt(Interrupt(AMELIA, job, following))
    settled.set()
    assert (await pool.ended(following)).state is JobState.DONE
    assert pool.actor.killed == []


@pytest.mark.parametrize(
    "pool", [replace(QUICK, drain_grace_seconds=0.1, stop_grace_seconds=2.0)], indirect=True, ids=["graces"]
)
async def test_a_worker_that_must_leave_waits_for_a_settle_that_is_under_way(pool: Pool) -> None:
    """What was done would otherwise be done again."""
    job = await pool.submit()
    settled = pool.broker.held["settle"] = asyncio.Event()
    pool.start()
    await until(lambda: "settle" in pool.broker.calls)
    worker, task = pool.workers["w1"]
    worker.drain()
    await asyncio.sleep(pool.limits.drain_grace_seconds + pool.limits.stop_grace_seconds + 0.2)
    settled.set()
    await soon(task)
    assert await pool.state(job) is JobState.DONE
    assert not await pool.owned()


# --- a store that does not answer -------------------------------------------------------------------


@short_lease
@pytest.mark.parametrize("verb", ["claim", "next_job", "settle", "keep", "sweep"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_call_that_fails_for_a_while_costs_time_and_nothing_else(
    pool: Pool, verb: str, when: str
) -> None:
    """Before it took effect or after: every promise holds for the second call, too."""
    jobs = [await pool.submit() for _ in range(3)]
    failing: set[str] = getattr(pool.broker, when)
    failing.add(verb)
    pool.start()
    await until(lambda: pool.broker.calls.count(verb) >= 2)
    failing.clear()
    for job in jobs:
        assert (await pool.ended(job)).state is JobState.DONE
    await pool.drained()
    assert not await pool.owned()


@pytest.mark.parametrize(
    "pool", [replace(QUICK, drain_grace_seconds=HANG_SECONDS)], indirect=True, ids=["patient"]
)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_release_that_fails_is_tried_again(pool: Pool, when: str) -> None:
    pool.start()
    await pool.ended(await pool.submit())
    failing: set[str] = getattr(pool.broker, when)
    failing.add("release")
    worker, task = pool.workers["w1"]
    worker.drain()
    await until(lambda: pool.broker.calls.count("release") >= 2)
    failing.clear()
    await soon(task)
    assert (await pool.happenings()).count(Happening.RELEASED) == 1


async def test_a_settle_whose_answer_was_lost_does_not_run_the_job_again(pool: Pool) -> None:
    job, following = await pool.submit(), await pool.submit()
    pool.broker.after = {"settle"}
    pool.start()
    await until(lambda: pool.broker.calls.count("settle") >= 3)
    pool.broker.after = set()
    await pool.ended(following)
    assert pool.actor.started == [(job, 1), (following, 1)]


async def test_a_worker_whose_own_loop_dies_ends_as_a_whole(pool: Pool) -> None:
    """Heartbeat alive and work loop dead is the worst of all worlds."""

    class Broken(Exception):
        pass

    async def broken() -> int:
        raise Broken

    pool.broker.sweep = broken  # type: ignore[method-assign]
    job = await pool.submit("sleep 600")
    _, task = pool.start()
    await pool.begun(job)
    with pytest.raises(ExceptionGroup):
        await soon(task)
    await until(lambda: pool.actor.killed == [job])
