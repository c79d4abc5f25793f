"""Which lane goes next: nobody starves, and no project takes all."""

from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, AMELIA_2, AMELIA_3, BRAVO, CORAL, W1, W2, World
from webordinary.core.claim import Claim, Claimed
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done, Retry
from webordinary.core.views import Happening


async def in_order(world: World, lanes: int) -> list[Lane]:
    """Take so many lanes one by one."""
    return [(await world.claim(W2)).claims[0].lane for _ in range(lanes)]


async def test_lanes_of_different_projects_go_oldest_first(world: World) -> None:
    for lane in (CORAL, AMELIA, BRAVO):
        await world.submit(lane)
        world.clock.advance(0.25)
    assert await in_order(world, 3) == [CORAL, AMELIA, BRAVO]


async def test_a_project_with_many_lanes_does_not_starve_the_others(world: World) -> None:
    """One tenant with a hundred keys must not take the whole pool."""
    for lane in (AMELIA, AMELIA_2, AMELIA_3, BRAVO):
        await world.submit(lane)
        world.clock.advance(0.25)
    assert await in_order(world, 4) == [AMELIA, BRAVO, AMELIA_2, AMELIA_3]


async def test_lanes_taken_in_one_call_are_as_fair_as_lanes_taken_one_by_one(world: World) -> None:
    for lane in (AMELIA, AMELIA_2, AMELIA_3, BRAVO):
        await world.submit(lane)
        world.clock.advance(0.25)
    claimed = await world.claim(room=3)
    assert [claim.lane for claim in claimed.claims] == [AMELIA, BRAVO, AMELIA_2]


async def test_only_live_owners_count_against_a_project(world: World) -> None:
    """Slots are derived from live leases, never counted by hand: a dead worker's lanes weigh nothing."""
    await world.start(AMELIA, W1)
    await world.submit(BRAVO)
    world.outlive_the_lease()
    await world.submit(AMELIA_2)
    assert await in_order(world, 2) == [BRAVO, AMELIA_2]
    await world.broker.sweep()
    assert await in_order(world, 1) == [AMELIA]


async def test_beyond_our_patience_the_oldest_goes_first_whatever_its_project(world: World) -> None:
    """Fairness between projects may delay a lane, but never for ever."""
    await world.start(AMELIA, W1)
    await world.submit(AMELIA_2)
    world.clock.advance(world.limits.patience_seconds)
    await world.submit(BRAVO)
    assert await in_order(world, 2) == [AMELIA_2, BRAVO]


# --- exchange: a waiting lane never waits behind an idle claim --------------------------------------


async def idle_claim(world: World, lane: Lane = AMELIA) -> Claim:
    """A claim of W1 with nothing left to do."""
    delivery = await world.start(lane, W1)
    await world.broker.settle(delivery, Done(), more=False)
    return delivery.claim


async def test_an_idle_claim_goes_in_exchange_for_a_waiting_lane(world: World) -> None:
    """Thirty idle minutes must cost nobody anything."""
    idle = await idle_claim(world)
    await world.submit(BRAVO)
    world.clock.advance(world.limits.exchange_grace_seconds)
    exchanged = await world.claim(W1, room=0, idle=[idle])
    assert exchanged == Claimed((Claim(BRAVO, W1, 1),), given_up=(idle,))
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    assert (await world.happenings(AMELIA))[-1] is Happening.EXCHANGED
    assert (await world.beat(W1, [idle])).lost == (idle,)


async def test_free_workers_go_first(world: World) -> None:
    """Within the grace an idle owner keeps its warm lane."""
    idle = await idle_claim(world)
    await world.submit(BRAVO)
    assert await world.claim(W1, room=0, idle=[idle]) == Claimed()
    assert [claim.lane for claim in (await world.claim(W2)).claims] == [BRAVO]


async def test_a_lane_with_work_to_do_never_goes_in_exchange(world: World) -> None:
    """The worker believes it idle; the store knows of the job that arrived a moment ago."""
    idle = await idle_claim(world)
    await world.submit(AMELIA)
    await world.submit(BRAVO)
    world.clock.advance(world.limits.exchange_grace_seconds)
    assert await world.claim(W1, room=0, idle=[idle]) == Claimed()
    await world.deliver(idle)
    assert await world.claim(W1, room=0, idle=[idle]) == Claimed()


async def test_the_first_idle_claim_that_can_go_goes(world: World) -> None:
    """The worker names its coldest lane first."""
    busy, cold, warm = (
        (await world.start(AMELIA, W1)).claim,
        await idle_claim(world, AMELIA_2),
        await idle_claim(world, AMELIA_3),
    )
    await world.submit(BRAVO)
    world.clock.advance(world.limits.exchange_grace_seconds)
    assert (await world.claim(W1, room=0, idle=[busy, cold, warm])).given_up == (cold,)


async def test_one_idle_claim_buys_one_lane(world: World) -> None:
    """Slots are bounded: two lanes for one claim would be one too many."""
    idle = await idle_claim(world)
    await world.submit(BRAVO)
    await world.submit(CORAL)
    world.clock.advance(world.limits.exchange_grace_seconds)
    exchanged = await world.claim(W1, room=0, idle=[idle])
    assert len(exchanged.claims) == len(exchanged.given_up) == 1


async def test_whoever_has_room_gives_nothing_up(world: World) -> None:
    """A warm lane is not thrown away while there is a slot for another."""
    idle = await idle_claim(world)
    await world.submit(BRAVO)
    world.clock.advance(world.limits.exchange_grace_seconds)
    assert await world.claim(W1, room=1, idle=[idle]) == Claimed((Claim(BRAVO, W1, 1),))
    assert (await world.beat(W1, [idle])).lost == ()


async def test_an_idle_claim_that_is_named_twice_buys_one_lane(world: World) -> None:
    """Given up once, it can't be given up again: the second time was refused when half of it was done."""
    idle = await idle_claim(world)
    await world.submit(BRAVO)
    await world.submit(CORAL)
    world.clock.advance(world.limits.exchange_grace_seconds)
    exchanged = await world.claim(W1, room=0, idle=[idle, idle])
    assert [claim.lane for claim in exchanged.claims] == [BRAVO]
    assert exchanged.given_up == (idle,)


async def test_as_many_idle_claims_go_as_lanes_wait(world: World) -> None:
    """Sixty-four idle slots and a thousand waiting lanes: one at a time would take a round trip each."""
    idle = [await idle_claim(world, lane) for lane in (AMELIA, AMELIA_2, AMELIA_3)]
    for lane in (BRAVO, CORAL):
        await world.submit(lane)
    world.clock.advance(world.limits.exchange_grace_seconds)
    exchanged = await world.claim(W1, room=0, idle=idle)
    assert {claim.lane for claim in exchanged.claims} == {BRAVO, CORAL}
    assert exchanged.given_up == tuple(idle[:2])
    assert await world.backend.gatekeeper.owner(AMELIA_3) is not None


async def test_a_lane_that_waits_for_a_back_off_may_go_and_is_not_forgotten(world: World) -> None:
    """Its owner has nothing to do there now; its claim request is good from when the job is due."""
    delivery = await world.start(AMELIA, W1)
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    await world.submit(BRAVO)
    world.clock.advance(world.limits.exchange_grace_seconds)
    assert (await world.claim(W1, room=0, idle=[delivery.claim])).given_up == (delivery.claim,)
    assert await world.claim(W2, only=AMELIA) == Claimed()
    world.clock.advance(world.limits.retry_first_seconds)
    assert (await world.claim(W2, only=AMELIA)).claims


async def test_a_claim_that_was_lost_meanwhile_buys_nothing(world: World) -> None:
    """Otherwise a worker would give away what it no longer has."""
    idle = await idle_claim(world)
    await world.control.evict(AMELIA)
    await world.submit(BRAVO)
    world.clock.advance(world.limits.exchange_grace_seconds)
    assert await world.claim(W1, room=0, idle=[idle]) == Claimed()
    assert await world.claim(W1, room=0, idle=[replace(idle, fence=idle.fence - 1)]) == Claimed()


async def test_without_room_and_without_an_idle_claim_nothing_is_taken(world: World) -> None:
    await world.submit()
    world.clock.advance(60)
    assert await world.claim(room=0) == Claimed()


# --- lanes spread over workers ----------------------------------------------------------------------


async def test_two_lanes_that_wait_at_once_go_to_two_workers(world: World) -> None:
    """One worker of four slots once took both while its neighbour was empty."""
    for worker in (W1, W2):
        await world.beat(worker)
    await world.submit(AMELIA)
    await world.submit(BRAVO)
    assert len((await world.claim(W1, room=4)).claims) == 1
    assert (await world.claim(W1, room=3)).claims == ()
    assert len((await world.claim(W2, room=4)).claims) == 1


async def test_a_burst_is_taken_in_two_calls_of_two_workers(world: World) -> None:
    """Spreading costs no round trips: each takes its share at once."""
    for worker in (W1, W2):
        await world.beat(worker)
    for number in range(8):
        await world.submit(Lane(f"p{number}", "kim"))
    assert [len((await world.claim(worker, room=4)).claims) for worker in (W1, W2)] == [4, 4]


async def test_whoever_holds_lanes_leaves_a_waiting_one_for_a_moment_only(world: World) -> None:
    """The other may be alive and not look: no lane waits beside a free slot for longer than that moment."""
    held = (await world.start(AMELIA, W1)).claim
    await world.beat(W2)
    await world.beat(W1, [held])
    await world.submit(BRAVO)
    assert (await world.claim(W1, room=3)).claims == ()
    world.clock.advance(world.limits.exchange_grace_seconds)
    assert [claim.lane for claim in (await world.claim(W1, room=3)).claims] == [BRAVO]


async def test_with_equal_hands_whoever_asks_first_takes_it_at_once(world: World) -> None:
    """Spreading must cost no latency where there is nothing to spread."""
    for worker, lane in ((W1, AMELIA), (W2, BRAVO)):
        await world.beat(worker, [(await world.start(lane, worker)).claim])
    await world.submit(CORAL)
    assert len((await world.claim(W2, room=3)).claims) == 1


@pytest.mark.parametrize("state", ["alone", "leaving", "gone", "silent", "full"])
async def test_nobody_waits_for_a_worker_that_takes_no_lanes(world: World, state: str) -> None:
    if state != "alone":
        await world.beat(W2, draining=state == "leaving", gone=state == "gone")
    if state == "silent":
        world.outlive_the_lease()
    if state == "full":
        for number in range(4):
            await world.start(Lane(f"p{number}", "kim"), W2)
    await world.beat(W1, [(await world.start(AMELIA, W1)).claim])
    await world.submit(BRAVO)
    assert [claim.lane for claim in (await world.claim(W1, room=3)).claims] == [BRAVO]


async def test_a_warm_lane_goes_back_to_its_worker_however_many_it_holds(world: World) -> None:
    """Its workspace is there; that is worth more than an even spread."""
    delivery = await world.start(AMELIA, W1)
    await world.broker.settle(delivery, Done(), more=False)
    await world.broker.release(delivery.claim)
    await world.beat(W1, [(await world.start(BRAVO, W1)).claim])
    await world.beat(W2)
    await world.submit(AMELIA)
    assert [claim.lane for claim in (await world.claim(W1, room=3)).claims] == [AMELIA]
