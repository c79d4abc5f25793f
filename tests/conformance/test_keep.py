"""One beat for all that a worker holds, and what the answer carries."""

import asyncio

from tests.conformance.world import AMELIA, BRAVO, CORAL, LONG, W1, W2, World
from tests.waiting import soon
from webordinary.core.claim import Interrupt, Pulse
from webordinary.core.job import Arrival
from webordinary.core.outcome import Done, Preempted

# --- renewing ---------------------------------------------------------------------------------------


async def test_a_beat_renews_every_claim_it_names(world: World) -> None:
    claims = [(await world.start(lane)).claim for lane in (AMELIA, BRAVO)]
    world.clock.advance(50)
    assert (await world.beat(W1, claims)).lost == ()
    for lane in (AMELIA, BRAVO):
        owner = await world.backend.gatekeeper.owner(lane)
        assert owner is not None
        assert owner.lease_until == world.clock.now() + world.limits.lease_seconds


async def test_a_beat_renews_no_claim_that_it_does_not_name(world: World) -> None:
    """A lane whose loop is stuck is left out of the beat, and must be let go by its lease."""
    claim = (await world.start()).claim
    world.clock.advance(30)
    await world.beat(W1, [])
    world.clock.advance(30)
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    assert (await world.beat(W1, [claim])).lost == ()


async def test_two_lost_beats_are_survivable(world: World) -> None:
    claim = (await world.start()).claim
    world.clock.advance(3 * world.limits.beat_seconds)
    assert (await world.beat(W1, [claim])).lost == ()


async def test_a_beat_is_no_activity(world: World) -> None:
    """Idle release counts from the last job; a beat must not make an idle lane look busy."""
    claim = (await world.start()).claim
    since = world.clock.now()
    world.clock.advance(15)
    await world.beat(W1, [claim])
    owner = await world.backend.gatekeeper.owner(AMELIA)
    assert owner is not None
    assert owner.last_activity == since


async def test_a_claim_that_somebody_else_took_is_reported_lost_and_not_renewed(world: World) -> None:
    """A lost claim is final: the worker drops it at once."""
    mine, other = (await world.start(AMELIA)).claim, (await world.start(BRAVO)).claim
    world.clock.advance(30)
    await world.beat(W1, [other])
    world.clock.advance(30)
    await world.broker.sweep()
    world.clock.advance(world.limits.warm_seconds)
    theirs = await world.take(AMELIA, W2)
    before = await world.backend.gatekeeper.owner(AMELIA)
    world.clock.advance(1)
    assert (await world.beat(W1, [mine, other])).lost == (mine,)
    assert await world.backend.gatekeeper.owner(AMELIA) == before
    assert (await world.beat(W2, [theirs])).lost == ()


async def test_a_claim_that_was_released_or_evicted_is_reported_lost(world: World) -> None:
    released, evicted = (await world.start(AMELIA)).claim, (await world.start(BRAVO)).claim
    await world.broker.release(released)
    await world.control.evict(BRAVO)
    assert (await world.beat(W1, [released, evicted])).lost == (released, evicted)


# --- interrupts -------------------------------------------------------------------------------------


async def test_a_beat_carries_the_interrupts_of_running_jobs(world: World) -> None:
    running, calm = await world.start(AMELIA), await world.start(BRAVO)
    newer = await world.submit(AMELIA, Arrival.INTERRUPT)
    expected = (Interrupt(AMELIA, running.job.id, newer),)
    claims = [running.claim, calm.claim]
    assert (await world.beat(W1, claims)).interrupts == expected
    assert (await world.beat(W1, claims)).interrupts == expected  # an answer may be lost: said until settled
    await world.broker.settle(running, Preempted(newer), more=False)
    assert (await world.beat(W1, claims)).interrupts == ()


async def test_a_beat_carries_the_operators_interrupt(world: World) -> None:
    running = await world.start()
    await world.control.interrupt(AMELIA)
    assert (await world.beat(W1, [running.claim])).interrupts == (Interrupt(AMELIA, running.job.id, None),)


async def test_nobody_hears_of_an_interrupt_of_a_lost_owners_job(world: World) -> None:
    """The new owner has not been given that job; there is nothing it could stop."""
    await world.start(worker=W1)
    world.outlive_the_lease()
    await world.submit(AMELIA, Arrival.INTERRUPT)
    claim = await world.take(worker=W2)
    assert (await world.beat(W2, [claim])).interrupts == ()


async def test_a_nudge_comes_back_at_once_when_a_job_is_interrupted(world: World) -> None:
    """Otherwise an interrupt would wait for the next beat, up to fifteen seconds."""
    running = await world.start()
    await world.beat(W1, [running.claim])
    nudge = asyncio.create_task(world.broker.nudged(W1, wait=LONG))
    await asyncio.sleep(0.05)
    assert not nudge.done()
    await world.submit(AMELIA, Arrival.INTERRUPT)
    await soon(nudge)


async def test_a_nudge_between_a_beat_and_the_listening_is_not_missed(world: World) -> None:
    running = await world.start()
    await world.beat(W1, [running.claim])
    await world.control.interrupt(AMELIA)
    await soon(world.broker.nudged(W1, wait=LONG))


async def test_a_nudge_between_two_listenings_is_not_missed(world: World) -> None:
    running = await world.start()
    await world.beat(W1, [running.claim])
    await world.broker.nudged(W1, wait=0)
    await world.control.interrupt(AMELIA)
    await world.beat(W1, [running.claim])
    await soon(world.broker.nudged(W1, wait=LONG))


async def test_an_eviction_nudges_the_evicted(world: World) -> None:
    """It should stop before its next beat, not after."""
    running = await world.start()
    await world.beat(W1, [running.claim])
    await world.control.evict(AMELIA)
    await soon(world.broker.nudged(W1, wait=LONG))


async def test_nobody_is_nudged_for_somebody_elses_lane(world: World) -> None:
    running = await world.start()
    await world.beat(W2)
    nudge = asyncio.create_task(world.broker.nudged(W2, wait=LONG))
    await world.control.interrupt(AMELIA)
    await world.beat(W1, [running.claim])
    await asyncio.sleep(0.05)
    assert not nudge.done()
    nudge.cancel()


async def test_without_a_nudge_the_listening_ends_by_itself(world: World) -> None:
    await world.broker.nudged(W1, wait=0.01)


# --- pressure ---------------------------------------------------------------------------------------


async def test_a_beat_tells_how_many_lanes_wait_and_for_how_long(world: World) -> None:
    """A busy owner gives way after its turn only if others have waited too long."""
    assert await world.beat() == Pulse()
    await world.start(AMELIA)
    await world.submit(BRAVO)
    world.clock.advance(5)
    await world.submit(CORAL)
    world.clock.advance(2)
    pulse = await world.beat()
    assert (pulse.lanes_waiting, pulse.longest_wait) == (2, 7.0)


async def test_a_lane_that_is_served_does_not_wait(world: World) -> None:
    delivery = await world.start()
    await world.submit()
    await world.broker.settle(delivery, Done(), more=False)
    assert (await world.beat(W1, [delivery.claim])).lanes_waiting == 0


# --- presence ---------------------------------------------------------------------------------------


async def test_a_worker_is_seen_from_its_first_beat_until_a_lease_after_its_last(world: World) -> None:
    claim = (await world.start()).claim
    assert await world.ledger.workers() == []
    await world.beat(W1, [claim])
    (seen,) = await world.ledger.workers()
    assert (seen.worker, seen.slots, seen.host, seen.pid) == (W1, 4, "host", 1)
    assert (seen.seen_at, seen.draining, seen.lanes) == (world.clock.now(), False, (AMELIA,))
    world.outlive_the_lease()
    assert await world.ledger.workers() == []


async def test_a_worker_shows_that_it_drains_and_is_gone_with_its_last_word(world: World) -> None:
    await world.beat(W1)
    await world.beat(W1, draining=True)
    (seen,) = await world.ledger.workers()
    assert seen.draining
    await world.beat(W1, draining=True, gone=True)
    assert await world.ledger.workers() == []
