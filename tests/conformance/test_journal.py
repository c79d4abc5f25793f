"""What jobs say while they run, and what they leave when they end."""

import asyncio

import pytest

from tests.conformance.world import AMELIA, BRAVO, LIMITS, LONG, W2, World
from tests.waiting import HANG_SECONDS
from webordinary.core.errors import ClaimLost
from webordinary.core.facts import (
    NO_FACTS,
    Ending,
    Facts,
    FailureDetails,
    LiveFacts,
    PagePictures,
    PreviewFacts,
    RequestedChange,
    SessionMemory,
    UndoFacts,
    UnfinishedWork,
)
from webordinary.core.failure import DemoObstacle, FailureKind
from webordinary.core.job import JobId, JobState
from webordinary.core.mail import LetterKind
from webordinary.core.outcome import Done, Failed, Preempted
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.core.release import BrokenLink
from webordinary.core.work import EVENT_CHARACTERS, EVENTS_MAX, AgentEvent, EventKind

LEFT = Facts(
    preview=PreviewFacts(
        "c1",
        "r2",
        "r1",
        "https://p.example/",
        (
            PageChange(PageChangeKind.TEXT, old="a \U0001f337", new="b", pages=2),
            PageChange(PageChangeKind.LOOK),
        ),
        (BrokenLink("a.html", "b.html", "A"),),
        3,
        "patch",
        (PagePictures("index.html", "", "p1"),),
    ),
    live=LiveFacts("https://l.example/", later=(RequestedChange("tara", "x", taken_back=True),)),
    undo=UndoFacts("x", elsewhere=True),
    failure=FailureDetails("tara", "x", DemoObstacle.NO_PAGE),
    unchanged=True,
    also=("x", "y"),
    used_files=("a.jpg",),
    read_quote=True,
    unfinished=UnfinishedWork("x", "c2", "why", "refs/x", ("a", "b")),
    unfinished_before=(UnfinishedWork("y"),),
    memory=SessionMemory("claude", "blob", ("one", "two"), ("three",), "c0"),
)


def said(*texts: str) -> list[AgentEvent]:
    return [AgentEvent(EventKind.SAID, text) for text in texts]


async def test_events_are_kept_in_order_and_followed_live(world: World) -> None:
    delivery = await world.start()
    journal = world.backend.journal
    await journal.tell(delivery, said("one", "two"))
    seen = await journal.events(delivery.job.id, limit=10)
    assert [(event.number, event.attempt, event.kind, event.text) for event in seen] == [
        (1, 1, EventKind.SAID, "one"),
        (2, 1, EventKind.SAID, "two"),
    ]
    async with asyncio.timeout(HANG_SECONDS):
        following = asyncio.create_task(journal.events(delivery.job.id, after=2, limit=10, wait=LONG))
        await asyncio.sleep(0)
        await journal.tell(delivery, said("three"))
        assert [event.text for event in await following] == ["three"]


async def test_events_come_in_pages(world: World) -> None:
    delivery = await world.start()
    await world.backend.journal.tell(delivery, said(*"abcde"))
    page = await world.backend.journal.events(delivery.job.id, after=1, limit=2)
    assert [event.text for event in page] == ["b", "c"]
    assert await world.backend.journal.events(delivery.job.id, after=5, limit=2) == []


async def test_events_are_bounded_in_number_and_length(world: World) -> None:
    """An agent that talks without end must not fill the store."""
    delivery = await world.start()
    journal = world.backend.journal
    await journal.tell(delivery, said("x" * (EVENT_CHARACTERS + 1)))
    await journal.tell(delivery, said(*["y\x00\ud800"] * (EVENTS_MAX + 5)))
    kept = await journal.events(delivery.job.id, limit=2 * EVENTS_MAX)
    assert len(kept) == EVENTS_MAX
    assert len(kept[0].text) == EVENT_CHARACTERS


async def test_a_former_owner_tells_nothing(world: World) -> None:
    stale = await world.start()
    world.clock.advance(LIMITS.lease_seconds + 1)
    await world.broker.sweep()
    current = await world.deliver(await world.take(worker=W2))
    with pytest.raises(ClaimLost):
        await world.backend.journal.tell(stale, said("late"))
    await world.backend.journal.tell(current, said("mine"))
    (kept,) = await world.backend.journal.events(current.job.id, limit=10)
    assert (kept.attempt, kept.text) == (2, "mine")


async def test_nothing_is_told_about_a_job_that_ended(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Done(), more=False)
    with pytest.raises(ClaimLost):
        await world.backend.journal.tell(delivery, said("late"))


@pytest.mark.parametrize(
    "outcome", [Done("new", LEFT), Failed("why", LEFT), Preempted(JobId("newer"), "k", LEFT)]
)
async def test_what_an_outcome_leaves_is_kept_with_its_job_and_told_in_the_letter(
    world: World, outcome: Done | Failed | Preempted
) -> None:
    delivery = await world.start(reply=True)
    await world.broker.settle(delivery, outcome, more=False)
    view = await world.ledger.job(delivery.job.id)
    assert view.facts == LEFT
    letters = [letter for letter, _ in await world.backend.outbox.letters(limit=9, about=view.id)]
    (final,) = [letter for letter in letters if letter.kind is LetterKind(view.state.value)]
    failure = FailureKind.INTERNAL if isinstance(outcome, Failed) else None
    by = outcome.by if isinstance(outcome, Preempted) else None
    assert final.facts == Ending(view.note, failure, by, LEFT)


async def test_the_next_job_finds_what_the_last_one_left(world: World) -> None:
    journal = world.backend.journal
    assert await journal.left(AMELIA) == NO_FACTS
    for words in ("first", "second"):
        delivery = await world.start()
        await world.broker.settle(delivery, Done("", Facts(memory=SessionMemory(recap=(words,)))), more=False)
        await world.broker.release(delivery.claim)
    second = Facts(memory=SessionMemory(recap=("second",)))
    plain = await world.start()
    await world.broker.settle(plain, Done(), more=False)
    assert await journal.left(AMELIA) == second
    assert await journal.left(AMELIA, "") == second
    assert await journal.left(AMELIA, "another conversation") == NO_FACTS
    assert await journal.left(BRAVO) == NO_FACTS
    assert (await world.ledger.job(plain.job.id)).state is JobState.DONE
