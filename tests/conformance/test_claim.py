"""Claiming: atomic, one owner at a time, and a fence that grows for ever."""

import asyncio

from tests.conformance.world import AMELIA, AMELIA_2, AMELIA_3, BRAVO, CORAL, W1, W2, W3, World
from webordinary.core.claim import Claim, Claimed, Ownership, WorkerId
from webordinary.core.outcome import Done
from webordinary.core.views import Happening

# --- the gatekeeper ---------------------------------------------------------------------------------


async def test_the_gatekeeper_knows_nobody_of_a_lane_that_was_never_seen(world: World) -> None:
    assert await world.backend.gatekeeper.owner(AMELIA) is None


async def test_the_gatekeeper_shows_the_whole_ownership(world: World) -> None:
    """Who holds a lane, since when, and until when: the operator's first question."""
    await world.submit()
    world.clock.advance(5)
    claim = await world.take()
    now = world.clock.now()
    assert await world.backend.gatekeeper.owner(AMELIA) == Ownership(
        AMELIA,
        W1,
        claim.fence,
        claimed_at=now,
        last_activity=now,
        lease_until=now + world.limits.lease_seconds,
    )


async def test_the_gatekeeper_goes_by_the_lease_and_not_by_the_row(world: World) -> None:
    """A row outlives its owner; a crashed owner once blocked its lane until the row was cleaned up."""
    await world.start()
    world.clock.advance(world.limits.lease_seconds - 0.25)
    assert await world.backend.gatekeeper.owner(AMELIA) is not None
    world.clock.advance(0.25)
    assert await world.backend.gatekeeper.owner(AMELIA) is None


async def test_the_gatekeeper_never_writes(world: World) -> None:
    """It once claimed the lane it was asked about. It must change nothing, owned or not, known or not."""
    await world.start(AMELIA)
    await world.submit(BRAVO)
    before = await world.everything()
    for lane in (AMELIA, BRAVO, CORAL):
        await world.backend.gatekeeper.owner(lane)
    assert await world.everything() == before
    world.outlive_the_lease()
    before = await world.everything()
    await world.backend.gatekeeper.owner(AMELIA)
    assert await world.everything() == before


# --- taking a lane ----------------------------------------------------------------------------------


async def test_with_nothing_waiting_a_claim_comes_back_empty(world: World) -> None:
    assert await world.claim() == Claimed()


async def test_a_claim_makes_the_worker_owner_and_consumes_the_request_in_one_step(world: World) -> None:
    """A request consumed before the claim is durable strands the lane; one left behind is bounced around."""
    await world.submit()
    assert await world.claim() == Claimed((Claim(AMELIA, W1, 1),))
    lane = await world.ledger.lane(AMELIA)
    assert (lane.worker, lane.fence, lane.waiting_since) == (W1, 1, None)
    assert await world.happenings() == [Happening.CLAIMED]


async def test_an_owned_lane_cannot_be_claimed(world: World) -> None:
    await world.start()
    await world.submit()
    assert await world.claim(W2) == Claimed()
    assert await world.claim(W1) == Claimed()


async def test_of_many_workers_at_once_exactly_one_gets_the_lane(world: World) -> None:
    """The loser of a race goes back to the pool with empty hands and no harm done."""
    await world.submit()
    workers = [WorkerId(f"w{number}") for number in range(10)]
    answers = await asyncio.gather(*(world.claim(worker, room=3) for worker in workers))
    (claim,) = [claim for answer in answers for claim in answer.claims]
    owner = await world.backend.gatekeeper.owner(AMELIA)
    assert owner is not None
    assert (owner.worker, owner.fence) == (claim.worker, claim.fence) == (claim.worker, 1)


async def test_many_workers_at_once_share_many_lanes_without_overlap(world: World) -> None:
    lanes = (AMELIA, AMELIA_2, AMELIA_3, BRAVO, CORAL)
    for lane in lanes:
        await world.submit(lane)
    answers = await asyncio.gather(*(world.claim(WorkerId(f"w{number}"), room=2) for number in range(10)))
    claimed = [claim.lane for answer in answers for claim in answer.claims]
    assert sorted(claimed) == sorted(lanes)
    assert all(len(answer.claims) <= 2 for answer in answers)


async def test_a_worker_gets_no_more_lanes_than_it_has_room_for(world: World) -> None:
    for lane in (AMELIA, BRAVO, CORAL):
        await world.submit(lane)
        world.clock.advance(0.25)
    first = await world.claim(room=2)
    assert [claim.lane for claim in first.claims] == [AMELIA, BRAVO]
    assert [claim.lane for claim in (await world.claim(room=2)).claims] == [CORAL]


async def test_a_worker_tied_to_one_lane_gets_that_lane_or_none(world: World) -> None:
    """`--only amelia/scott` is one of the three shapes of the pool."""
    await world.submit(BRAVO)
    assert await world.claim(room=4, only=AMELIA) == Claimed()
    await world.submit(AMELIA)
    assert [claim.lane for claim in (await world.claim(room=4, only=AMELIA)).claims] == [AMELIA]


async def test_a_lane_with_nothing_left_to_do_is_not_handed_out(world: World) -> None:
    """A released empty lane has no request; nobody is woken for nothing."""
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    await world.broker.release(delivery.claim)
    assert await world.claim(W2) == Claimed()


# --- the fence --------------------------------------------------------------------------------------


async def test_the_fence_grows_across_release_eviction_and_takeover(world: World) -> None:
    """A fence that restarts would let a zombie's settle pass as the current owner's."""
    await world.submit()
    fences = []
    claim = await world.take()
    fences.append(claim.fence)
    await world.broker.release(claim)
    fences.append((await world.take()).fence)
    await world.control.evict(AMELIA)
    fences.append((await world.take()).fence)
    world.outlive_the_lease()
    await world.broker.sweep()
    fences.append((await world.take(worker=W2)).fence)
    assert fences == [1, 2, 3, 4]


async def test_the_fence_grows_even_when_the_lane_was_empty_in_between(world: World) -> None:
    """No clean-up of quiet lanes may forget the number."""
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    await world.broker.release(delivery.claim)
    world.clock.advance(7 * 24 * 3600)
    await world.broker.sweep()
    await world.submit()
    assert (await world.take(worker=W2)).fence == delivery.claim.fence + 1


async def test_each_lane_has_a_fence_of_its_own(world: World) -> None:
    await world.submit(AMELIA)
    await world.broker.release(await world.take(AMELIA))
    assert (await world.take(AMELIA)).fence == 2
    await world.submit(BRAVO)
    assert (await world.take(BRAVO)).fence == 1


async def test_a_takeover_is_written_down_with_the_owner_that_was_lost(world: World) -> None:
    """The operator reads from the history which worker died."""
    await world.start(worker=W1)
    world.outlive_the_lease()
    await world.broker.sweep()
    await world.take(worker=W2)
    last = (await world.ledger.history(AMELIA, limit=1))[0]
    assert (last.what, last.worker, last.fence) == (Happening.TAKEN_OVER, W2, 2)
    assert W1 in last.note


async def test_a_worker_whose_lease_ran_out_is_no_different_from_a_stranger(world: World) -> None:
    """A paused worker may claim again, but its old claim is void."""
    old = (await world.start(worker=W1)).claim
    world.outlive_the_lease()
    await world.broker.sweep()
    new = await world.take(worker=W1)
    assert new.fence == old.fence + 1
    assert (await world.beat(W1, [old, new])).lost == (old,)


# --- a warm workspace -------------------------------------------------------------------------------


async def warm_lane(world: World) -> None:
    """A lane with work that W1 has served before and let go."""
    delivery = await world.start(worker=W1)
    await world.broker.settle(delivery, Done(), more=False)
    await world.broker.release(delivery.claim)
    await world.beat(W1)
    await world.submit()


async def test_the_lanes_last_worker_goes_first_for_a_moment(world: World) -> None:
    """Its workspace and its agent's session are warm."""
    await warm_lane(world)
    assert await world.claim(W2) == Claimed()
    assert [claim.lane for claim in (await world.claim(W1)).claims] == [AMELIA]


async def test_only_for_a_moment(world: World) -> None:
    """Warmth is a preference; a busy last worker must not keep a lane waiting."""
    await warm_lane(world)
    world.clock.advance(world.limits.warm_seconds)
    assert [claim.lane for claim in (await world.claim(W2)).claims] == [AMELIA]


async def test_nobody_waits_for_a_worker_that_is_gone_draining_or_silent(world: World) -> None:
    await warm_lane(world)
    await world.beat(W1, draining=True)
    assert (await world.claim(W2)).claims

    await world.submit(BRAVO)
    await world.broker.release(await world.take(BRAVO, W1))
    await world.beat(W1, gone=True)
    assert (await world.claim(W2)).claims

    await world.submit(CORAL)
    await world.broker.release(await world.take(CORAL, W3))
    await world.beat(W3)
    world.outlive_the_lease()
    await world.broker.release(await world.take(CORAL, W3))
    assert (await world.claim(W2)).claims
