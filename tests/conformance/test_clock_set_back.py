"""A store's clock that is set back strands nothing: what is further away than it can be is over."""

from collections.abc import Callable
from dataclasses import replace

from tests.conformance.world import AMELIA, BRAVO, LIMITS, W1, W2, World
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Retry

TWO_HOURS = 7200.0


async def test_a_dead_owners_lane_is_taken_over(world: World) -> None:
    """Its lease ends in two hours by today's clock; everybody who asks for a change would wait for that."""
    lost = await world.start(worker=W1)
    world.clock.advance(-TWO_HOURS)
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    assert await world.broker.sweep() == 1
    (claim,) = (await world.claim(W2)).claims
    again = await world.deliver(claim)
    assert (again.job, again.attempt) == (lost.job, 2)


async def test_a_live_owner_keeps_its_lane_with_its_next_beat(world: World) -> None:
    """The rule is for the dead: who still beats has a lease by today's clock again."""
    delivery = await world.start(worker=W1)
    world.clock.advance(-TWO_HOURS)
    assert not (await world.beat(W1, [delivery.claim])).lost
    assert await world.broker.sweep() == 0
    assert await world.backend.gatekeeper.owner(AMELIA) is not None
    await world.broker.settle(delivery, Done(), more=False)


async def test_a_clock_that_is_set_back_a_little_takes_no_lane_from_anybody(world: World) -> None:
    """Clocks are corrected by parts of a second all the time."""
    delivery = await world.start(worker=W1)
    world.clock.advance(-0.25)
    assert await world.broker.sweep() == 0
    owner = await world.backend.gatekeeper.owner(AMELIA)
    assert owner is not None
    assert owner.worker == delivery.claim.worker


async def test_a_lane_that_waits_is_taken(world: World) -> None:
    """It would begin to wait in two hours; the next sweep corrects that."""
    await world.submit()
    await world.submit(BRAVO)
    world.clock.advance(-TWO_HOURS)
    await world.broker.sweep()
    assert {claim.lane for claim in (await world.claim(room=2)).claims} == {AMELIA, BRAVO}


async def test_a_job_in_back_off_is_tried_again(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    world.clock.advance(-TWO_HOURS)
    assert (await world.deliver(delivery.claim)).attempt == 2


async def test_a_lane_that_was_let_go_in_back_off_is_taken(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    await world.broker.release(delivery.claim)
    world.clock.advance(-TWO_HOURS)
    await world.broker.sweep()
    assert (await world.deliver(await world.take(worker=W1))).attempt == 2


async def test_a_parked_lane_is_served(world_with: Callable[[Limits], World]) -> None:
    world = world_with(replace(LIMITS, breaker_failures=1))
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("broken"), more=False)
    world.clock.advance(LIMITS.retry_most_seconds)
    assert await world.next_job(delivery.claim) is None
    world.clock.advance(-TWO_HOURS)
    assert (await world.deliver(delivery.claim)).attempt == 2


async def test_a_lane_parked_by_todays_clock_stays_parked(world_with: Callable[[Limits], World]) -> None:
    """The breaker is there for a reason; only what can't be is not believed."""
    world = world_with(replace(LIMITS, breaker_failures=1))
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("broken"), more=False)
    world.clock.advance(-LIMITS.breaker_seconds / 2)
    assert await world.next_job(delivery.claim) is None


async def test_a_worker_of_the_former_time_keeps_no_lane_warm(world: World) -> None:
    """It was seen in two hours by today's clock, and may be dead."""
    delivery = await world.start(worker=W1)
    await world.beat(W1, [delivery.claim])
    await world.broker.settle(delivery, Done(), more=False)
    await world.broker.release(delivery.claim)
    world.clock.advance(-TWO_HOURS)
    await world.submit()
    assert [claim.lane for claim in (await world.claim(W2)).claims] == [AMELIA]
