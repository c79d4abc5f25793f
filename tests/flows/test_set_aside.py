"""Automatic mail on its way in: what is kept in silence, who is told once, and who is served all the same."""

from dataclasses import replace

import pytest

from tests.flows.door import ADDRESS, ELSEWHERE, HERE, KEY, SCOTT, Door, door
from webordinary.core.facts import Question
from webordinary.core.mail import Envelope, LetterKind, MailState, SessionId
from webordinary.core.signed_addresses import session_address
from webordinary.mail.checks.checks import OfflineChecks
from webordinary.ports.mail_checks import Checks, Dmarc, Spf

__all__ = ["door"]

DAY = 24 * 3600.0
LIST = "List-Id: <bakers.example.org>\r\n"
BULK = "Precedence: bulk\r\n"
MACHINE = "Auto-Submitted: auto-replied\r\n"


async def kinds(door: Door) -> list[LetterKind]:
    return [kind for _, kind in await door.letters()]


@pytest.mark.parametrize("extra", [MACHINE, LIST + MACHINE, "Content-Type: multipart/report\r\n"])
async def test_a_machine_is_never_answered(door: Door, extra: str) -> None:
    """Not even the machine of a member: two that answer each other do so for ever."""
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("I am on holiday", extra=extra)
    assert record.state is MailState.IGNORED
    assert await door.jobs() == await door.letters() == []


async def test_a_bounce_is_never_answered(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("It could not be delivered", envelope=replace(HERE, mail_from=""))
    assert record.state is MailState.IGNORED
    assert await door.letters() == []


@pytest.mark.parametrize("extra", [LIST, BULK])
async def test_a_member_whose_mail_is_set_aside_is_told_once_a_day(door: Door, extra: str) -> None:
    """Silence would look like a lost mail; a letter for each would answer a whole list."""
    await door.onboard("amelia/scott", SCOTT)
    for number in "123":
        record = await door.mail("Change the title", number=number, extra=extra)
        assert record.state is MailState.IGNORED
    assert await door.jobs() == []
    assert await kinds(door) == [LetterKind.SET_ASIDE]
    door.clock.advance(DAY)
    await door.mail("Change the title", number="4", extra=extra)
    assert await kinds(door) == [LetterKind.SET_ASIDE] * 2


@pytest.mark.parametrize("extra", [LIST, BULK])
async def test_a_mail_that_was_set_aside_is_carried_out_when_its_sender_says_yes(
    door: Door, extra: str
) -> None:
    """Also if their provider stamps every mail of theirs; not when anybody else does, nor by other words."""
    await door.onboard("amelia/scott", SCOTT)
    aside = await door.mail("Change the title", extra=extra)
    ((letter, _),) = await door.backend.outbox.letters(limit=5)
    assert isinstance(letter.facts, Question)
    answer = replace(HERE, recipients=(session_address(SessionId(letter.facts.token), KEY, ADDRESS),))
    await door.mail("yes", sender="eve@example.org", number="2", envelope=answer)
    await door.mail("What is this?", number="3", envelope=answer, extra=extra)
    assert await door.jobs() == []
    said = await door.mail("Yes!", number="4", envelope=answer, extra=extra)
    assert said.state is MailState.ANSWERED
    assert await door.jobs() == [("amelia/scott", "Change the title")]
    await door.mail("Yes!", number="5", envelope=answer)
    assert len(await door.jobs()) == 1
    taken = await door.backend.mailbox.mail(aside.id)
    assert taken is not None
    assert taken.state is MailState.ACCEPTED


async def test_a_new_request_as_the_answer_is_a_request(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("Change the title", extra=LIST)
    ((letter, _),) = await door.backend.outbox.letters(limit=5)
    assert isinstance(letter.facts, Question)
    answer = replace(HERE, recipients=(session_address(SessionId(letter.facts.token), KEY, ADDRESS),))
    record = await door.mail("Change the colour to blue", number="2", envelope=answer)
    assert record.state is MailState.ACCEPTED
    assert await door.jobs() == [("amelia/scott", "Change the colour to blue")]


@pytest.mark.parametrize("first", [LIST, ""])
async def test_a_mail_to_a_list_and_to_us_is_a_mail_to_us(door: Door, first: str) -> None:
    """Both copies have one Message-ID; whichever comes first, it is carried out once."""
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("Change the title", extra=first)
    await door.mail("Change the title", extra="" if first else LIST)
    assert await door.jobs() == [("amelia/scott", "Change the title")]
    if not first:
        assert await kinds(door) == [LetterKind.ACCEPTED]


async def test_a_mail_that_was_answered_is_not_set_aside_by_its_second_copy(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("help")
    assert (await door.mail("help", extra=LIST)).state is MailState.ANSWERED
    assert await kinds(door) == [LetterKind.HELP]


@pytest.mark.parametrize("extra", [LIST, BULK])
async def test_a_stranger_whose_mail_is_set_aside_is_not_told(door: Door, extra: str) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("Buy now", sender="news@example.org", extra=extra)
    assert record.state is MailState.IGNORED
    assert await door.letters() == []


async def test_a_list_mail_that_proves_little_is_told_to_the_address_on_file(door: Door) -> None:
    """A list takes away what shows who wrote a mail."""
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("Change the title", extra=LIST, envelope=ELSEWHERE)
    assert await kinds(door) == [LetterKind.SET_ASIDE]


async def test_a_forged_list_mail_bothers_nobody(door: Door) -> None:
    """Mail against the domain's own policy is somebody else's: its victim gets no letter."""
    await door.onboard("amelia/scott", SCOTT)

    class Against(OfflineChecks):
        async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
            facts = await super().check(raw, envelope, from_address)
            return replace(facts, dmarc=Dmarc("reject"), spf=Spf("fail", "example.com", "example.com"))

    door.reception = replace(door.reception, checks=Against())
    record = await door.mail("Change the title", extra=LIST, envelope=ELSEWHERE)
    assert record.state is MailState.IGNORED
    assert await door.letters() == []


@pytest.mark.parametrize(
    "extra",
    [
        "Feedback-ID: i1a2b3c4d:Fastmail\r\n",
        "X-Auto-Response-Suppress: All\r\n",
        "List-Unsubscribe: <https://crm.example.com/u>\r\n",
    ],
)
async def test_what_providers_stamp_on_a_members_mail_hinders_nothing(door: Door, extra: str) -> None:
    await door.onboard("amelia/scott", SCOTT)
    bounces = replace(HERE, mail_from="bounces+17-ab=cd@em.example.com")
    record = await door.mail("Change the title", extra=extra, envelope=bounces)
    assert record.state is MailState.ACCEPTED


@pytest.mark.parametrize("sender", ["root@example.com", "postmaster@example.com", "no-reply@crm.example.com"])
async def test_an_address_on_file_is_a_persons_whatever_its_name(door: Door, sender: str) -> None:
    """Small firms have one mailbox, and it may be postmaster's."""
    assert (await door.mail("Change the title", sender=sender)).state is MailState.IGNORED
    await door.onboard("amelia/scott", sender)
    assert (await door.mail("Change the title", sender=sender, number="2")).state is MailState.ACCEPTED
    assert await kinds(door) == [LetterKind.ACCEPTED]


async def test_a_strangers_newsletter_is_not_answered_and_their_letter_is(door: Door) -> None:
    newsletter = await door.mail("Buy", sender="eve@example.org", extra="List-Unsubscribe: <mailto:u@x>\r\n")
    letter = await door.mail(
        "Hello", sender="eve@example.org", number="2", extra="Feedback-ID: 1:Fastmail\r\n"
    )
    assert (newsletter.state, letter.state) == (MailState.IGNORED, MailState.REFUSED)
    assert await kinds(door) == [LetterKind.REFUSED]


async def test_a_yes_carries_out_the_mail_that_was_told_about(door: Door) -> None:
    """Not other words that somebody sent in silence before, with the same Message-ID."""
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("Delete the shop", envelope=replace(ELSEWHERE, mail_from=""))
    await door.mail("Change the title", extra=LIST, envelope=ELSEWHERE)
    ((letter, _),) = await door.backend.outbox.letters(limit=5)
    assert isinstance(letter.facts, Question)
    address = session_address(SessionId(letter.facts.token), KEY, ADDRESS)
    await door.mail("yes", number="2", envelope=replace(HERE, recipients=(address,)))
    assert await door.jobs() == [("amelia/scott", "Change the title")]
