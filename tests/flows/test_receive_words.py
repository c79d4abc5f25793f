"""One word by mail: what it is taken for, what it stops, and what a second copy of it does."""

from dataclasses import replace

import pytest

from tests.flows.door import SCOTT, Door, OutOfReach, door
from webordinary.core.claim import WorkerId
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Arrival, Intent, JobState
from webordinary.core.mail import LetterKind
from webordinary.core.outcome import Preempted

__all__ = ["door"]


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Undo", "undo"),
        ("please publish it!", "publish"),
        ("redo", "redo"),
        ("Undo the last change", "undo"),
        ("Hi, could you please undo that? Thanks", "undo"),
        ("Take my last edit back.", "undo"),
        ("undo the bold in the heading", "edit"),
        ("Undo the last change in the heading", "edit"),
        ("undo the last two changes", "edit"),
        ("undo change 3", "edit"),
        ("Sieht toll aus, bitte veröffentlichen!", "publish"),
        ("undo große Überschrift", "edit"),
        ("undo 👍", "undo"),
        ("Bring it back, please", "redo"),
        ("bring the photo back", "edit"),
        ("publish all my changes", "publish"),
        ("publish the new prices on the shop page", "edit"),
    ],
)
async def test_a_few_words_are_commands_that_need_no_model(door: Door, text: str, intent: str) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.mail(text)
    claimed = await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)
    delivery = await door.backend.broker.next_job(claimed.claims[0], wait=0)
    assert delivery is not None
    assert delivery.job.intent is Intent(intent)


async def test_stop_stops_the_running_job_at_once_and_says_so(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Rebuild everything")
    claimed = await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)
    await door.backend.broker.next_job(claimed.claims[0], wait=0)
    record = await door.mail("Stop!", number="2", answers="<1@example.com>")
    assert record.job is None
    assert first.job is not None
    assert (await door.backend.ledger.job(first.job)).interrupted
    assert (record.id, LetterKind.STOPPED) in await door.letters()


async def test_a_stop_that_comes_again_does_not_stop_a_later_job(door: Door) -> None:
    """Whoever brings mail may bring it twice, and minutes later."""
    await door.onboard("amelia/scott", SCOTT, Arrival.QUEUE)
    await door.mail("Rebuild everything")
    second = await door.mail("Paint it blue", number="2")
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    delivery = await door.backend.broker.next_job(claim, wait=0)
    await door.mail("Stop!", number="3")
    assert delivery is not None
    following = await door.backend.broker.settle(delivery, Preempted(), more=True)
    assert following is not None
    assert following.job.id == second.job
    await door.mail("Stop!", number="3")
    assert not (await door.backend.ledger.job(following.job.id)).interrupted


async def test_a_stop_that_was_cut_short_still_stops_when_it_comes_again(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Rebuild everything")
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    await door.backend.broker.next_job(claim, wait=0)
    whole = door.reception
    door.reception = replace(whole, backend=replace(door.backend, control=OutOfReach(door.backend.control)))
    with pytest.raises(BackendUnavailable):
        await door.mail("Stop!", number="2")
    door.reception = whole
    await door.mail("Stop!", number="2")
    assert first.job is not None
    assert (await door.backend.ledger.job(first.job)).interrupted


async def test_stop_of_somebody_who_never_asked_for_anything_is_answered(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("stop")
    assert await door.letters() == [(record.id, LetterKind.STOPPED)]


@pytest.mark.parametrize(
    ("policy", "word", "stops"),
    [
        (Arrival.INTERRUPT, "publish", False),
        (Arrival.INTERRUPT, "redo", False),
        (Arrival.INTERRUPT, "undo", True),
        (Arrival.INTERRUPT_ALWAYS, "undo", True),
        (Arrival.INTERRUPT_ALWAYS, "publish", False),
        (Arrival.QUEUE, "undo", False),
        (Arrival.REPLACE_PENDING, "publish", False),
    ],
)
async def test_one_word_stops_a_running_edit_only_if_it_takes_that_back(
    door: Door, policy: Arrival, word: str, stops: bool
) -> None:
    """Who writes publish wants what is being made, not the preview as it was before."""
    await door.onboard("amelia/scott", SCOTT, policy)
    first = await door.mail("Rebuild everything")
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    await door.backend.broker.next_job(claim, wait=0)
    record = await door.mail(word, number="2", answers="<1@example.com>")
    assert first.job is not None
    assert (await door.backend.ledger.job(first.job)).interrupted is stops
    assert record.job is not None
    assert (await door.backend.ledger.job(record.job)).arrival == ("interrupt" if stops else "queue")


@pytest.mark.parametrize("word", ["help", "status"])
async def test_help_and_status_are_answered_without_a_worker(door: Door, word: str) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail(word)
    assert await door.letters() == [(record.id, LetterKind(word))]
    assert await door.jobs() == []


async def test_stop_calls_off_the_request_of_its_own_conversation(door: Door) -> None:
    """It waits behind another one: stopping that would be wrong twice."""
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Rebuild everything")
    second = await door.mail("New opening hours", number="2")
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    await door.backend.broker.next_job(claim, wait=0)
    await door.mail("Stop!", number="3", answers="<2@example.com>")
    assert first.job is not None
    assert second.job is not None
    assert not (await door.backend.ledger.job(first.job)).interrupted
    assert (await door.backend.ledger.job(second.job)).state is JobState.PREEMPTED


async def test_stop_in_a_new_mail_stops_what_runs_and_leaves_what_waits(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Rebuild everything")
    second = await door.mail("New opening hours", number="2")
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    await door.backend.broker.next_job(claim, wait=0)
    await door.mail("Stop!", number="3")
    assert first.job is not None
    assert second.job is not None
    assert (await door.backend.ledger.job(first.job)).interrupted
    assert (await door.backend.ledger.job(second.job)).state is JobState.QUEUED
