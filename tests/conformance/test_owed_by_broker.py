"""Letters that the broker owes: with a submit, a settle, a sweep, in the same transaction."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.conformance.test_outbox import SPRING, kinds_about, take, take_one
from tests.conformance.world import LIMITS, START, W2, World
from webordinary.core.facts import Accepted, Ending
from webordinary.core.failure import FailureKind
from webordinary.core.job import Arrival, Intent, JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.outcome import Done, Failed, HandedBack, Outcome, Preempted, Retry


async def test_a_job_that_wants_replies_is_owed_a_word_when_it_is_accepted(world: World) -> None:
    """The owner of the site is answered soon, though no worker is there yet."""
    first = replace(world.job(reply=True), session=SPRING)
    await world.broker.submit(first)
    world.clock.advance(world.limits.acknowledge_seconds)
    assert await take(world) == [
        Letter(first.id, LetterKind.ACCEPTED, None, Accepted(), START, attempts=1, session=SPRING)
    ]


async def test_the_word_that_a_job_is_accepted_waits_for_some_seconds(world: World) -> None:
    """Most results are there by then, and one mail is better than two."""
    delivery = await world.start(reply=True)
    assert await take(world) == []
    await world.broker.settle(delivery, Done(), more=False)
    assert [one.kind for one in await take(world)] == [LetterKind.DONE]
    world.clock.advance(world.limits.acknowledge_seconds)
    assert [one.kind for one in await take(world)] == [LetterKind.ACCEPTED]


async def test_the_word_that_a_job_is_accepted_tells_its_place_and_whom_it_interrupts(world: World) -> None:
    running = await world.start()
    await world.submit()
    newer = await world.submit(arrival=Arrival.INTERRUPT, reply=True)
    world.clock.advance(world.limits.acknowledge_seconds)
    accepted = await take_one(world)
    assert (accepted.about, accepted.session) == (newer, None)
    assert accepted.facts == Accepted(2, running.job.id)


async def test_a_duplicate_is_owed_nothing(world: World) -> None:
    job = world.job(reply=True)
    await world.broker.submit(job)
    await world.broker.submit(replace(job, id=JobId("copy")))
    world.clock.advance(world.limits.acknowledge_seconds)
    assert [one.about for one in await take(world)] == [job.id]


@pytest.mark.parametrize(
    ("outcome", "kind", "note"),
    [
        (Done("the title is new"), LetterKind.DONE, "the title is new"),
        (Failed("there is no homepage"), LetterKind.FAILED, "there is no homepage"),
        (Preempted(None, "kept as a commit"), LetterKind.PREEMPTED, "kept as a commit"),
    ],
)
async def test_the_word_about_a_jobs_end_is_stored_with_its_outcome(
    world: World, outcome: Outcome, kind: LetterKind, note: str
) -> None:
    delivery = await world.start(reply=True)
    world.clock.advance(1)
    await world.broker.settle(delivery, outcome, more=False)
    (end,) = await take(world)
    assert (end.about, end.kind, end.owed_at) == (delivery.job.id, kind, START + 1)
    assert end.facts == Ending(note, FailureKind.INTERNAL if kind is LetterKind.FAILED else None)
    assert (await world.view(delivery.job.id)).replies_owed == 1


async def test_a_repeated_settle_owes_nothing_more(world: World) -> None:
    delivery = await world.start(reply=True)
    for outcome in (Done("first"), Done("again"), Failed("otherwise")):
        await world.broker.settle(delivery, outcome, more=False)
    assert await kinds_about(world, delivery.job.id) == [LetterKind.ACCEPTED, LetterKind.DONE]


@pytest.mark.parametrize("outcome", [Retry("flaky"), HandedBack()])
async def test_a_job_that_goes_on_is_owed_no_word_about_its_end(world: World, outcome: Outcome) -> None:
    delivery = await world.start(reply=True)
    await world.broker.settle(delivery, outcome, more=False)
    assert await kinds_about(world, delivery.job.id) == [LetterKind.ACCEPTED]


async def test_a_job_that_wants_no_replies_is_owed_none(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    await world.submit()
    await world.submit(arrival=Arrival.REPLACE_PENDING)
    assert await take(world) == []


async def test_jobs_that_are_replaced_before_they_started_are_owed_a_word_each(world: World) -> None:
    """A request that is silently cancelled is the worst answer of all."""
    replaced = [await world.submit(reply=True) for _ in range(3)]
    newer = await world.submit(arrival=Arrival.REPLACE_PENDING, reply=True)
    for job in replaced:
        assert await kinds_about(world, job) == [LetterKind.ACCEPTED, LetterKind.PREEMPTED]
        ended, _ = (await world.backend.outbox.letters(limit=1, about=job))[0]
        assert isinstance(ended.facts, Ending)
        assert ended.facts.by == newer
    assert await kinds_about(world, newer) == [LetterKind.ACCEPTED]


async def test_a_job_that_ends_because_its_owners_were_lost_is_owed_a_word(
    world_with: Callable[[Limits], World],
) -> None:
    """Nobody settles it; its sender hears of it all the same."""
    world = world_with(replace(LIMITS, deliveries_max=1))
    delivery = await world.start(reply=True)
    world.outlive_the_lease()
    await world.broker.sweep()
    assert await world.next_job(await world.take(worker=W2)) is None
    assert await world.state(delivery.job.id) is JobState.DEAD
    assert await kinds_about(world, delivery.job.id) == [LetterKind.ACCEPTED, LetterKind.DEAD]


async def test_what_a_letter_tells_is_what_was_true_when_it_was_owed(
    world_with: Callable[[Limits], World],
) -> None:
    """The operator may redrive a dead job before the letter about its death has gone out."""
    world = world_with(replace(LIMITS, deliveries_max=1))
    delivery = await world.start(reply=True)
    await world.broker.settle(delivery, Retry("broken for good", FailureKind.MODEL_UNREACHABLE), more=False)
    await world.control.redrive(delivery.job.id)
    assert (await take(world))[-1].facts == Ending("broken for good", FailureKind.MODEL_UNREACHABLE)


async def test_session_and_intent_of_a_job_go_all_the_way(world: World) -> None:
    """The worker must know which branch to work on, and that an undo needs no model."""
    job = replace(world.job(), session=SPRING, intent=Intent.UNDO)
    await world.broker.submit(job)
    view = await world.view(job.id)
    assert (view.session, view.intent) == (SPRING, Intent.UNDO)
    delivery = await world.deliver(await world.take())
    assert delivery.job == job
    following = replace(world.job(), intent=Intent.PUBLISH)
    await world.broker.submit(following)
    handed_over = await world.broker.settle(delivery, Done(), more=True)
    assert handed_over is not None
    assert handed_over.job == following
