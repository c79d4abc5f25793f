"""Long polls come back as soon as there is something, and never lose what they already hold."""

import asyncio

import pytest

from tests.conformance.world import AMELIA, BRAVO, LONG, W1, W2, World
from tests.waiting import HANG_SECONDS, soon, waiting
from webordinary.core.claim import Claim, Claimed
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, JobId, JobState
from webordinary.core.outcome import Done, Retry
from webordinary.ports.broker import Recall


async def idle_claim(world: World) -> Claim:
    """A claim of W1 with nothing left to do."""
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    return delivery.claim


# --- a call for lanes -------------------------------------------------------------------------------


async def test_a_call_for_lanes_wakes_when_a_job_is_submitted(world: World) -> None:
    async with waiting(world.broker.claim(W1, room=1, wait=LONG)) as poll:
        await world.submit()
        assert [claim.lane for claim in (await soon(poll)).claims] == [AMELIA]


async def test_a_call_for_lanes_wakes_when_an_owner_lets_go(world: World) -> None:
    running = await world.start()
    async with waiting(world.broker.claim(W2, room=1, wait=LONG)) as poll:
        await world.broker.release(running.claim)
        assert (await soon(poll)).claims == (Claim(AMELIA, W2, 2),)


async def test_a_call_for_lanes_wakes_when_an_owner_is_evicted(world: World) -> None:
    await world.start()
    async with waiting(world.broker.claim(W2, room=1, wait=LONG)) as poll:
        await world.control.evict(AMELIA)
        assert (await soon(poll)).claims == (Claim(AMELIA, W2, 2),)


async def test_a_call_for_lanes_wakes_when_a_sweep_finds_a_stranded_one(world: World) -> None:
    await world.start()
    world.outlive_the_lease()
    async with waiting(world.broker.claim(W2, room=1, wait=LONG)) as poll:
        await world.broker.sweep()
        assert (await soon(poll)).claims == (Claim(AMELIA, W2, 2),)


async def test_a_call_for_lanes_wakes_when_an_idle_lane_was_exchanged_with_work_in_back_off(
    world: World,
) -> None:
    """The lane that was given away is due a moment later, and nobody sends a word then."""
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    world.clock.advance(1.75)
    async with waiting(world.broker.claim(W2, room=1, wait=LONG)) as poll:
        await world.broker.release(delivery.claim)
        await asyncio.sleep(0.05)
        assert not poll.done()
        world.clock.advance(0.25)
        assert (await soon(poll)).claims == (Claim(AMELIA, W2, 2),)


async def test_of_two_calls_for_lanes_one_gets_the_lane_and_the_other_goes_on_waiting(world: World) -> None:
    async with (
        waiting(world.broker.claim(W1, room=1, wait=LONG)) as first,
        waiting(world.broker.claim(W2, room=1, wait=LONG)) as second,
    ):
        await world.submit(AMELIA)
        done, pending = await asyncio.wait(
            [first, second], timeout=HANG_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        assert (len(done), len(pending)) == (1, 1)
        await world.submit(BRAVO)
        claims = [*(await soon(first)).claims, *(await soon(second)).claims]
        assert sorted(claim.lane for claim in claims) == [AMELIA, BRAVO]


async def test_a_full_worker_exchanges_its_idle_lane_after_the_grace(world: World) -> None:
    """Nobody sends a word when the grace is over; the poll looks again by itself."""
    idle = await idle_claim(world)
    async with waiting(world.broker.claim(W1, room=0, idle=[idle], wait=LONG)) as poll:
        await world.submit(BRAVO)
        await asyncio.sleep(0.05)
        assert not poll.done()
        world.clock.advance(world.limits.exchange_grace_seconds)
        assert (await soon(poll)).given_up == (idle,)


async def test_a_call_for_lanes_ends_empty_when_its_time_is_over(world: World) -> None:
    assert await soon(world.broker.claim(W1, room=1, wait=0.02)) == Claimed()


# --- an owner waiting for its lane's next job -------------------------------------------------------


async def test_an_owner_wakes_when_a_job_arrives(world: World) -> None:
    claim = await idle_claim(world)
    async with waiting(world.broker.next_job(claim, wait=LONG)) as poll:
        job = await world.submit()
        delivery = await soon(poll)
        assert delivery is not None
        assert delivery.job.id == job


async def test_an_owner_wakes_when_a_back_off_is_over(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    world.clock.advance(world.limits.retry_first_seconds - 0.25)
    async with waiting(world.broker.next_job(delivery.claim, wait=LONG)) as poll:
        world.clock.advance(0.25)
        again = await soon(poll)
        assert again is not None
        assert again.attempt == 2


async def test_an_owner_wakes_when_a_newer_job_makes_way_for_itself(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    async with waiting(world.broker.next_job(delivery.claim, wait=LONG)) as poll:
        newer = await world.submit(arrival=Arrival.INTERRUPT)
        following = await soon(poll)
        assert following is not None
        assert following.job.id == newer


async def test_an_owner_wakes_when_the_operator_stops_the_job_that_held_its_lane(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    following = await world.submit()
    async with waiting(world.broker.next_job(delivery.claim, wait=LONG)) as poll:
        await world.control.interrupt(AMELIA)
        woken = await soon(poll)
        assert woken is not None
        assert woken.job.id == following


async def test_an_owner_learns_at_once_that_it_was_evicted(world: World) -> None:
    claim = await idle_claim(world)
    async with waiting(world.broker.next_job(claim, wait=LONG)) as poll:
        await world.control.evict(AMELIA)
        with pytest.raises(ClaimLost):
            await soon(poll)


async def test_an_owner_is_not_woken_by_other_lanes(world: World) -> None:
    claim = await idle_claim(world)
    async with waiting(world.broker.next_job(claim, wait=LONG)) as poll:
        await world.submit(BRAVO)
        await asyncio.sleep(0.05)
        assert not poll.done()


async def test_waiting_for_a_job_ends_with_nothing_when_its_time_is_over(world: World) -> None:
    assert await soon(world.broker.next_job(await idle_claim(world), wait=0.02)) is None


# --- somebody waiting for a result ------------------------------------------------------------------


async def test_a_result_is_told_as_soon_as_the_job_has_ended(world: World) -> None:
    running = await world.start()
    async with waiting(world.ledger.result(running.job.id, wait=LONG)) as poll:
        await world.broker.settle(running, Done("new title"), more=False)
        view = await soon(poll)
        assert (view.state, view.note) == (JobState.DONE, "new title")


async def test_a_result_asked_for_by_the_beginning_of_an_id_is_told_as_soon(world: World) -> None:
    """People type the beginning; they must not wait longer for it."""
    running = await world.start()
    async with waiting(world.ledger.result(JobId(running.job.id[:-1]), wait=LONG)) as poll:
        await world.broker.settle(running, Done(), more=False)
        assert (await soon(poll)).state is JobState.DONE


async def test_a_result_is_told_when_the_job_is_replaced_before_it_started(world: World) -> None:
    job = await world.submit()
    async with waiting(world.ledger.result(job, wait=LONG)) as poll:
        await world.submit(arrival=Arrival.REPLACE_PENDING)
        assert (await soon(poll)).state is JobState.PREEMPTED


async def test_a_failed_attempt_is_no_result(world: World) -> None:
    running = await world.start()
    async with waiting(world.ledger.result(running.job.id, wait=LONG)) as poll:
        await world.broker.settle(running, Retry("flaky"), more=False)
        await asyncio.sleep(0.05)
        assert not poll.done()


# --- recall -----------------------------------------------------------------------------------------


async def test_a_recalled_call_for_lanes_comes_back_empty_at_once(world: World) -> None:
    """A slot became free, or the worker drains: the call under way no longer fits."""
    recall = Recall()
    async with waiting(world.broker.claim(W1, room=1, wait=LONG, recall=recall)) as poll:
        recall.call()
        assert await soon(poll) == Claimed()


async def test_a_recalled_wait_for_a_job_comes_back_empty_at_once(world: World) -> None:
    claim = await idle_claim(world)
    recall = Recall()
    async with waiting(world.broker.next_job(claim, wait=LONG, recall=recall)) as poll:
        recall.call()
        assert await soon(poll) is None


async def test_a_poll_that_was_recalled_before_it_began_still_brings_what_is_there(world: World) -> None:
    """A recall never throws away what the store has already given."""
    recall = Recall()
    recall.call()
    await world.submit()
    claimed = await soon(world.broker.claim(W1, room=1, wait=LONG, recall=recall))
    (claim,) = claimed.claims
    assert await soon(world.broker.next_job(claim, wait=LONG, recall=recall)) is not None


async def test_a_poll_that_was_recalled_before_it_began_does_not_wait(world: World) -> None:
    recall = Recall()
    recall.call()
    assert await soon(world.broker.claim(W1, room=1, wait=LONG, recall=recall)) == Claimed()


async def test_a_lane_taken_while_the_recall_came_is_not_lost(world: World) -> None:
    """The poll is called back, never cancelled: whatever it holds by then is handed over."""
    recall = Recall()
    async with waiting(world.broker.claim(W1, room=1, wait=LONG, recall=recall)) as poll:
        await world.submit()
        recall.call()
        claims = (await soon(poll)).claims
        owner = await world.backend.gatekeeper.owner(AMELIA)
        assert [claim.worker for claim in claims] == ([owner.worker] if owner else [])
