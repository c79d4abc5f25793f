"""Handing over the head of a lane, and judging jobs whose owner was lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, LIMITS, W1, W2, World
from webordinary.core.claim import Claim, Delivery, WorkerId
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, HandedBack, Retry
from webordinary.core.views import Happening


async def lose_owner(world: World, next_owner: WorkerId) -> Claim:
    """The owner dies without a word; the sweep asks for another one."""
    world.outlive_the_lease()
    await world.broker.sweep()
    return await world.take(worker=next_owner)


# --- the head and only the head ---------------------------------------------------------------------


async def test_the_head_of_the_lane_is_handed_over_as_its_first_attempt(world: World) -> None:
    first, second = await world.submit(), await world.submit()
    claim = await world.take()
    world.clock.advance(2)
    delivery = await world.deliver(claim)
    assert (delivery.claim, delivery.job.id, delivery.attempt) == (claim, first, 1)
    view = await world.view(first)
    assert (view.state, view.worker, view.fence) == (JobState.RUNNING, W1, claim.fence)
    assert view.started_at == world.clock.now()
    assert await world.state(second) is JobState.QUEUED


async def test_the_same_delivery_comes_again_until_it_is_settled(world: World) -> None:
    """An answer may be lost on its way; asking again must neither skip the job nor count an attempt."""
    await world.submit()
    await world.submit()
    claim = await world.take()
    first = await world.deliver(claim)
    world.clock.advance(1)
    assert await world.next_job(claim) == first
    assert (await world.view(first.job.id)).attempt == 1


async def test_a_lane_has_at_most_one_unsettled_job(world: World) -> None:
    """Prefetch breaks order: the second job of a conversation must see what the first one did."""
    for _ in range(3):
        await world.submit()
    claim = await world.take()
    for _ in range(3):
        await world.deliver(claim)
    assert (await world.ledger.counts())[JobState.RUNNING] == 1


async def test_an_empty_lane_has_nothing_to_hand_over(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    assert await world.next_job(delivery.claim) is None


async def test_a_job_in_back_off_holds_its_lane(world: World) -> None:
    """Order matters in a conversation: the next mail may build on this one."""
    delivery = await world.start()
    await world.submit()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    view = await world.view(delivery.job.id)
    assert (view.state, view.due_at) == (JobState.RETRYING, world.clock.now() + 2.0)
    world.clock.advance(1.75)
    assert await world.next_job(delivery.claim) is None
    world.clock.advance(0.25)
    again = await world.deliver(delivery.claim)
    assert (again.job, again.attempt) == (delivery.job, 2)
    assert (await world.view(delivery.job.id)).due_at is None


async def test_a_job_in_back_off_is_not_a_reason_to_claim_its_lane_yet(world: World) -> None:
    """A worker with nothing to do there would only hold a slot."""
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    await world.broker.release(delivery.claim)
    assert not (await world.claim(W2)).claims
    assert (await world.beat(W2)).lanes_waiting == 0
    world.clock.advance(2.0)
    assert (await world.beat(W2)).lanes_waiting == 1
    assert (await world.claim(W2)).claims


async def test_only_the_current_claim_is_handed_jobs(world: World) -> None:
    """A former owner that wakes up must not start anything."""
    old = (await world.start(worker=W1)).claim
    new = await lose_owner(world, W2)
    for claim in (old, replace(new, worker=W1), replace(new, fence=new.fence + 1), replace(new, fence=0)):
        with pytest.raises(ClaimLost):
            await world.next_job(claim)
    await world.control.evict(AMELIA)
    with pytest.raises(ClaimLost):
        await world.next_job(new)


async def test_a_claim_of_a_lane_that_the_store_does_not_know_is_lost(world: World) -> None:
    """A worker may outlive its store, which came back empty or from a backup."""
    claim = Claim(Lane("no", "body"), W1, 7)
    delivery = Delivery(claim, world.job(claim.lane), 1)
    with pytest.raises(ClaimLost):
        await world.next_job(claim)
    with pytest.raises(ClaimLost):
        await world.broker.settle(delivery, Done(), more=True)
    assert (await world.beat(W1, [claim])).lost == (claim,)
    await world.broker.release(claim)
    await world.submit()
    world.clock.advance(60)
    assert not (await world.claim(W1, room=0, idle=[claim])).claims


# --- jobs whose owner was lost ----------------------------------------------------------------------


async def test_a_lost_owners_job_is_delivered_again_as_the_next_attempt(world: World) -> None:
    """A crash must cost one attempt and no job."""
    lost = await world.start(worker=W1)
    await world.submit()
    again = await world.deliver(await lose_owner(world, W2))
    assert (again.job, again.attempt) == (lost.job, 2)
    view = await world.view(lost.job.id)
    assert (view.worker, view.fence, view.started_at) == (W2, 2, world.clock.now())
    (event,) = [e for e in await world.ledger.history(AMELIA, limit=9) if e.what is Happening.REDELIVERED]
    assert (event.worker, event.job) == (W2, lost.job.id)
    assert W1 in event.note


async def test_a_job_whose_owners_keep_dying_is_dead_after_its_attempts(world: World) -> None:
    """A job that kills its workers must not go through the pool for ever; the lane goes on."""
    delivery = await world.start(worker=W1, reply=True)
    following = await world.submit()
    for _ in range(LIMITS.deliveries_max - 1):
        delivery = await world.deliver(await lose_owner(world, W1))
    last = await lose_owner(world, W2)
    assert (await world.deliver(last)).job.id == following
    view = await world.view(delivery.job.id)
    assert (view.state, view.attempt, view.replies_owed) == (JobState.DEAD, LIMITS.deliveries_max, 1)
    assert view.finished_at == world.clock.now()
    assert "lost 3 times" in view.note
    assert (await world.happenings(job=view.id))[-1] is Happening.DEAD


async def test_an_interrupted_job_whose_owner_was_lost_does_not_come_back(world: World) -> None:
    """It would run after the newer job's sender was told that it stopped."""
    lost = await world.start(worker=W1, reply=True)
    newer = await world.submit(arrival=Arrival.INTERRUPT)
    assert (await world.deliver(await lose_owner(world, W2))).job.id == newer
    view = await world.view(lost.job.id)
    assert (view.state, view.replies_owed) == (JobState.PREEMPTED, 1)
    assert newer in view.note


async def test_a_job_interrupted_after_its_owner_was_lost_does_not_come_back_either(world: World) -> None:
    lost = await world.start(worker=W1)
    world.outlive_the_lease()
    newer = await world.submit(arrival=Arrival.INTERRUPT)
    assert (await world.deliver(await world.take(worker=W2))).job.id == newer
    assert await world.state(lost.job.id) is JobState.PREEMPTED


async def test_an_operator_who_evicts_the_owner_gets_the_job_delivered_to_the_next(world: World) -> None:
    running = await world.start(worker=W1)
    await world.control.evict(AMELIA)
    again = await world.deliver(await world.take(worker=W2))
    assert (again.job, again.attempt) == (running.job, 2)


async def test_a_handed_back_attempt_is_not_counted(world: World) -> None:
    """A worker that leaves politely costs a job none of its attempts, however often that happens."""
    delivery = await world.start(worker=W1)
    for _ in range(LIMITS.deliveries_max + 1):
        await world.broker.settle(delivery, HandedBack(), more=False)
        assert (await world.view(delivery.job.id)).attempt == 0
        delivery = await world.deliver(delivery.claim)
        assert delivery.attempt == 1


# --- the circuit breaker ----------------------------------------------------------------------------


async def fail(world: World, claim: Claim, times: int) -> None:
    for _ in range(times):
        world.clock.advance(world.limits.retry_most_seconds)
        await world.broker.settle(await world.deliver(claim), Retry("broken"), more=False)


@pytest.fixture
def fragile(world_with: Callable[[Limits], World]) -> World:
    """A world where four failures in a row park a lane, long before a job runs out of attempts."""
    return world_with(replace(LIMITS, deliveries_max=100))


async def test_a_lane_that_keeps_failing_is_parked(fragile: World) -> None:
    """It would burn the pool; and the history says why nothing happens."""
    await fragile.submit()
    claim = await fragile.take()
    await fail(fragile, claim, LIMITS.breaker_failures)
    until = fragile.clock.now() + LIMITS.breaker_seconds
    lane = await fragile.ledger.lane(AMELIA)
    assert (lane.parked_until, lane.failures) == (until, 0)
    assert Happening.PARKED in await fragile.happenings()
    fragile.clock.advance(LIMITS.breaker_seconds - 0.25)
    assert await fragile.next_job(claim) is None
    fragile.clock.advance(0.25)
    assert await fragile.next_job(claim) is not None


async def test_a_parked_lane_does_not_call_for_an_owner(fragile: World) -> None:
    """Not even when new mail arrives: the pool is what the parking protects."""
    await fragile.submit()
    claim = await fragile.take()
    await fail(fragile, claim, LIMITS.breaker_failures)
    await fragile.broker.release(claim)
    await fragile.submit(arrival=Arrival.INTERRUPT)
    assert not (await fragile.claim()).claims
    assert (await fragile.beat()).lanes_waiting == 0
    fragile.clock.advance(LIMITS.breaker_seconds)
    assert (await fragile.claim()).claims


async def test_a_job_that_is_carried_out_or_answered_forgives_the_failures_before(fragile: World) -> None:
    """Failures in a row, not in a lifetime."""
    await fragile.submit()
    claim = await fragile.take()
    await fail(fragile, claim, LIMITS.breaker_failures - 1)
    assert (await fragile.ledger.lane(AMELIA)).failures == LIMITS.breaker_failures - 1
    fragile.clock.advance(LIMITS.retry_most_seconds)
    await fragile.broker.settle(await fragile.deliver(claim), Done(), more=False)
    assert (await fragile.ledger.lane(AMELIA)).failures == 0
    await fragile.submit()
    await fail(fragile, claim, 1)
    assert (await fragile.ledger.lane(AMELIA)).parked_until is None


async def test_lost_owners_count_as_failures_of_the_lane(fragile: World) -> None:
    """A job that kills every worker it meets is the worst way to burn the pool."""
    await fragile.start(worker=W1)
    for _ in range(LIMITS.breaker_failures - 1):
        await fragile.deliver(await lose_owner(fragile, W1))
    claim = await lose_owner(fragile, W1)
    assert await fragile.next_job(claim) is None
    assert (await fragile.ledger.lane(AMELIA)).parked_until == fragile.clock.now() + LIMITS.breaker_seconds


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_lost_job_is_delivered_again_after_the_parking_however_strict_the_breaker(
    world_with: Callable[[Limits], World], failures: int
) -> None:
    """One loss is one failure. Counted again after each parking, it would park the lane for ever."""
    world = world_with(replace(LIMITS, breaker_failures=failures))
    delivery = await world.start(worker=W1)
    for attempt in range(2, LIMITS.deliveries_max + 1):
        claim = await lose_owner(world, W1)
        if await world.next_job(claim) is None:
            world.clock.advance(LIMITS.breaker_seconds)
        delivery = await world.deliver(claim)
        assert delivery.attempt == attempt
    await world.next_job(await lose_owner(world, W1))
    assert await world.state(delivery.job.id) is JobState.DEAD
