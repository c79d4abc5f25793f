"""Why a lane waits, with an estimate: from what every backend shows, in a few bounded reads."""

from tests.conformance.world import AMELIA, BRAVO, W1, World
from webordinary.claim.wait_reasons import explained
from webordinary.core.claim import Presence
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done
from webordinary.core.waiting import Cause, Reason

JOB_SECONDS = 40.0


async def reason(world: World, lane: Lane) -> Reason:
    workers = await world.ledger.workers()
    views = [await world.ledger.lane(lane)]
    ((_, found),) = await explained(world.ledger, views, workers, world.limits, world.clock.now())
    return found


async def test_waiting_is_estimated_from_jobs_that_were_done(world: World) -> None:
    """People who wait want to know how long, and hear that it is an estimate."""
    first = await world.start()
    world.clock.advance(JOB_SECONDS)
    await world.broker.settle(first, Done(), more=False)
    await world.submit()
    running = await world.broker.next_job(first.claim, wait=0)
    assert running is not None
    started = world.clock.now()
    await world.submit()
    await world.submit(BRAVO)
    world.clock.advance(10)
    await world.broker.keep(Presence(W1, 1, started, "here", 1, draining=False), [first.claim])
    busy = await reason(world, AMELIA)
    assert (busy.cause, busy.expected) == (Cause.OWNER_BUSY, started + JOB_SECONDS)
    assert "the next one starts in about 30 s, as an estimate (the last job took 40 s)" in busy.text
    full = await reason(world, BRAVO)
    turn_ends = (await world.ledger.lane(AMELIA)).claimed_at
    assert turn_ends is not None
    expected = max(started + JOB_SECONDS, turn_ends + world.limits.turn_seconds)
    assert (full.cause, full.expected) == (Cause.NO_FREE_WORKER, expected)
    assert full.until == started + world.limits.job_budget_seconds
