"""How many letters go out: to one address, in one conversation, to all strangers together."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.reply.post import QUICK, Post
from webordinary.core.facts import Question
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind, MailState, SessionId
from webordinary.core.outcome import Done
from webordinary.ports.mailer import Sent, TryLater
from webordinary.reply.sending_limits import SendingLimits

Cause = Callable[[Post, str], Awaitable[None]]
MEMBER, VICTIM = "amelia@flowers.example", "scott@flowers.example"


async def owe(post: Post, kind: LetterKind, address: str, state: MailState) -> None:
    mail = await post.mail_comes(address, state)
    facts = Question("confirm-1") if kind is LetterKind.CONFIRM else None
    await post.backend.outbox.owe(Letter(mail.id, kind, mail.id, facts))


async def confirm(post: Post, address: str = VICTIM) -> None:
    """A mail in somebody's name that proves nothing: its owner is asked."""
    await owe(post, LetterKind.CONFIRM, address, MailState.QUARANTINED)


async def refuse(post: Post, address: str) -> None:
    await owe(post, LetterKind.REFUSED, address, MailState.REFUSED)


@pytest.mark.parametrize("cause", [confirm, refuse])
async def test_sixty_mails_in_somebodys_name_are_a_handful_of_letters(post: Post, cause: Cause) -> None:
    """60 forged mails gave 60 letters: we were the forger's loudspeaker."""
    for _ in range(60):
        await cause(post, VICTIM)
    async with post.sending():
        await post.until(
            "abandoned: there were 5 unasked letters to scott@flowers.example within an hour", 55
        )
    assert len(post.delivered()) == 5


async def test_a_member_in_whose_name_somebody_writes_still_gets_their_answers(post: Post) -> None:
    for _ in range(20):
        await confirm(post, MEMBER)
    await post.owe_help(await post.mail_comes(MEMBER))
    async with post.sending():
        await post.until("abandoned", 15)
        await post.until("sent", 6)


async def test_whoever_writes_some_mails_that_prove_little_is_asked_about_each(post: Post) -> None:
    for _ in range(5):
        await confirm(post)
    async with post.sending():
        await post.until("sent", 5)
    post.clock.advance(3600)
    await confirm(post)
    async with post.sending():
        await post.until("sent", 6)


@pytest.mark.parametrize("address", ["scott+1@flowers.example", "SCOTT@Flowers.example"])
async def test_another_spelling_of_an_address_is_no_way_around_its_cap(post: Post, address: str) -> None:
    limits = replace(QUICK, unasked_letters_per_hour=1)
    async with post.sending(post.office(limits=limits)):
        await refuse(post, VICTIM)
        await post.until("sent")
        await refuse(post, address)
        await post.until("abandoned")


async def test_all_strangers_together_get_only_so_many_letters(post: Post) -> None:
    """Ten thousand addresses of a forger's choice would make us a source of spam."""
    limits = replace(QUICK, stranger_letters_per_hour=10)
    for number in range(30):
        await refuse(post, f"a{number}@elsewhere.example")
    await post.owe_help(await post.mail_comes(MEMBER))
    await confirm(post)
    async with post.sending(post.office(limits=limits)):
        await post.until("abandoned: there were 10 letters to strangers within an hour", 20)
        await post.until("sent", 12)


async def test_answers_to_one_address_wait_for_room_and_are_not_lost(post: Post) -> None:
    limits = replace(QUICK, letters_per_hour=3)
    for _ in range(5):
        await post.owe_help(await post.mail_comes(MEMBER))
    async with post.sending(post.office(limits=limits)):
        await post.until("owed, after a failure: there were 3 letters to amelia@flowers.example", 2)
    assert len(post.delivered()) == 3
    post.clock.advance(3601)
    async with post.sending(post.office(limits=limits)):
        await post.until("sent", 5)


async def test_a_cap_survives_a_restart_and_is_shared_by_all_senders(post: Post) -> None:
    limits = replace(QUICK, unasked_letters_per_hour=3)
    for name in ("s1", "s2", "s3"):
        for _ in range(4):
            await refuse(post, VICTIM)
        async with post.sending(post.office(limits=limits), name), post.sending(post.office(limits=limits)):
            await post.until("abandoned", 4 * int(name[1]) - 3)
    assert len(post.delivered()) == 3


async def test_a_letter_that_is_tried_again_counts_once(post: Post) -> None:
    class Slow:
        tries = 0

        async def send(
            self, message: bytes, *, recipient: str, key: str, return_path: str = ""
        ) -> Sent | TryLater:
            del message, recipient, key, return_path
            self.tries += 1
            return Sent() if self.tries > 4 else TryLater("the line is busy")

    limits = replace(QUICK, letters_per_hour=2, retry_first_seconds=0.001)
    mailer = Slow()
    await post.owe_help(await post.mail_comes(MEMBER))
    async with post.sending(post.office(mailer, limits)):
        while mailer.tries < 5:
            post.clock.advance(1)
            await asyncio.sleep(0.01)
        await post.until("sent")
        await post.owe_help(await post.mail_comes(MEMBER))
        await post.until("sent", 2)


async def test_one_conversation_gets_only_so_many_letters_an_hour(post: Post) -> None:
    """Two machines that answer each other are slowed down to this, whatever else fails."""
    session = SessionId("busy")
    limits = replace(QUICK, replies_per_hour=3)
    for _ in range(5):
        await post.owe_help(await post.mail_comes(session=session))
    await post.owe_help(await post.mail_comes())
    async with post.sending(post.office(limits=limits)):
        await post.until("sent", 4)
        await post.until("owed, after a failure: there were 3 letters in the conversation busy", 2)
    assert len(post.delivered()) == 4
    post.clock.advance(3601)
    async with post.sending(post.office(limits=limits)):
        await post.until("sent", 6)


async def test_beyond_the_cap_courtesies_are_dropped_and_answers_wait(post: Post) -> None:
    session = SessionId("busy")
    limits = replace(QUICK, replies_per_hour=1)
    await post.owe_help(await post.mail_comes(session=session))
    async with post.sending(post.office(limits=limits)):
        await post.until("sent")
        await post.job_for(await post.mail_comes(session=session))
        post.clock.advance(Limits().acknowledge_seconds)
        await post.until("abandoned: there were 1 letters in the conversation busy")
        await post.job_ends(Done("Changed it."))
        await post.until("owed, after a failure: there were 1 letters in the conversation busy")
    post.clock.advance(3601)
    async with post.sending(post.office(limits=limits)):
        await post.until("sent", 2)


def test_courtesies_leave_room_for_answers() -> None:
    limits = SendingLimits(replies_per_hour=30)
    session = SessionId("busy")

    def most(kind: LetterKind) -> int:
        return min(cap.burst for cap in limits.caps(kind, MEMBER, session))

    assert (most(LetterKind.ACCEPTED), most(LetterKind.DONE)) == (15, 30)
