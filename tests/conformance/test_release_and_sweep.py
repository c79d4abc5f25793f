"""Letting go without stranding a job, and finding what was stranded all the same."""

from collections.abc import Callable
from dataclasses import replace

from tests.conformance.world import AMELIA, BRAVO, CORAL, LIMITS, W1, W2, World
from webordinary.core.claim import Claimed
from webordinary.core.job import Arrival, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Retry
from webordinary.core.views import Happening

# --- release ----------------------------------------------------------------------------------------


async def test_a_released_lane_has_no_owner_and_keeps_its_fence(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    await world.broker.release(delivery.claim)
    lane = await world.ledger.lane(AMELIA)
    assert (lane.worker, lane.claimed_at, lane.lease_until) == (None, None, None)
    assert (lane.fence, lane.waiting_since) == (1, None)
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    assert await world.happenings() == [Happening.CLAIMED, Happening.RELEASED]


async def test_what_is_left_in_a_released_lane_gets_a_claim_request_in_the_same_breath(world: World) -> None:
    """An owner that lets go just when a job arrives once stranded it: nobody asked for a new owner."""
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    left = await world.submit()
    world.clock.advance(1)
    await world.broker.release(delivery.claim)
    assert (await world.ledger.lane(AMELIA)).waiting_since == world.clock.now()
    assert (await world.deliver(await world.take(worker=W2))).job.id == left


async def test_a_release_hands_back_what_was_delivered_and_not_settled(world: World) -> None:
    """Its delivery may have been lost on the way; nobody works on it, so it costs no attempt."""
    delivery = await world.start()
    await world.broker.release(delivery.claim)
    view = await world.view(delivery.job.id)
    assert (view.state, view.attempt) == (JobState.QUEUED, 0)
    again = await world.deliver(await world.take(worker=W2))
    assert (again.job, again.attempt) == (delivery.job, 1)
    assert await world.happenings() == [
        Happening.CLAIMED,
        Happening.HANDED_BACK,
        Happening.RELEASED,
        Happening.CLAIMED,
    ]


async def test_a_release_ends_an_interrupted_job(world: World) -> None:
    """Handed back, it would run after the job that interrupted it was promised to go next."""
    delivery = await world.start()
    newer = await world.submit(arrival=Arrival.INTERRUPT)
    await world.broker.release(delivery.claim)
    assert await world.state(delivery.job.id) is JobState.PREEMPTED
    assert (await world.deliver(await world.take(worker=W2))).job.id == newer


async def test_a_release_may_be_repeated(world: World) -> None:
    """Its answer may be lost on the way."""
    claim = (await world.start()).claim
    await world.broker.release(claim)
    before = await world.everything()
    world.clock.advance(1)
    await world.broker.release(claim)
    assert await world.everything() == before


async def test_a_former_owner_cannot_release_the_lane_of_the_current_one(world: World) -> None:
    """The repeated word of a paused worker must not take the lane from its successor."""
    old = (await world.start(worker=W1)).claim
    world.outlive_the_lease()
    await world.broker.sweep()
    new = await world.deliver(await world.take(worker=W2))
    before = await world.everything()
    for stranger in (old, replace(new.claim, worker=W1), replace(new.claim, fence=old.fence)):
        await world.broker.release(stranger)
    assert await world.everything() == before


async def test_a_lane_whose_lease_ran_out_can_still_be_released(world: World) -> None:
    """And it calls for an owner at once, without the sweep."""
    claim = (await world.start()).claim
    world.outlive_the_lease()
    await world.broker.release(claim)
    assert (await world.claim(W2)).claims


# --- sweep ------------------------------------------------------------------------------------------


async def test_with_nothing_stranded_a_sweep_changes_nothing(world: World) -> None:
    await world.start(AMELIA)
    await world.submit(AMELIA)
    await world.submit(BRAVO)
    before = await world.everything()
    assert await world.broker.sweep() == 0
    assert await world.everything() == before


async def test_a_crashed_owners_jobs_get_a_claim_request_without_any_new_mail(world: World) -> None:
    """Nothing asked for a new claim until new mail came, which may be never."""
    await world.start()
    assert await world.broker.sweep() == 0
    assert await world.claim(W2) == Claimed()
    world.outlive_the_lease()
    assert await world.claim(W2) == Claimed()
    assert await world.broker.sweep() == 1
    assert (await world.ledger.lane(AMELIA)).waiting_since == world.clock.now()
    assert (await world.claim(W2)).claims


async def test_a_second_sweep_finds_nothing_more(world: World) -> None:
    """Every worker sweeps; the request keeps its age."""
    await world.start()
    world.outlive_the_lease()
    assert await world.broker.sweep() == 1
    before = await world.everything()
    world.clock.advance(1)
    assert await world.broker.sweep() == 0
    assert (await world.everything()).lanes == before.lanes


async def test_a_dead_owners_empty_lane_is_not_stranded(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    world.outlive_the_lease()
    assert await world.broker.sweep() == 0


async def test_a_sweep_does_a_bounded_amount_of_work(world_with: Callable[[Limits], World]) -> None:
    """Ten thousand stranded lanes must not stop everybody; the next sweep goes on where this one stopped."""
    world = world_with(replace(LIMITS, sweep_lanes_max=2))
    lanes = (AMELIA, BRAVO, CORAL)
    for lane in lanes:
        await world.start(lane)
    world.outlive_the_lease()
    assert [await world.broker.sweep() for _ in range(3)] == [2, 1, 0]
    assert [await world.waits(lane) for lane in lanes] == [True, True, True]


async def test_a_vain_claim_request_is_dropped_and_never_bounced(world: World) -> None:
    """A request for a lane that turned out to be owned once went round and round, up to the dead letters."""
    claim = (await world.start(worker=W1)).claim
    world.outlive_the_lease()
    await world.submit()
    assert await world.waits()
    await world.beat(W1, [claim])
    assert await world.claim(W2) == Claimed()
    await world.broker.sweep()
    assert not await world.waits()
    assert await world.happenings() == [Happening.CLAIMED]


async def test_a_swept_lane_in_back_off_waits_for_its_time(world_with: Callable[[Limits], World]) -> None:
    """The sweep asks for an owner; it does not overrule a back-off."""
    world = world_with(replace(LIMITS, retry_first_seconds=120.0))
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    world.outlive_the_lease()
    assert await world.broker.sweep() == 1
    assert await world.claim(W2) == Claimed()
    world.clock.advance(60)
    assert (await world.claim(W2)).claims
