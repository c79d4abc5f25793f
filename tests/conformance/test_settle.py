"""Settling: fenced, safe to repeat, and the owed reply is stored with the outcome."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, LIMITS, W1, W2, World
from webordinary.core.claim import Delivery
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, JobState
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Failed, HandedBack, Outcome, Preempted, Retry
from webordinary.core.views import Happening

EVERY_OUTCOME: tuple[Outcome, ...] = (Done(), Failed("no"), Preempted(), Retry("flaky"), HandedBack())


# --- what an outcome makes of a job -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Done("the title is new"), JobState.DONE),
        (Failed("there is no homepage"), JobState.FAILED),
        (Preempted(None, "kept as a commit"), JobState.PREEMPTED),
    ],
)
async def test_a_settled_job_has_ended_with_its_words(
    world: World, outcome: Outcome, state: JobState
) -> None:
    delivery = await world.start(reply=True)
    world.clock.advance(3)
    await world.broker.settle(delivery, outcome, more=False)
    view = await world.view(delivery.job.id)
    assert (view.state, view.finished_at, view.replies_owed) == (state, world.clock.now(), 1)
    assert view.note in str(outcome)
    owner = await world.backend.gatekeeper.owner(AMELIA)
    assert owner is not None
    assert owner.last_activity == world.clock.now()


async def test_a_failed_attempt_is_tried_again_later_and_later(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    view = await world.view(delivery.job.id)
    assert (view.state, view.note, view.due_at) == (JobState.RETRYING, "flaky", world.clock.now() + 2)
    world.clock.advance(2)
    again = await world.deliver(delivery.claim)
    await world.broker.settle(again, Retry("still flaky"), more=False)
    assert (await world.view(delivery.job.id)).due_at == world.clock.now() + 4
    assert await world.happenings(job=view.id) == [Happening.RETRY, Happening.RETRY]


async def test_a_job_whose_attempts_ran_out_is_dead_and_the_lane_goes_on(world: World) -> None:
    """One bad mail must not block its lane for ever; its sender is owed an answer."""
    delivery = await world.start(reply=True)
    following = await world.submit()
    for _ in range(LIMITS.deliveries_max - 1):
        await world.broker.settle(delivery, Retry("broken"), more=False)
        world.clock.advance(LIMITS.retry_most_seconds)
        delivery = await world.deliver(delivery.claim)
    after = await world.broker.settle(delivery, Retry("broken for good"), more=True)
    assert after is not None
    assert after.job.id == following
    view = await world.view(delivery.job.id)
    assert (view.state, view.note, view.replies_owed) == (JobState.DEAD, "broken for good", 1)
    assert (await world.happenings(job=view.id))[-1] is Happening.DEAD
    assert (await world.ledger.lane(AMELIA)).dead == 1


async def test_a_handed_back_job_waits_at_the_head_for_the_next_owner(world: World) -> None:
    """A worker that shuts down costs the job its place neither in the lane nor in its attempts."""
    delivery = await world.start(reply=True)
    await world.submit()
    await world.broker.settle(delivery, HandedBack(), more=False)
    view = await world.view(delivery.job.id)
    assert (view.state, view.attempt, view.started_at, view.replies_owed) == (JobState.QUEUED, 0, None, 0)
    await world.broker.release(delivery.claim)
    again = await world.deliver(await world.take(worker=W2))
    assert (again.job, again.attempt) == (delivery.job, 1)
    assert await world.happenings(job=view.id) == [Happening.HANDED_BACK]


@pytest.mark.parametrize("outcome", [Retry("flaky"), HandedBack()])
async def test_an_interrupted_job_never_comes_back(world: World, outcome: Outcome) -> None:
    """A superseded run must not happen after its replacement: preempted is terminal."""
    running = await world.start(reply=True)
    newer = await world.submit(arrival=Arrival.INTERRUPT)
    following = await world.broker.settle(running, outcome, more=True)
    assert following is not None
    assert following.job.id == newer
    view = await world.view(running.job.id)
    assert (view.state, view.replies_owed) == (JobState.PREEMPTED, 1)
    assert newer in view.note
    assert (await world.ledger.lane(AMELIA)).failures == 0


async def test_an_interrupted_job_that_was_quicker_is_done(world: World) -> None:
    """What has been carried out has been carried out; saying otherwise would be a lie."""
    running = await world.start()
    await world.submit(arrival=Arrival.INTERRUPT)
    await world.broker.settle(running, Done(), more=False)
    assert await world.state(running.job.id) is JobState.DONE


@pytest.mark.parametrize("outcome", [Done("a\x00b\ud800c"), Failed("a\x00b\ud800c"), Retry("a\x00b\ud800c")])
async def test_words_that_no_store_could_keep_do_not_keep_a_job_from_being_settled(
    world: World, outcome: Outcome
) -> None:
    """A program's output may be any bytes. A job that can't be settled would run again and again."""
    delivery = await world.start()
    await world.broker.settle(delivery, outcome, more=False)
    view = await world.view(delivery.job.id)
    assert view.state is not JobState.RUNNING
    assert view.note == "a?b?c"


# --- the next job in the same breath ----------------------------------------------------------------


async def test_settling_hands_over_the_next_job(world: World) -> None:
    """One durable commit a job, not two."""
    first = await world.start()
    second = await world.submit()
    world.clock.advance(1)
    following = await world.broker.settle(first, Done(), more=True)
    assert following is not None
    assert (following.claim, following.job.id, following.attempt) == (first.claim, second, 1)
    assert (await world.view(second)).started_at == world.clock.now()
    assert await world.broker.settle(following, Done(), more=True) is None


async def test_settling_without_more_hands_over_nothing(world: World) -> None:
    first = await world.start()
    second = await world.submit()
    assert await world.broker.settle(first, Done(), more=False) is None
    assert await world.state(second) is JobState.QUEUED


async def test_a_job_that_is_to_be_tried_again_is_not_handed_over_before_its_time(world: World) -> None:
    first = await world.start()
    await world.submit()
    assert await world.broker.settle(first, Retry("flaky"), more=True) is None


async def test_a_settle_that_parks_the_lane_hands_over_nothing(world_with: Callable[[Limits], World]) -> None:
    world = world_with(replace(LIMITS, breaker_failures=1, deliveries_max=1))
    first = await world.start()
    await world.submit()
    assert await world.broker.settle(first, Retry("broken"), more=True) is None
    assert await world.state(first.job.id) is JobState.DEAD


# --- repeated ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", EVERY_OUTCOME)
async def test_a_settle_may_be_repeated(world: World, outcome: Outcome) -> None:
    """Its answer may be lost on the way; the second one must neither hurt nor count twice."""
    delivery = await world.start(reply=True)
    await world.broker.settle(delivery, outcome, more=False)
    before = await world.everything()
    world.clock.advance(1)
    await world.broker.settle(delivery, outcome, more=False)
    assert await world.everything() == before


async def test_a_repeated_settle_hands_over_the_same_next_job(world: World) -> None:
    """Otherwise a lost answer would skip a job."""
    first = await world.start()
    await world.submit()
    await world.submit()
    following = await world.broker.settle(first, Done(), more=True)
    world.clock.advance(1)
    assert following is not None
    assert await world.broker.settle(first, Done(), more=True) == following
    assert await world.next_job(first.claim) == following


async def test_the_first_word_about_a_job_stands(world: World) -> None:
    delivery = await world.start(reply=True)
    await world.broker.settle(delivery, Done("first"), more=False)
    await world.broker.settle(delivery, Failed("second"), more=False)
    view = await world.view(delivery.job.id)
    assert (view.state, view.note, view.replies_owed) == (JobState.DONE, "first", 1)


async def test_a_reply_is_owed_once_for_each_kind_of_ending(world_with: Callable[[Limits], World]) -> None:
    """A dead job that is redriven and carried out has two things to say, each of them once."""
    world = world_with(replace(LIMITS, deliveries_max=1, breaker_failures=100))
    delivery = await world.start(reply=True)
    for _ in range(2):
        await world.broker.settle(delivery, Retry("broken"), more=False)
        assert (await world.view(delivery.job.id)).replies_owed == 1
        await world.control.redrive(delivery.job.id)
        delivery = await world.deliver(delivery.claim)
    await world.broker.settle(delivery, Done(), more=False)
    assert (await world.view(delivery.job.id)).replies_owed == 2


async def test_nobody_is_owed_a_reply_who_wants_none(world: World) -> None:
    delivery = await world.start(reply=False)
    await world.broker.settle(delivery, Done(), more=False)
    assert (await world.view(delivery.job.id)).replies_owed == 0


# --- fenced -----------------------------------------------------------------------------------------


async def refused(world: World, delivery: Delivery) -> None:
    """No outcome of this delivery is accepted, and none leaves a trace."""
    before = await world.everything()
    for outcome in EVERY_OUTCOME:
        for more in (False, True):
            with pytest.raises(ClaimLost):
                await world.broker.settle(delivery, outcome, more=more)
    assert await world.everything() == before


async def test_a_former_owner_is_refused_whoever_has_the_lane_now(world: World) -> None:
    """A worker paused beyond its lease could once push and publish: nothing fenced it."""
    old = await world.start(worker=W1)
    world.outlive_the_lease()
    await world.broker.sweep()
    claim = await world.take(worker=W2)
    await refused(world, old)
    new = await world.deliver(claim)
    await refused(world, old)
    await world.broker.settle(new, Done(), more=False)
    await refused(world, old)
    await world.broker.release(claim)
    await refused(world, old)


async def test_a_former_owner_is_refused_even_if_it_is_the_owner_again(world: World) -> None:
    """The fence is what counts, not the worker's name."""
    old = await world.start(worker=W1)
    await world.control.evict(AMELIA)
    await world.deliver(await world.take(worker=W1))
    await refused(world, old)


async def test_an_evicted_owner_is_refused_though_nobody_has_the_lane(world: World) -> None:
    old = await world.start()
    await world.control.evict(AMELIA)
    await refused(world, old)


async def test_an_earlier_attempt_under_the_same_claim_is_refused(world: World) -> None:
    """The word of the first attempt must not be taken for the second one's."""
    first = await world.start()
    await world.broker.settle(first, Retry("flaky"), more=False)
    world.clock.advance(2)
    second = await world.deliver(first.claim)
    await refused(world, first)
    await world.broker.settle(second, Done(), more=False)
    assert await world.state(first.job.id) is JobState.DONE


async def test_a_job_that_was_not_delivered_under_a_claim_cannot_be_settled_under_it(world: World) -> None:
    running = await world.start()
    other = world.job()
    await world.broker.submit(other)
    await refused(world, Delivery(running.claim, other, 1))
    await refused(world, Delivery(running.claim, world.job(), 1))


async def test_an_owner_whose_lease_ran_out_may_settle_while_nobody_took_the_lane(world: World) -> None:
    """The fence decides: what was done is done, and throwing it away would only do it twice."""
    running = await world.start()
    world.outlive_the_lease()
    await world.submit()
    await world.broker.settle(running, Done(), more=False)
    assert await world.state(running.job.id) is JobState.DONE
