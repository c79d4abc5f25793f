"""Letters that come back: tied to the letter by its signed return path, or not at all."""

from dataclasses import replace

import pytest

from tests.flows.door import ADDRESS, ELSEWHERE, HERE, KEY, SCOTT, Door, door
from tests.intake.test_delivery_report import FAILED, recipient, report
from webordinary.core.mail import LetterKind, MailRecord, MailState
from webordinary.core.signed_addresses import SentLetter, return_path
from webordinary.ports.bounces import Bouncing

__all__ = ["door"]

BACK = replace(ELSEWHERE, mail_from="")


async def comes_back(
    door: Door, mail: MailRecord, kind: LetterKind = LetterKind.DONE, raw: bytes = b"", key: bytes = KEY
) -> MailRecord:
    """A report about a letter that answered this mail arrives at the letter's return path."""
    path = return_path(SentLetter(mail.id, kind), key, ADDRESS)
    named = f"Message-ID: <{door.clock.unique()}@mx.example.org>\r\n".encode() + (raw or report(FAILED))
    return await door.reception.receive(named, replace(BACK, recipients=(path,)))


async def bouncing(door: Door) -> Bouncing | None:
    return await door.backend.bounces.of(SCOTT)


async def test_a_member_whose_letters_come_back_is_marked(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    mails = [await door.mail("Change the title", number=str(number)) for number in range(3)]
    for mail in mails:
        record = await comes_back(door, mail)
        assert record.state is MailState.IGNORED
        assert record.reason.startswith(f"the letter done about {mail.id} to {SCOTT} came back: 5.1.1")
    found = await bouncing(door)
    assert found is not None
    assert found.marked
    assert found.letters == tuple(f"done about {mail.id}" for mail in mails)


async def test_several_letters_about_one_mail_are_several(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    mail = await door.mail("Change the title")
    for kind in (LetterKind.ACCEPTED, LetterKind.DONE, LetterKind.DONE):
        await comes_back(door, mail, kind)
    found = await bouncing(door)
    assert found is not None
    assert len(found.letters) == 2


async def test_a_mail_of_the_member_shows_that_their_address_works(door: Door) -> None:
    """Two letters came back, then they wrote, then another one came back: that is no row of three."""
    await door.onboard("amelia/scott", SCOTT)
    mail = await door.mail("Change the title")
    for kind in (LetterKind.ACCEPTED, LetterKind.DONE):
        await comes_back(door, mail, kind)
    later = await door.mail("And the colour", number="2")
    assert await bouncing(door) is None
    await comes_back(door, later)
    found = await bouncing(door)
    assert found is not None
    assert not found.marked


async def test_a_mail_that_is_not_shown_to_be_theirs_ends_nothing(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await comes_back(door, await door.mail("Change the title"))
    await door.mail("Forged", number="2", envelope=ELSEWHERE)
    assert await bouncing(door) is not None


@pytest.mark.parametrize("key", [b"o" * 32])
async def test_a_report_to_an_address_that_we_did_not_sign_changes_nothing(door: Door, key: bytes) -> None:
    """Else anybody could keep our letters from somebody, by three forged reports."""
    await door.onboard("amelia/scott", SCOTT)
    mail = await door.mail("Change the title")
    record = await comes_back(door, mail, key=key)
    assert record.state is MailState.IGNORED
    await door.reception.receive(report(FAILED), BACK)
    assert await bouncing(door) is None


@pytest.mark.parametrize(
    "raw",
    [
        report(recipient("delayed", "4.4.7")),
        report(recipient("delivered", "2.0.0")),
        b"From: scott@example.com\r\nAuto-Submitted: auto-replied\r\n\r\nI am on holiday.\r\n",
        b"From: scott@example.com\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b--\r\n",
    ],
)
async def test_what_else_comes_back_to_a_return_path_is_kept_and_no_bounce(door: Door, raw: bytes) -> None:
    """Notes of absence go to the return path, by the book."""
    await door.onboard("amelia/scott", SCOTT)
    mail = await door.mail("Change the title")
    letters = await door.letters()
    record = await comes_back(door, mail, raw=raw)
    assert record.state is MailState.IGNORED
    assert await bouncing(door) is None
    assert await door.letters() == letters


async def test_a_person_who_writes_to_a_return_path_is_read(door: Door) -> None:
    """Some programs show it; it routes nowhere, so the sender's address decides."""
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Change the title")
    path = return_path(SentLetter(first.id, LetterKind.DONE), KEY, ADDRESS)
    record = await door.mail("And the colour", number="2", envelope=replace(HERE, recipients=(path,)))
    assert record.state is MailState.ACCEPTED


async def test_a_strangers_address_that_does_not_exist_is_not_kept(door: Door) -> None:
    mail = await door.mail("Hello", sender="eve@example.org")
    await comes_back(door, mail, LetterKind.REFUSED)
    assert await door.backend.bounces.all(limit=5) == []
