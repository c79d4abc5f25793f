"""The operator's hand: every call is one atomic step and safe against a busy owner."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, BRAVO, LIMITS, W1, W2, World
from webordinary.core.claim import Delivery
from webordinary.core.errors import ClaimLost, NotAllowed, NotFound
from webordinary.core.job import Arrival, Duplicate, JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Retry
from webordinary.core.views import Happening


@pytest.fixture
def mortal(world_with: Callable[[Limits], World]) -> World:
    """A world where one failed attempt is the end of a job, and a few do not park its lane."""
    return world_with(replace(LIMITS, deliveries_max=1, breaker_failures=100))


async def died(world: World, *, reply: bool = False) -> Delivery:
    """A job that ran out of attempts, in a lane that is still owned."""
    delivery = await world.start(reply=reply)
    await world.broker.settle(delivery, Retry("broken"), more=False)
    assert await world.state(delivery.job.id) is JobState.DEAD
    return delivery


# --- interrupt --------------------------------------------------------------------------------------


async def test_the_operator_can_stop_what_runs(world: World) -> None:
    running = await world.start()
    assert await world.control.interrupt(AMELIA) == running.job.id
    view = await world.view(running.job.id)
    assert (view.state, view.interrupted, view.interrupted_by) == (JobState.RUNNING, True, None)
    assert await world.happenings(job=running.job.id) == [Happening.INTERRUPTED]


async def test_stopping_twice_is_stopping_once(world: World) -> None:
    running = await world.start()
    newer = await world.submit(arrival=Arrival.INTERRUPT)
    before = await world.everything()
    assert await world.control.interrupt(AMELIA) == running.job.id
    assert await world.everything() == before
    assert (await world.view(running.job.id)).interrupted_by == newer


async def test_a_job_that_waits_for_its_next_attempt_is_stopped_at_once(world: World) -> None:
    delivery = await world.start()
    following = await world.submit()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    assert await world.control.interrupt(AMELIA) == delivery.job.id
    assert await world.state(delivery.job.id) is JobState.PREEMPTED
    assert (await world.deliver(delivery.claim)).job.id == following


async def test_where_nothing_runs_nothing_is_stopped(world: World) -> None:
    """A job that has not started keeps its turn: the operator stops work, not mail."""
    waiting = await world.submit()
    assert await world.control.interrupt(AMELIA) is None
    assert await world.state(waiting) is JobState.QUEUED
    delivery = await world.start(BRAVO)
    await world.broker.settle(delivery, Done(), more=False)
    assert await world.control.interrupt(BRAVO) is None


# --- evict ------------------------------------------------------------------------------------------


async def test_an_evicted_owner_loses_the_lane_and_what_is_left_calls_for_another(world: World) -> None:
    claim = (await world.start(worker=W1)).claim
    assert await world.control.evict(AMELIA)
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    assert await world.waits()
    with pytest.raises(ClaimLost):
        await world.next_job(claim)
    assert (await world.take(worker=W2)).fence == claim.fence + 1
    event = (await world.ledger.history(AMELIA, limit=2))[0]
    assert (event.what, event.worker, event.fence) == (Happening.EVICTED, W1, claim.fence)


async def test_evicting_from_an_empty_lane_calls_for_nobody(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    assert await world.control.evict(AMELIA)
    assert not await world.waits()


async def test_a_lane_that_nobody_holds_has_nobody_to_evict(world: World) -> None:
    await world.submit()
    assert not await world.control.evict(AMELIA)
    assert await world.waits()
    assert await world.happenings() == []


@pytest.mark.parametrize("owned", [True, False])
async def test_evicting_ends_the_parking(world_with: Callable[[Limits], World], owned: bool) -> None:
    """The operator has repaired what was broken and does not want to wait ten minutes."""
    world = world_with(replace(LIMITS, breaker_failures=1))
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("broken"), more=False)
    world.clock.advance(LIMITS.retry_first_seconds)
    if not owned:
        await world.broker.release(delivery.claim)
    assert not (await world.claim(W1)).claims
    assert await world.control.evict(AMELIA) is owned
    lane = await world.ledger.lane(AMELIA)
    assert (lane.parked_until, lane.failures) == (None, 0)
    assert await world.next_job(await world.take()) is not None


# --- bury -------------------------------------------------------------------------------------------


async def test_a_dead_workers_lane_is_free_before_its_lease_runs_out(world: World) -> None:
    lost = await world.start(worker=W1)
    assert await world.control.bury(AMELIA, W1)
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    again = await world.deliver(await world.take(worker=W2))
    assert (again.job, again.attempt) == (lost.job, 2)
    assert (await world.happenings())[1:] == [Happening.BURIED, Happening.CLAIMED, Happening.REDELIVERED]


async def test_nobody_is_buried_for_somebody_else(world: World) -> None:
    """Who took the lane since is alive."""
    delivery = await world.start(worker=W2)
    assert not await world.control.bury(AMELIA, W1)
    await world.broker.settle(delivery, Done(), more=False)
    with pytest.raises(NotFound):
        await world.control.bury(BRAVO, W1)


async def test_a_job_that_kills_its_workers_parks_its_lane(world_with: Callable[[Limits], World]) -> None:
    """Under `up` dead workers are buried at once; that once reset the lane's record each time."""
    world = world_with(replace(LIMITS, breaker_failures=2, deliveries_max=5))
    await world.submit()
    for worker in (W1, W2):
        await world.deliver(await world.take(worker=worker))
        assert await world.control.bury(AMELIA, worker)
    claim = await world.take(worker=W1)
    assert await world.next_job(claim) is None
    assert (await world.ledger.lane(AMELIA)).parked_until == world.clock.now() + LIMITS.breaker_seconds


# --- dead letters -----------------------------------------------------------------------------------


async def test_a_redriven_job_goes_behind_everything_that_waits(mortal: World) -> None:
    """Its turn has passed; what came after it must not wait for it a second time."""
    dead = await died(mortal)
    waiting = [await mortal.submit(), await mortal.submit()]
    mortal.clock.advance(5)
    await mortal.control.redrive(dead.job.id)
    view = await mortal.view(dead.job.id)
    assert (view.state, view.attempt, view.finished_at, view.due_at) == (JobState.QUEUED, 0, None, None)
    later = await mortal.submit()
    order = []
    delivery = await mortal.next_job(dead.claim)
    while delivery is not None:
        order.append(delivery.job.id)
        assert delivery.attempt == 1
        delivery = await mortal.broker.settle(delivery, Done(), more=True)
    assert order == [*waiting, dead.job.id, later]
    assert Happening.REDRIVEN in await mortal.happenings(job=dead.job.id)


async def test_a_redriven_job_in_an_empty_lane_calls_for_an_owner(mortal: World) -> None:
    dead = await died(mortal)
    await mortal.broker.release(dead.claim)
    assert not await mortal.waits()
    await mortal.control.redrive(dead.job.id)
    assert await mortal.waits()
    assert (await mortal.deliver(await mortal.take())).job == dead.job


async def test_an_earlier_owner_cannot_settle_a_redriven_job(mortal: World) -> None:
    """The word it repeats is about the attempt that died."""
    dead = await died(mortal)
    await mortal.broker.release(dead.claim)
    await mortal.control.redrive(dead.job.id)
    await mortal.deliver(await mortal.take(worker=W2))
    with pytest.raises(ClaimLost):
        await mortal.broker.settle(dead, Done(), more=False)


async def test_a_dropped_job_is_put_aside_for_good(mortal: World) -> None:
    """And its mail stays known: the next copy of it is still a duplicate."""
    dead = await died(mortal, reply=True)
    await mortal.control.drop(dead.job.id)
    view = await mortal.view(dead.job.id)
    assert (view.state, view.replies_owed) == (JobState.DROPPED, 1)
    assert (await mortal.ledger.lane(AMELIA)).dead == 0
    assert (await mortal.happenings(job=dead.job.id))[-1] is Happening.DROPPED
    assert await mortal.broker.submit(dead.job) == Duplicate(dead.job.id)
    assert await mortal.next_job(dead.claim) is None


async def test_only_dead_jobs_can_be_redriven_or_dropped(mortal: World) -> None:
    """Each refusal names the state that forbids it, and changes nothing."""
    waiting = await mortal.submit(BRAVO)
    running = (await mortal.start()).job.id
    before = await mortal.everything()
    for job, state in ((waiting, "queued"), (running, "running")):
        for verb in (mortal.control.redrive, mortal.control.drop):
            with pytest.raises(NotAllowed, match=state):
                await verb(job)
    assert await mortal.everything() == before


async def test_a_dropped_job_cannot_be_redriven(mortal: World) -> None:
    dead = await died(mortal)
    await mortal.control.drop(dead.job.id)
    with pytest.raises(NotAllowed, match="dropped"):
        await mortal.control.redrive(dead.job.id)


async def test_lanes_and_jobs_that_do_not_exist_are_named_in_the_refusal(world: World) -> None:
    for lane_verb in (world.control.interrupt, world.control.evict):
        with pytest.raises(NotFound, match="amelia/scott"):
            await lane_verb(AMELIA)
    for job_verb in (world.control.redrive, world.control.drop):
        with pytest.raises(NotFound, match="nobody-has-this"):
            await job_verb(JobId("nobody-has-this"))
    assert (await world.everything()).lanes == []


async def test_one_job_is_called_off_and_no_other(world: World) -> None:
    """Who calls off a request that waits must not stop what runs for somebody else's."""
    running = await world.start(reply=True)
    waiting, last = await world.submit(reply=True), await world.submit()
    assert await world.control.interrupt(AMELIA, waiting) == waiting
    view = await world.view(waiting)
    assert (view.state, view.interrupted, view.interrupted_by) == (JobState.PREEMPTED, True, None)
    assert not (await world.view(running.job.id)).interrupted
    following = await world.broker.settle(running, Done(), more=True)
    assert following is not None
    assert following.job.id == last


async def test_a_job_that_runs_is_stopped_by_its_name_and_one_that_ended_is_not(world: World) -> None:
    running = await world.start()
    assert await world.control.interrupt(AMELIA, running.job.id) == running.job.id
    assert (await world.view(running.job.id)).interrupted
    await world.broker.settle(running, Done(), more=False)
    assert await world.control.interrupt(AMELIA, running.job.id) is None


async def test_the_only_job_of_a_lane_without_an_owner_is_called_off(world: World) -> None:
    job = await world.submit()
    assert await world.control.interrupt(AMELIA, job) == job
    assert await world.state(job) is JobState.PREEMPTED
    assert not (await world.claim()).claims
