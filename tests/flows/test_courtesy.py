"""Thanks, and words whose meaning is not clear: kept, and no work is stopped or begun for them."""

import pytest

from tests.flows.door import SCOTT, Door, door
from webordinary.core.claim import WorkerId
from webordinary.core.job import Intent
from webordinary.core.mail import LetterKind, MailRecord, MailState

__all__ = ["door"]

FIRST = "<1@example.com>"
REACTION = (
    "--b\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n\U0001f389\r\n\r\nScott hat reagiert\r\n"
    "--b\r\nContent-Type: text/vnd.google.email-reaction+json\r\n\r\n"
    '{"emoji": "\U0001f389", "version": 1}\r\n--b--'
)


async def running_edit(door: Door) -> MailRecord:
    """Somebody asked for something, and it is being done."""
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Rebuild everything")
    (claim,) = (await door.backend.broker.claim(WorkerId("w"), room=1, wait=0)).claims
    await door.backend.broker.next_job(claim, wait=0)
    return first


async def is_interrupted(door: Door, record: MailRecord) -> bool:
    assert record.job is not None
    return (await door.backend.ledger.job(record.job)).interrupted


async def test_thanks_stop_nothing_and_are_answered_by_nothing(door: Door) -> None:
    first = await running_edit(door)
    letters = await door.letters()
    thanks = await door.mail("Great, thanks a lot!", number="2", answers=FIRST)
    assert (thanks.state, thanks.reason, thanks.job) == (MailState.IGNORED, "courtesy", None)
    assert not await is_interrupted(door, first)
    assert await door.letters() == letters


async def test_thanks_with_a_wish_are_a_wish(door: Door) -> None:
    """The twin: what comes after the thanks must not be lost with them."""
    first = await running_edit(door)
    wish = await door.mail("Thanks! Also change the phone number.", number="2", answers=FIRST)
    assert wish.state is MailState.ACCEPTED
    assert await is_interrupted(door, first)


async def with_photo(door: Door, text: str, number: str, answers: str = "") -> MailRecord:
    gif = "R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    whole = (
        f"--b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--b\r\nContent-Type: image/gif; name=a.gif\r\n"
        f"Content-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n{gif}\r\n--b--"
    )
    header = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"
    return await door.mail(whole, number=number, answers=answers, extra=header)


async def test_thanks_with_a_photo_are_a_wish(door: Door) -> None:
    """Nobody attaches a picture to say thanks."""
    await door.onboard("amelia/scott", SCOTT)
    assert (await with_photo(door, "thanks!", "1")).state is MailState.ACCEPTED


async def test_a_photo_to_be_put_online_is_work_and_publishes_nothing_else(door: Door) -> None:
    """Everybody would see an unfinished preview, and nobody the photo."""
    await door.onboard("amelia/scott", SCOTT)
    first = await with_photo(door, "Please put this online, thanks", "1")
    assert first.job is not None
    assert (await door.backend.ledger.job(first.job)).intent is Intent.EDIT
    second = await with_photo(door, "Looks great, please publish it!", "2", answers=FIRST)
    assert (second.id, LetterKind.UNCLEAR) in await door.letters()
    third = await with_photo(door, "publish", "3", answers=FIRST)
    assert third.job is not None
    assert (await door.backend.ledger.job(third.job)).intent is Intent.PUBLISH


@pytest.mark.parametrize(
    ("subject", "text", "state"),
    [
        ("Menu", "Please put this online\r\n\r\n> Soup\r\n> Cake", MailState.ACCEPTED),
        ("Closed on Monday 4 May", "Please publish", MailState.ANSWERED),
    ],
)
async def test_what_a_new_mail_brings_besides_may_be_what_to_publish(
    door: Door, subject: str, text: str, state: MailState
) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail(text, subject=subject)
    assert record.state is state
    if record.job:
        assert (await door.backend.ledger.job(record.job)).intent is Intent.EDIT


async def test_an_emoji_on_our_letter_is_no_request(door: Door) -> None:
    """In whatever language the mail program puts it for those who can't show it."""
    await running_edit(door)
    header = "MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=b\r\n"
    record = await door.mail(REACTION, number="2", answers=FIRST, extra=header)
    assert (record.state, record.job) == (MailState.IGNORED, None)


async def test_thanks_of_somebody_with_two_sites_are_not_asked_about(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.onboard("bakery/scott", SCOTT)
    assert (await door.mail("Thank you!")).state is MailState.IGNORED
    assert await door.letters() == []


@pytest.mark.parametrize("text", ["publish?", "Please don't publish yet", "Yes!"])
async def test_what_is_not_clear_is_asked_about_and_nothing_is_done(door: Door, text: str) -> None:
    first = await running_edit(door)
    record = await door.mail(text, number="2", answers=FIRST)
    assert (record.state, record.job) == (MailState.ANSWERED, None)
    assert (record.id, LetterKind.UNCLEAR) in await door.letters()
    assert not await is_interrupted(door, first)


async def test_an_empty_reply_is_no_instruction(door: Door) -> None:
    """Its subject is that of the mail it answers."""
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("", subject="Re: publish")
    assert (record.state, record.job) == (MailState.UNREADABLE, None)
    assert (await door.mail("", subject="publish", number="2")).state is MailState.ACCEPTED
