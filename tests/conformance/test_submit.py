"""Submitting: the job is durable first, and the lane then has a live owner or a claim request."""

import asyncio
from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, BRAVO, W1, W2, World
from webordinary.core.claim import Delivery
from webordinary.core.job import Arrival, Duplicate, Intent, JobId, JobState, Submitted
from webordinary.core.outcome import Done, Preempted, Retry
from webordinary.core.views import Happening


async def test_a_submitted_job_is_stored_as_it_was_given(world: World) -> None:
    """What the worker is handed must be what the mail said, to the last character."""
    text = "Ändere den Titel:\n\t'Spring' \"Sale\" 🌷 -- ; DROP TABLE jobs"
    job = replace(world.job(reply=True), instruction=text)
    assert await world.broker.submit(job) == Submitted(job.id, ahead=0)
    delivery = await world.deliver(await world.take())
    assert delivery.job == job


async def test_a_lane_without_an_owner_gets_a_claim_request_with_its_first_job(world: World) -> None:
    """Four jobs once sat in a queue because nobody was ever asked to serve them."""
    await world.submit()
    lane = await world.ledger.lane(AMELIA)
    assert lane.waiting_since == world.clock.now()
    assert (lane.worker, lane.fence, lane.depth) == (None, 0, 1)


async def test_submitting_never_makes_anybody_the_owner(world: World) -> None:
    """The first build's gatekeeper claimed the lane with an invented worker id."""
    await world.submit()
    assert await world.backend.gatekeeper.owner(AMELIA) is None
    assert await world.happenings() == []


async def test_a_lane_with_a_live_owner_gets_no_claim_request(world: World) -> None:
    """A request for an owned lane is bounced around for nothing."""
    await world.start()
    await world.submit()
    assert not await world.waits()


async def test_a_lane_whose_owner_is_dead_gets_a_claim_request_with_the_next_job(world: World) -> None:
    """The lease decides, not the row: a crashed owner once blocked its lane for two days."""
    await world.start()
    world.outlive_the_lease()
    await world.submit()
    assert await world.waits()
    assert (await world.claim(W2)).claims


async def test_a_second_job_leaves_the_claim_request_its_age(world: World) -> None:
    """Oldest first means: waiting longest, not written to last."""
    await world.submit()
    since = world.clock.now()
    world.clock.advance(5)
    await world.submit()
    assert (await world.ledger.lane(AMELIA)).waiting_since == since


async def test_jobs_count_what_is_ahead_of_them(world: World) -> None:
    answers = [await world.broker.submit(world.job()) for _ in range(3)]
    assert [answer.ahead for answer in answers if isinstance(answer, Submitted)] == [0, 1, 2]
    other_lane = await world.broker.submit(world.job(BRAVO))
    assert isinstance(other_lane, Submitted)
    assert other_lane.ahead == 0


async def test_the_same_message_id_twice_is_one_job(world: World) -> None:
    """Mail is delivered at least once; the site must change once."""
    first = world.job()
    again = replace(first, id=JobId("another"), instruction="something else")
    await world.broker.submit(first)
    assert await world.broker.submit(again) == Duplicate(first.id)
    assert [view.id for view in await world.ledger.jobs(limit=10)] == [first.id]


async def test_a_repeated_submit_is_a_duplicate_of_itself(world: World) -> None:
    """A submit whose answer was lost is repeated, with the same id."""
    job = world.job()
    await world.broker.submit(job)
    assert await world.broker.submit(job) == Duplicate(job.id)


async def test_a_message_stays_known_after_its_job_ended(world: World) -> None:
    """The second copy of a mail may come an hour after the first was carried out."""
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    assert await world.broker.submit(delivery.job) == Duplicate(delivery.job.id)


async def test_a_duplicate_changes_nothing(world: World) -> None:
    """Above all it interrupts nobody: the job it would interrupt is its own."""
    delivery = await world.start(arrival=Arrival.INTERRUPT)
    before = await world.everything()
    world.clock.advance(1)
    await world.broker.submit(delivery.job)
    assert await world.everything() == before


async def test_the_same_message_id_in_two_lanes_is_two_jobs(world: World) -> None:
    """One mail may go to two sites."""
    first = world.job(AMELIA)
    second = replace(world.job(BRAVO), message_id=first.message_id)
    await world.broker.submit(first)
    assert await world.broker.submit(second) == Submitted(second.id, ahead=0)


async def test_of_many_copies_at_once_exactly_one_becomes_a_job(world: World) -> None:
    """Two gateways may take in the same mail at the same moment."""
    job = world.job()
    copies = [replace(job, id=JobId(f"copy-{number}")) for number in range(8)]
    answers = await asyncio.gather(*(world.broker.submit(copy) for copy in copies))
    (stored,) = [answer for answer in answers if isinstance(answer, Submitted)]
    assert {answer.job for answer in answers} == {stored.job}
    assert len(await world.ledger.jobs(limit=10)) == 1


# --- what a newer job does to those before it -------------------------------------------------------


async def test_an_interrupting_job_flags_the_one_that_runs(world: World) -> None:
    """The owner must hear of it with its next beat; the running job keeps its place until it is settled."""
    running = await world.start()
    newer = world.job(arrival=Arrival.INTERRUPT)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=1, interrupts=running.job.id)
    view = await world.view(running.job.id)
    assert (view.state, view.interrupted, view.interrupted_by) == (JobState.RUNNING, True, newer.id)
    assert await world.happenings(job=running.job.id) == [Happening.INTERRUPTED]


async def test_a_newer_job_of_the_conversation_interrupts_and_one_of_another_waits(world: World) -> None:
    """Three mails on three subjects are three wishes: only a word in the same thread is about what runs."""
    running = replace(world.job(), session="spring")
    await world.broker.submit(running)
    delivery = await world.deliver(await world.take())
    other = replace(world.job(arrival=Arrival.INTERRUPT), session="opening hours")
    assert await world.broker.submit(other) == Submitted(other.id, ahead=1)
    unnamed = world.job(arrival=Arrival.INTERRUPT)
    assert await world.broker.submit(unnamed) == Submitted(unnamed.id, ahead=2)
    assert not (await world.view(running.id)).interrupted
    own = replace(world.job(arrival=Arrival.INTERRUPT), session="spring")
    assert await world.broker.submit(own) == Submitted(own.id, ahead=3, interrupts=running.id)
    assert (await world.view(running.id)).interrupted_by == own.id
    following: Delivery | None = delivery
    for job in (other, unnamed, own):  # stopping it let nobody overtake
        assert following is not None
        following = await world.broker.settle(following, Done(), more=True)
        assert following is not None
        assert following.job == job


async def test_an_always_interrupting_job_stops_the_edit_of_another_conversation(world: World) -> None:
    """The policy for who thinks of the lane as one conversation."""
    running = replace(world.job(), session="spring")
    await world.broker.submit(running)
    await world.deliver(await world.take())
    newer = replace(world.job(arrival=Arrival.INTERRUPT_ALWAYS), session="opening hours")
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=1, interrupts=running.id)
    assert (await world.view(running.id)).interrupted_by == newer.id


@pytest.mark.parametrize("arrival", [Arrival.INTERRUPT, Arrival.INTERRUPT_ALWAYS])
@pytest.mark.parametrize("intent", [intent for intent in Intent if intent is not Intent.EDIT])
async def test_one_word_that_is_being_carried_out_is_not_interrupted(
    world: World, arrival: Arrival, intent: Intent
) -> None:
    """ "Publish", then "and change the hours": the publish would be lost, for no edit can take it over."""
    running = replace(world.job(), intent=intent)
    await world.broker.submit(running)
    await world.deliver(await world.take())
    newer = world.job(arrival=arrival)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=1)


async def test_another_conversation_waits_behind_a_job_in_back_off(world: World) -> None:
    """The twin of the one below: what is tried again is not another conversation's to end."""
    running = replace(world.job(), session="spring")
    await world.broker.submit(running)
    delivery = await world.deliver(await world.take())
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    other = replace(world.job(arrival=Arrival.INTERRUPT), session="opening hours")
    assert await world.broker.submit(other) == Submitted(other.id, ahead=1)
    assert await world.state(running.id) is JobState.RETRYING


async def test_the_first_of_two_interrupting_jobs_is_the_reason(world: World) -> None:
    """The interrupted reply names one cause, and the history does not fill with repetitions."""
    running = await world.start()
    first = await world.submit(arrival=Arrival.INTERRUPT)
    second = world.job(arrival=Arrival.INTERRUPT)
    assert await world.broker.submit(second) == Submitted(second.id, ahead=2, interrupts=running.job.id)
    assert (await world.view(running.job.id)).interrupted_by == first
    assert await world.happenings(job=running.job.id) == [Happening.INTERRUPTED]


async def test_an_interrupting_job_ends_one_that_waits_for_its_next_attempt_at_once(world: World) -> None:
    """A superseded run in back-off must not finish after its replacement, nor make it wait."""
    delivery = await world.start(reply=True)
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    newer = world.job(arrival=Arrival.INTERRUPT)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=0, interrupts=delivery.job.id)
    view = await world.view(delivery.job.id)
    assert (view.state, view.replies_owed, view.finished_at) == (JobState.PREEMPTED, 1, world.clock.now())
    assert view.due_at is None
    assert newer.id in view.note
    assert view.interrupted_by == newer.id
    assert (await world.deliver(delivery.claim)).job == newer


async def test_a_back_off_that_was_preempted_no_longer_holds_an_unowned_lane(world: World) -> None:
    """The claim request must be good now, not when the preempted job would have been due."""
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    await world.broker.release(delivery.claim)
    assert not (await world.claim()).claims
    await world.submit(arrival=Arrival.INTERRUPT)
    assert (await world.claim()).claims


async def test_an_interrupting_job_leaves_those_that_have_not_started(world: World) -> None:
    """Every mail gets carried out or answered: only what runs is in the way of the newest."""
    first = await world.submit()
    newer = world.job(arrival=Arrival.INTERRUPT)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=1)
    assert await world.state(first) is JobState.QUEUED


async def test_a_queueing_job_disturbs_nobody(world: World) -> None:
    running = await world.start()
    newer = world.job(arrival=Arrival.QUEUE)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=1)
    assert not (await world.view(running.job.id)).interrupted


async def test_a_replacing_job_ends_all_that_have_not_started_and_lets_the_running_one_finish(
    world: World,
) -> None:
    """`replace-pending` is for owners who correct themselves: the last word counts."""
    running = await world.start()
    pending = [await world.submit(reply=True), await world.submit()]
    newer = world.job(arrival=Arrival.REPLACE_PENDING)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=1)
    views = [await world.view(job) for job in pending]
    assert [view.state for view in views] == [JobState.PREEMPTED] * 2
    assert [view.replies_owed for view in views] == [1, 0]
    assert all(newer.id in view.note for view in views)
    view = await world.view(running.job.id)
    assert (view.state, view.interrupted) == (JobState.RUNNING, False)
    following = await world.broker.settle(running, Done(), more=True)
    assert following is not None
    assert following.job == newer


async def test_a_replacing_job_ends_one_that_waits_for_its_next_attempt(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Retry("flaky"), more=False)
    newer = await world.submit(arrival=Arrival.REPLACE_PENDING)
    assert await world.state(delivery.job.id) is JobState.PREEMPTED
    assert (await world.deliver(delivery.claim)).job.id == newer


async def test_an_interrupted_lane_goes_on_with_the_newer_job(world: World) -> None:
    """Scenario three of the mission: interrupt, then the new instruction is carried out."""
    running = await world.start(arrival=Arrival.INTERRUPT)
    newer = await world.submit(arrival=Arrival.INTERRUPT)
    (interrupt,) = (await world.beat(W1, [running.claim])).interrupts
    assert (interrupt.job, interrupt.by) == (running.job.id, newer)
    following = await world.broker.settle(running, Preempted(newer, "kept on a side ref"), more=True)
    assert following is not None
    assert following.job.id == newer
    view = await world.view(running.job.id)
    assert (view.state, view.note) == (JobState.PREEMPTED, "kept on a side ref")
