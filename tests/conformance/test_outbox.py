"""The outbox: letters are owed with what they tell, given to one sender at a time, and sent once."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.conformance.world import BRAVO, LIMITS, LONG, START, World
from tests.waiting import soon, waiting
from webordinary.core.errors import NotFound
from webordinary.core.facts import (
    Accepted,
    LetterFacts,
    MailFault,
    NotAMember,
    ProjectChoice,
    Question,
    RequestedChange,
    StatusReport,
    StopRequest,
    UnclearWords,
)
from webordinary.core.failure import MailProblem
from webordinary.core.job import JobId
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind, MailId, SessionId
from webordinary.core.outcome import Done
from webordinary.ports.outbox import LetterState, LetterStatus

DAY = 24 * 3600.0
HOLD = 60.0
SPRING, AUTUMN = SessionId("spring"), SessionId("autumn")


def letter(about: str = "m1", kind: LetterKind = LetterKind.HELP, **others: object) -> Letter:
    return replace(Letter(about, kind, MailId("m1")), **others)  # type: ignore[arg-type] # fields of a letter


async def take(world: World, sender: str = "s1", *, limit: int = 100, wait: float = 0) -> list[Letter]:
    return await world.backend.outbox.take(sender, limit=limit, hold=HOLD, wait=wait)


async def take_one(world: World, sender: str = "s1") -> Letter:
    (taken,) = await take(world, sender)
    return taken


async def standings(world: World) -> list[str]:
    return [str(status) for _, status in await world.backend.outbox.letters(limit=100)]


async def kinds_about(world: World, about: str) -> list[LetterKind]:
    """The letters about something, oldest first."""
    return [one.kind for one, _ in await world.backend.outbox.letters(limit=100, about=about)][::-1]


# --- owing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        (LetterKind.HELP, None),
        (LetterKind.ACCEPTED, Accepted()),
        (LetterKind.ASKED, ProjectChoice(("amelia", "bravo 🌷\n", "\x00\ud800"))),
        (LetterKind.CONFIRM, Question("token", "excerpt")),
        (LetterKind.REFUSED, NotAMember("amelia")),
        (LetterKind.STATUS, StatusReport("amelia", "x", 2, (RequestedChange("tara", "y"),))),
        (LetterKind.STOPPED, StopRequest((JobId("j1"), JobId("j2")))),
        (LetterKind.UNCLEAR, UnclearWords("publish?")),
        (LetterKind.UNREADABLE, MailFault(MailProblem.ENCRYPTED)),
    ],
)
async def test_a_letter_is_given_to_a_sender_as_it_was_owed(
    world: World, kind: LetterKind, facts: LetterFacts | None
) -> None:
    given = letter(kind=kind, facts=facts, owed_at=1.0, session=SPRING)
    assert await world.backend.outbox.owe(given)
    assert await take(world) == [replace(given, owed_at=START, attempts=1)]


async def test_a_letter_is_owed_once(world: World) -> None:
    """A mail that is delivered again after a crash is not answered again, even long after its answer."""
    outbox = world.backend.outbox
    assert await outbox.owe(letter())
    assert not await outbox.owe(letter(mail=MailId("m2")))
    await outbox.sent(await take_one(world), "<out@us>")
    assert not await outbox.owe(letter())
    assert await take(world) == []


async def test_letters_of_another_kind_or_about_something_else_are_others(world: World) -> None:
    outbox = world.backend.outbox
    assert await outbox.owe(letter("m1", LetterKind.HELP))
    assert await outbox.owe(letter("m1", LetterKind.STATUS))
    assert await outbox.owe(letter("m2", LetterKind.HELP))
    assert len(await take(world)) == 3


async def test_of_many_who_owe_the_same_letter_at_once_one_does(world: World) -> None:
    owed = await asyncio.gather(*(world.backend.outbox.owe(letter()) for _ in range(8)))
    assert owed.count(True) == 1


# --- taking -----------------------------------------------------------------------------------------


async def test_letters_are_given_longest_due_first(world: World) -> None:
    for name in ("m2", "m3", "m1"):
        await world.backend.outbox.owe(letter(name))
        world.clock.advance(1)
    assert [one.about for one in await take(world, limit=2)] == ["m2", "m3"]
    assert [one.about for one in await take(world, limit=2)] == ["m1"]


async def test_a_letter_is_given_to_nobody_else_while_it_is_held(world: World) -> None:
    """Two senders with one letter are two mails."""
    await world.backend.outbox.owe(letter())
    await take_one(world, "s1")
    world.clock.advance(HOLD - 0.25)
    assert await take(world, "s2") == []
    assert await take(world, "s1") == []
    assert await standings(world) == ["with s1"]


async def test_a_sender_that_died_gives_its_letters_back(world: World) -> None:
    await world.backend.outbox.owe(letter())
    first = await take_one(world, "s1")
    world.clock.advance(HOLD)
    second = await take_one(world, "s2")
    assert (first.attempts, second.attempts) == (1, 2)


async def test_a_letter_does_not_wait_for_a_clock_that_was_set_back(world: World) -> None:
    """It was put off or held until a moment that is now a day away."""
    outbox = world.backend.outbox
    await outbox.owe(letter())
    await outbox.postpone(await take_one(world, "s1"), 60.0, "the line is busy")
    world.clock.advance(-DAY)
    await take_one(world, "s2")
    world.clock.advance(-DAY)
    again = await take_one(world, "s3")
    assert again.attempts == 3
    assert await take(world, "s4") == []  # the hold of today counts
    await outbox.sent(again, "<1@example.org>")
    world.clock.advance(-DAY)
    assert await take(world, "s5") == []


async def test_a_letter_that_waits_by_todays_clock_waits(world: World) -> None:
    await world.backend.outbox.owe(letter())
    await world.backend.outbox.postpone(await take_one(world, "s1"), 3600.0, "the line is busy")
    world.clock.advance(-1800.0)
    assert await take(world, "s2") == []
    world.clock.advance(5400.0)
    await take_one(world, "s2")


async def test_of_many_senders_at_once_each_letter_goes_to_one(world: World) -> None:
    for number in range(20):
        await world.backend.outbox.owe(letter(f"m{number:02}"))
    given = await asyncio.gather(*(take(world, f"s{number}", limit=4) for number in range(8)))
    names = [one.about for letters in given for one in letters]
    assert sorted(names) == [f"m{number:02}" for number in range(20)]


# --- what became of it ------------------------------------------------------------------------------


async def test_a_letter_that_is_out_is_never_given_again(world: World) -> None:
    outbox = world.backend.outbox
    await outbox.owe(letter())
    taken = await take_one(world)
    for _ in range(2):
        await outbox.sent(taken, "<out@us>")
    world.clock.advance(10 * HOLD)
    assert await take(world) == []
    assert await standings(world) == ["sent as <out@us>"]


async def test_a_letter_that_could_not_be_sent_is_given_again_later(world: World) -> None:
    outbox = world.backend.outbox
    await outbox.owe(letter())
    await outbox.postpone(await take_one(world), 10, "greylisted")
    assert await standings(world) == ["owed, after a failure: greylisted"]
    world.clock.advance(9.75)
    assert await take(world) == []
    world.clock.advance(0.25)
    assert (await take_one(world)).attempts == 2


async def test_a_letter_that_must_not_be_sent_is_kept_for_the_operator(world: World) -> None:
    outbox = world.backend.outbox
    await outbox.owe(letter())
    await outbox.abandon(await take_one(world), "no such mailbox \ud800")
    world.clock.advance(10 * HOLD)
    assert await take(world) == []
    assert await standings(world) == ["abandoned: no such mailbox ?"]
    assert not await outbox.owe(letter())


async def test_a_former_senders_word_that_it_failed_changes_nothing(world: World) -> None:
    """It was too slow: somebody else has the letter in hand, and a third must not get it, too."""
    outbox = world.backend.outbox
    await outbox.owe(letter())
    slow = await take_one(world, "s1")
    world.clock.advance(HOLD)
    await take_one(world, "s2")
    await outbox.postpone(slow, 0, "timed out")
    await outbox.abandon(slow, "timed out")
    assert await take(world, "s3") == []
    assert await standings(world) == ["with s2"]


async def test_a_former_senders_word_that_it_is_out_counts(world: World) -> None:
    """What is out is out; sending it once more would help nobody."""
    outbox = world.backend.outbox
    await outbox.owe(letter())
    slow = await take_one(world, "s1")
    world.clock.advance(HOLD)
    second = await take_one(world, "s2")
    await outbox.sent(slow, "<first@us>")
    await outbox.postpone(second, 0, "failed")
    await outbox.abandon(second, "failed")
    await outbox.sent(second, "<second@us>")
    assert await take(world, "s3") == []
    assert await standings(world) == ["sent as <first@us>"]


async def test_a_letter_that_was_given_up_too_early_is_out_when_it_is_out(world: World) -> None:
    outbox = world.backend.outbox
    await outbox.owe(letter())
    taken = await take_one(world)
    await outbox.abandon(taken, "gave up")
    await outbox.sent(taken, "<out@us>")
    assert await standings(world) == ["sent as <out@us>"]


async def test_nothing_can_be_said_of_a_letter_that_was_never_owed(world: World) -> None:
    outbox = world.backend.outbox
    for word in (
        outbox.sent(letter(), "<out@us>"),
        outbox.postpone(letter(), 1, "no"),
        outbox.abandon(letter(), "no"),
    ):
        with pytest.raises(NotFound, match="m1"):
            await word


# --- listing ---------------------------------------------------------------------------------------


async def test_letters_are_listed_newest_first(world: World) -> None:
    outbox = world.backend.outbox
    for name in ("m2", "m1", "m3"):
        await outbox.owe(letter(name))
    assert [one.about for one, _ in await outbox.letters(limit=2)] == ["m3", "m1"]
    assert await outbox.letters(limit=10, about="m1") == [
        (letter("m1", owed_at=START), LetterStatus(LetterState.OWED))
    ]
    assert await outbox.letters(limit=10, about="nobody") == []
    rest = await outbox.letters(limit=10, before=("m1", LetterKind.HELP))
    assert [one.about for one, _ in rest] == ["m2"]
    with pytest.raises(NotFound, match="m9"):
        await outbox.letters(limit=10, before=("m9", LetterKind.HELP))


# --- waiting ----------------------------------------------------------------------------------------


async def test_a_waiting_sender_is_woken_when_a_letter_is_owed(world: World) -> None:
    async with waiting(take(world, wait=LONG)) as poll:
        await world.backend.outbox.owe(letter())
        assert [one.about for one in await soon(poll)] == ["m1"]


async def test_a_waiting_sender_is_woken_when_a_job_is_accepted(
    world_with: Callable[[Limits], World],
) -> None:
    """It learns from when on the letter is due: no look for letters lasts longer than that."""
    world = world_with(replace(LIMITS, acknowledge_seconds=0.1))
    async with waiting(take(world, wait=LONG)) as poll:
        job = await world.submit(reply=True)
        await asyncio.sleep(0.05)
        world.clock.advance(0.25)
        assert [(one.about, one.kind) for one in await soon(poll)] == [(job, LetterKind.ACCEPTED)]


async def test_a_waiting_sender_is_woken_when_a_job_ends(world: World) -> None:
    delivery = await world.start(BRAVO, reply=True)
    async with waiting(take(world, wait=LONG)) as poll:
        await world.broker.settle(delivery, Done(), more=False)
        assert [one.kind for one in await soon(poll)] == [LetterKind.DONE]


async def test_a_waiting_sender_is_woken_when_a_letter_is_put_off(world: World) -> None:
    """It was held for a minute, and is due in no time now."""
    await world.backend.outbox.owe(letter())
    taken = await take_one(world, "s1")
    async with waiting(take(world, "s2", wait=LONG)) as poll:
        await world.backend.outbox.postpone(taken, 0.1, "busy")
        await asyncio.sleep(0.05)
        world.clock.advance(0.25)
        assert [one.attempts for one in await soon(poll)] == [2]


async def test_a_waiting_sender_comes_back_when_the_seconds_are_over(world: World) -> None:
    assert await soon(take(world, wait=0.05)) == []
