"""The moves that a backend makes are the moves that are allowed, and it makes all of them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from tests.conformance.world import AMELIA, LIMITS, World
from webordinary.core.job import MOVES, Arrival, JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Failed, HandedBack, Preempted, Retry

Move = tuple[JobState, JobState]


class Watcher:
    """Watches the jobs of a world step by step and collects their moves."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._states: dict[JobId, tuple[JobState, int]] = {}
        self.moves: set[Move] = set()

    async def after(self, step: Awaitable[object]) -> None:
        """Take a step and see what it moved."""
        await step
        for view in await self._world.ledger.jobs(limit=100):
            before = self._states.get(view.id)
            now = (view.state, view.fence)
            if before is not None and before != now:
                self.moves.add((before[0], now[0]))
            self._states[view.id] = now


async def test_every_move_is_allowed_and_every_allowed_move_is_made(
    world_with: Callable[[Limits], World],
) -> None:
    """The lifecycle that the docs draw is the lifecycle that jobs have."""
    world = world_with(replace(LIMITS, deliveries_max=2, breaker_failures=100))
    watcher = Watcher(world)

    async def started() -> None:
        """The lane's head runs, whoever had the lane before."""
        await world.control.evict(AMELIA)
        await world.deliver(await world.take())

    async def settled(outcome: Done | Failed | HandedBack | Preempted | Retry) -> None:
        lane = await world.ledger.lane(AMELIA)
        assert lane.worker is not None
        owner = await world.backend.gatekeeper.owner(AMELIA)
        assert owner is not None
        claim = replace(last_claim, worker=owner.worker, fence=owner.fence)
        await world.broker.settle(await world.deliver(claim), outcome, more=False)

    await watcher.after(world.submit())
    last_claim = await world.take()
    for outcome in (Done(), Failed("no"), Preempted(), HandedBack(), Retry("flaky")):
        await watcher.after(world.submit())
        await watcher.after(started())
        await watcher.after(settled(outcome))

    await watcher.after(world.submit(arrival=Arrival.INTERRUPT))  # ends the one that is retrying
    await watcher.after(world.submit(arrival=Arrival.REPLACE_PENDING))  # ends the queued ones
    await watcher.after(started())
    await watcher.after(settled(Retry("flaky")))
    world.clock.advance(LIMITS.retry_most_seconds)
    await watcher.after(started())
    await watcher.after(settled(Retry("broken")))
    (dead,) = await world.ledger.jobs(limit=10, state=JobState.DEAD)
    await watcher.after(world.control.redrive(dead.id))
    await watcher.after(started())
    await watcher.after(started())  # its owner was lost
    await watcher.after(settled(Retry("broken")))
    await watcher.after(world.control.drop(dead.id))

    allowed = {(before, after) for before, moves in MOVES.items() for after in moves}
    assert watcher.moves == allowed
