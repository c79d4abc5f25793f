"""A mail on its way in: who may, which lane, which conversation, and what is answered at once.

On real stores, with the real reader; the origin checks ask nobody, and mail from this machine is believed.
"""

from dataclasses import replace

import pytest

from tests.flows.door import ADDRESS, ELSEWHERE, HERE, KEY, MARY, SCOTT, Door, door
from webordinary.core.errors import CannotTellNow
from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.mail import Envelope, LetterKind, MailState, SessionId
from webordinary.core.signed_addresses import session_address, shortened_id
from webordinary.dispatch.submit import QuotaLimits
from webordinary.flows.receive import CONFIRMATION
from webordinary.mail.checks.checks import OfflineChecks
from webordinary.ports.mail_checks import Checks

__all__ = ["door"]


async def test_a_members_mail_becomes_a_job_in_their_lane(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("Change the title to Spring Sale")
    assert (record.state, record.lane) == (MailState.ACCEPTED, Lane("amelia", "scott"))
    assert await door.jobs() == [("amelia/scott", "Change the title to Spring Sale")]
    assert await door.letters() == [(record.job, LetterKind.ACCEPTED)]


async def test_the_same_mail_delivered_again_is_one_job_and_one_letter(door: Door) -> None:
    """A sender's server that saw no answer sends again; the second copy took another way."""
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Change the title")
    again = await door.mail("Change the title", extra="Received: from elsewhere\r\n")
    assert again.job == first.job
    assert len(await door.jobs()) == len(await door.letters()) == 1


async def test_a_stranger_is_refused_politely(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("Change the title", sender="eve@example.org")
    assert record.state is MailState.REFUSED
    assert await door.jobs() == []
    assert await door.letters() == [(record.id, LetterKind.REFUSED)]


async def test_a_reply_goes_on_with_its_conversation_and_a_new_mail_begins_another(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Change the title")
    reply = await door.mail("And the colour", number="2", answers="<1@example.com>")
    new = await door.mail("Something else", number="3")
    assert reply.session == first.session
    assert new.session not in (None, first.session)


async def test_a_thread_never_authenticates(door: Door) -> None:
    """A stranger who was in Cc can answer in the thread, and that is all they can do."""
    await door.onboard("amelia/scott", SCOTT)
    await door.onboard("bakery/eve", "eve@example.org")
    await door.mail("Change the title")
    record = await door.mail("Delete it all", sender="eve@example.org", number="2", answers="<1@example.com>")
    assert record.state is MailState.REFUSED
    assert await door.jobs() == [("amelia/scott", "Change the title")]


async def test_a_stolen_session_address_never_authenticates(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Change the title")
    assert first.session is not None
    stolen = replace(HERE, recipients=(session_address(first.session, KEY, ADDRESS),))
    record = await door.mail("Delete it all", sender="eve@example.org", number="2", envelope=stolen)
    assert record.state is MailState.REFUSED


async def test_a_session_address_finds_the_conversation_before_the_thread_does(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    first = await door.mail("Change the title")
    await door.mail("Another thing", number="2")
    assert first.session is not None
    token = replace(HERE, recipients=(session_address(first.session, KEY, ADDRESS),))
    record = await door.mail("And the colour", number="3", answers="<2@example.com>", envelope=token)
    assert record.session == first.session


async def test_a_colleague_may_answer_in_a_thread_of_the_same_project(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.onboard("amelia/mary", MARY)
    first = await door.mail("Change the title")
    record = await door.mail("Make it blue", sender=MARY, number="2", answers="<1@example.com>")
    assert (record.lane, record.session) == (first.lane, first.session)


async def test_who_has_several_projects_is_asked_and_can_answer(door: Door) -> None:
    """The first mail is carried out once its sender says where; nobody has to write it again."""
    await door.onboard("amelia/scott", SCOTT)
    await door.onboard("bakery/scott", SCOTT)
    asked = await door.mail("Change the title")
    assert asked.state is MailState.ANSWERED
    assert await door.letters() == [(asked.id, LetterKind.ASKED)]
    await door.mail("hm?", number="2", answers="<1@example.com>")
    assert await door.jobs() == []
    answer = await door.mail("The bakery, please.", number="3", answers="<1@example.com>")
    assert answer.state is MailState.ANSWERED
    assert await door.jobs() == [("bakery/scott", "Change the title")]


async def test_a_mail_that_is_not_shown_to_be_true_waits_for_the_operator(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("Change the title", envelope=ELSEWHERE)
    assert record.state is MailState.QUARANTINED
    assert record.reason
    assert await door.jobs() == []
    assert await door.backend.mailbox.mails(limit=5, state=MailState.QUARANTINED) == [record]


async def test_a_doubted_member_is_asked_at_the_address_on_file_and_can_confirm(door: Door) -> None:
    """Weak authentication gets a question instead of silence; only who reads that mailbox can answer it."""
    await door.onboard("amelia/scott", SCOTT)
    doubted = await door.mail("Change the title", envelope=ELSEWHERE)
    assert await door.letters() == [(doubted.id, LetterKind.CONFIRM)]
    token = session_address(SessionId(f"{CONFIRMATION}{shortened_id(doubted.id)}"), KEY, ADDRESS)
    confirming = replace(ELSEWHERE, recipients=(token,))
    stolen = await door.mail("yes", sender="eve@example.org", number="2", envelope=confirming)
    assert stolen.state is MailState.QUARANTINED
    await door.mail("What is this? That was not me!", number="3", envelope=confirming)
    assert await door.jobs() == []
    await door.mail("Yes!", number="4", envelope=confirming)
    assert await door.jobs() == [("amelia/scott", "Change the title")]


async def test_a_sender_that_cannot_be_looked_up_now_is_told_to_come_again(door: Door) -> None:
    """Name servers fail for minutes; a member must not be doubted for good because of that."""
    await door.onboard("amelia/scott", SCOTT)

    class NoAnswer(OfflineChecks):
        async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
            return replace(await super().check(raw, envelope, from_address), unsure=True)

    door.reception = replace(door.reception, checks=NoAnswer())
    raw = f"From: {SCOTT}\r\nMessage-ID: <1@example.com>\r\n\r\nChange the title\r\n".encode()
    with pytest.raises(CannotTellNow):
        await door.reception.receive(raw, ELSEWHERE, may_come_again=True)
    assert await door.backend.mailbox.mails(limit=5) == []
    record = await door.reception.receive(raw, ELSEWHERE)
    assert record.state is MailState.QUARANTINED


async def test_a_forged_copy_never_takes_the_place_of_the_real_mail(door: Door) -> None:
    """Somebody who knows a Message-ID sends their own mail under it first."""
    await door.onboard("amelia/scott", SCOTT)
    forged = await door.mail("Delete it all", envelope=ELSEWHERE)
    assert forged.state is MailState.QUARANTINED
    real = await door.mail("Change the title")
    assert (real.id, real.state) == (forged.id, MailState.ACCEPTED)
    assert await door.jobs() == [("amelia/scott", "Change the title")]


async def test_the_project_and_the_mail_itself_choose_the_arrival_policy(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT, Arrival.QUEUE)
    await door.mail("one")
    await door.mail("two", number="2", subject="[replace-pending] instead")
    arrivals = [job.arrival for job in reversed(await door.backend.ledger.jobs(limit=5))]
    assert arrivals == ["queue", "replace-pending"]


async def test_too_much_mail_is_turned_away_with_one_letter_a_window(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    door.reception = replace(door.reception, quotas=QuotaLimits(sender_burst=2, sender_per_hour=1))
    records = [await door.mail("again", number=str(number)) for number in range(6)]
    assert [record.state for record in records].count(MailState.REFUSED) == 4
    assert [kind for _, kind in await door.letters()].count(LetterKind.OVER_QUOTA) == 1


async def test_an_empty_mail_is_answered_with_a_plain_sentence(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail("", subject="")
    assert record.state is MailState.UNREADABLE
    assert await door.letters() == [(record.id, LetterKind.UNREADABLE)]


async def test_a_mail_with_only_a_subject_means_its_subject(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.mail("", subject="Change the title to Spring Sale")
    assert await door.jobs() == [("amelia/scott", "Change the title to Spring Sale")]


async def test_garbage_is_kept_for_the_operator(door: Door) -> None:
    record = await door.reception.receive(b"\x00\xff\xfe" * 500, HERE)
    assert record.state is MailState.QUARANTINED
    assert await door.letters() == []


async def test_files_keep_the_names_that_their_sender_gave_them(door: Door) -> None:
    """For people and in the prompt: one clean line, whatever the mail has there."""
    await door.onboard("amelia/scott", SCOTT)
    extra = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"
    disposition = "Content-Disposition: attachment; filename*=utf-8''our%20%0A%20prices.pdf"
    text = (
        "--b\r\n\r\nPut the prices on the page\r\n"
        f"--b\r\nContent-Type: application/pdf\r\n{disposition}\r\n\r\n%PDF-1.4 prices\r\n--b--"
    )
    record = await door.mail(text, extra=extra)
    kept = await door.backend.mailbox.mail(record.id)
    assert kept is not None
    assert [(file.name, file.claimed_name) for file in kept.files] == [("document-1.pdf", "our prices.pdf")]
