"""The sender on real stores, with real mailers: each letter once, and none is blocked by a bad one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.world import ManualClock
from tests.reply.letters import OURS
from tests.reply.post import QUICK, Post
from tests.reply.smtp_server import Inbox, smtp_server
from tests.waiting import HANG_SECONDS, until
from webordinary.core.claim import WorkerId
from webordinary.core.errors import BackendUnavailable, BadLimits
from webordinary.core.facts import NotAMember, Question
from webordinary.core.failure import FailureKind
from webordinary.core.job import Arrival
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind, MailId, MailState
from webordinary.core.outcome import Done, Failed, Preempted
from webordinary.mail.smtp.relay import Encryption, Relay, SmtpRelay
from webordinary.ports.outbox import Outbox
from webordinary.reply.compose import compose, message_id_of
from webordinary.reply.sending_limits import SendingLimits


def relay(inbox: Inbox) -> SmtpRelay:
    return SmtpRelay(Relay("127.0.0.1", inbox.port, OURS.address, Encryption.NONE, hostname="us.example"))


# --- the way of a letter ------------------------------------------------------------------------------


async def test_a_job_is_answered_when_it_is_accepted_and_when_it_is_done(post: Post) -> None:
    mail = await post.mail_comes()
    job = await post.job_for(mail)
    post.clock.advance(Limits().acknowledge_seconds)
    async with post.sending():
        await post.until("sent")
        await post.job_ends(Done("Changed the title."))
        await post.until("sent", 2)
    accepted, done = post.delivered()
    assert "next in line" in accepted.text
    assert "Changed the title." in done.text
    assert accepted["In-Reply-To"] == done["In-Reply-To"] == mail.message_id
    assert accepted["Message-ID"] == message_id_of(Letter(job, LetterKind.ACCEPTED), OURS.domain)


async def test_an_interrupted_job_is_told_by_what(post: Post) -> None:
    await post.job_for(await post.mail_comes())
    broker = post.backend.broker
    (claim,) = (await broker.claim(WorkerId("w1"), room=1, wait=0)).claims
    delivery = await broker.next_job(claim, wait=0)
    assert delivery is not None
    newer = await post.job_for(await post.mail_comes(), Arrival.INTERRUPT_ALWAYS)
    await broker.settle(delivery, Preempted(newer, "Half of the title."), more=False)
    post.clock.advance(Limits().acknowledge_seconds)
    async with post.sending():
        await post.until("sent", 2)
    preempted, accepted = post.delivered()
    assert "You wrote again while I was working on it: “Change the title”" in preempted.text
    assert "Both are carried out together" in accepted.text


async def test_a_replaced_job_is_told_by_what(post: Post) -> None:
    """It never started: the newer one took its place while it waited."""
    await post.job_for(await post.mail_comes())
    await post.job_for(await post.mail_comes(), Arrival.REPLACE_PENDING)
    post.clock.advance(Limits().acknowledge_seconds)
    async with post.sending():
        await post.until("sent", 2)
    preempted = post.delivered()[0]
    assert "Your newer mail came first: “Change the title”" in preempted.text
    assert "I had not started" in preempted.text


async def test_an_answer_to_a_letter_finds_its_conversation_by_its_message_id(post: Post) -> None:
    """Some programs drop our address and our header; all keep the id that they answer."""
    mail = await post.mail_comes()
    letter = await post.owe_help(mail)
    async with post.sending():
        await post.until("sent")
    session = await post.backend.mailbox.thread([message_id_of(letter, OURS.domain)])
    assert session is not None
    assert session.id == mail.session


async def test_a_letter_that_could_not_be_sent_is_known_to_its_thread_already(post: Post) -> None:
    """It is remembered before it is sent: a crash in between would strand the quickest answers."""
    mail = await post.mail_comes("busy@flowers.example")
    letter = await post.owe_help(mail)
    async with smtp_server() as inbox, post.sending(post.office(relay(inbox))):
        await post.until("owed, after a failure")
    assert await post.backend.mailbox.thread([message_id_of(letter, OURS.domain)]) is not None


# --- failures -----------------------------------------------------------------------------------------


async def test_a_busy_relay_is_tried_again_later(post: Post) -> None:
    await post.owe_help(await post.mail_comes("busy@flowers.example"))
    async with smtp_server() as inbox:
        for attempts in (1, 2, 3):
            async with post.sending(post.office(relay(inbox))):
                await post.until("owed, after a failure: the mail relay answered 451")
            ((letter, _),) = await post.backend.outbox.letters(limit=2)
            assert letter.attempts == attempts
            post.clock.advance(QUICK.retry_most_seconds)
            await post.backend.outbox.postpone(letter, 0, "")  # forget the reason, to see the next one


async def test_after_the_last_attempt_a_letter_is_kept_for_the_operator(post: Post) -> None:
    await post.owe_help(await post.mail_comes("busy@flowers.example"))
    async with smtp_server() as inbox:
        office = post.office(relay(inbox), replace(QUICK, attempts_max=2))
        async with post.sending(office):
            await post.until("owed, after")
        post.clock.advance(QUICK.retry_most_seconds)
        async with post.sending(office):
            await post.until("abandoned: the mail relay answered 451")
    assert "attempt number 2, the last one" in "".join((await post.standing()).values())


async def test_what_the_relay_rejects_is_not_sent_again(post: Post) -> None:
    await post.owe_help(await post.mail_comes("gone@flowers.example"))
    async with smtp_server() as inbox, post.sending(post.office(relay(inbox))):
        await post.until("abandoned: the mail relay answered 550")


async def test_one_bad_letter_never_blocks_the_others(post: Post) -> None:
    for name in ("slow", "gone", "busy", "cut", "spam", "full"):
        await post.owe_help(await post.mail_comes(f"{name}@flowers.example"))
    await post.backend.outbox.owe(Letter("no such job", LetterKind.DONE))
    await post.backend.outbox.owe(Letter("no such mail", LetterKind.HELP, MailId("nobody")))
    await post.owe_help(await post.mail_comes(""))
    good = [await post.owe_help(await post.mail_comes()) for _ in range(20)]
    limits = replace(QUICK, at_once=2, stop_seconds=0.2)
    async with smtp_server() as inbox, post.sending(post.office(relay(inbox), limits)):
        await post.until("sent", len(good))
    assert len(inbox.taken) == len(good)


async def test_an_error_of_our_own_costs_one_letter_at_most(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template with a typo, say: its letters wait for the repair, all others go out."""
    bad, good = await post.owe_help(await post.mail_comes()), await post.mail_comes()
    await post.backend.outbox.owe(Letter(good.id, LetterKind.STATUS, good.id))

    def composing(letter: Letter, *others: object) -> object:
        if letter.kind is LetterKind.HELP:
            raise KeyError("typo")
        return compose(letter, *others)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr("webordinary.reply.sending.compose", composing)
    async with post.sending():
        await post.until("sent")
        await post.until("owed, after a failure: an error of ours: KeyError")
    assert (await post.standing())[f"{bad.about}.help"].startswith("owed")


async def test_a_letter_whose_mail_is_not_known_waits_a_moment_and_is_given_up(post: Post) -> None:
    await post.backend.outbox.owe(Letter("a", LetterKind.HELP, MailId("nobody")))
    office = post.office(limits=replace(QUICK, attempts_without_mail_max=2))
    async with post.sending(office):
        await post.until("owed, after a failure: the mail that it answers is not known")
    post.clock.advance(QUICK.retry_most_seconds)
    async with post.sending(office):
        await post.until("abandoned: the mail that it answers is not known")


async def test_a_folder_in_trouble_is_tried_again(post: Post) -> None:
    post.folder.write_text("a file is in the way")
    await post.owe_help(await post.mail_comes())
    async with post.sending():
        await post.until("owed, after a failure")
    post.folder.unlink()
    post.clock.advance(QUICK.retry_most_seconds)
    async with post.sending():
        await post.until("sent")


def test_waits_grow_and_never_fall_together() -> None:
    limits = SendingLimits()
    assert [limits.retry_delay(attempt, 1.0) for attempt in (1, 2, 3)] == [5.0, 10.0, 20.0]
    assert limits.retry_delay(60, 1.0) == limits.retry_delay(10_000, 1.0) == 3600.0
    assert limits.retry_delay(1, 0.0) == 2.5


def test_a_hold_must_outlast_sending() -> None:
    """Else two senders could have the same letter in hand."""
    with pytest.raises(BadLimits, match="within half"):
        SendingLimits(hold_seconds=60, send_seconds=45)
    with pytest.raises(BadLimits, match="more than zero"):
        SendingLimits(at_once=0)


async def test_a_store_that_hiccups_costs_no_letter_and_sends_none_twice(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A letter that is out but not noted would go out again: noting it is worth insisting."""
    outbox = post.backend.outbox
    monkeypatch.setattr("webordinary.reply.sending.STORE_SECONDS", 0.01)
    for verb in ("take", "sent"):
        monkeypatch.setattr(outbox, verb, _AfterHiccups(getattr(outbox, verb)))
    await post.owe_help(await post.mail_comes())
    async with smtp_server() as inbox, post.sending(post.office(relay(inbox))):
        await post.until("sent")
    assert len(inbox.taken) == 1


class _AfterHiccups:
    """A verb of the real store that works from the third time on."""

    def __init__(self, verb: Callable[..., Awaitable[object]]) -> None:
        self._verb, self._failures = verb, 2

    async def __call__(self, *args: object, **named: object) -> object:
        self._failures -= 1
        if self._failures >= 0:
            raise BackendUnavailable("the store is not there")
        return await self._verb(*args, **named)


# --- what must not be sent ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "noreply@shop.example",
        "No-Reply@shop.example",
        "do-not-reply+123@shop.example",
        "DoNotReply@shop.example",
        "mailer-daemon@shop.example",
        "postmaster@shop.example",
        "bounce-12=amelia@shop.example",
    ],
)
async def test_a_stranger_who_is_called_like_a_machine_is_not_answered(post: Post, address: str) -> None:
    """Intake should not have let such a mail get this far. A member may be called so: they asked for help."""
    stranger, member = await post.mail_comes(address), await post.mail_comes(address)
    await post.backend.outbox.owe(Letter(stranger.id, LetterKind.REFUSED, stranger.id, NotAMember()))
    await post.owe_help(member)
    async with post.sending():
        await post.until("abandoned")
        await post.until("sent")
    assert len(post.delivered()) == 1


@pytest.mark.parametrize("address", ["edit@webordinary.example", "edit+6f1e.abc@webordinary.example"])
async def test_we_never_answer_ourselves(post: Post, address: str) -> None:
    """Intake should not have let such a mail get this far; if it did, the loop ends here."""
    await post.owe_help(await post.mail_comes(address))
    async with post.sending():
        await post.until("abandoned")
    assert post.delivered() == []


async def test_whose_mail_was_set_aside_is_told(post: Post) -> None:
    mail = await post.mail_comes(state=MailState.IGNORED)
    await post.backend.outbox.owe(Letter("set aside amelia 17", LetterKind.SET_ASIDE, mail.id))
    async with post.sending():
        await post.until("sent")
    assert "I set your mail aside." in post.delivered()[0].text


async def test_nobody_is_told_that_a_mail_was_set_aside_that_was_taken_up_since(post: Post) -> None:
    """A mail to a list and to us comes twice."""
    mail = await post.mail_comes(state=MailState.ACCEPTED)
    await post.backend.outbox.owe(Letter("set aside amelia 17", LetterKind.SET_ASIDE, mail.id))
    async with post.sending():
        await post.until("abandoned: the mail was taken up after all")


@pytest.mark.parametrize("state", [MailState.IGNORED, MailState.QUARANTINED])
async def test_automatic_and_doubtful_mail_is_never_answered(post: Post, state: MailState) -> None:
    await post.owe_help(await post.mail_comes(state=state))
    async with post.sending():
        await post.until("abandoned")


async def test_whose_mail_is_doubted_is_asked_whether_they_wrote_it(post: Post) -> None:
    mail = await post.mail_comes(state=MailState.QUARANTINED)
    question = Question(f"confirm-{mail.id}")
    await post.backend.outbox.owe(Letter(mail.id, LetterKind.CONFIRM, mail.id, question))
    async with post.sending():
        await post.until("sent")


async def test_a_letter_of_our_own_that_comes_back_is_not_answered(post: Post) -> None:
    record = await post.mail_comes()
    own = message_id_of(Letter("a", LetterKind.DONE), OURS.domain)
    await post.backend.mailbox.update(replace(record, message_id=own))
    await post.owe_help(record)
    async with post.sending():
        await post.until("abandoned: it would answer a letter of our own")


async def test_people_whose_address_only_looks_like_a_machine_are_answered(post: Post) -> None:
    for name in ("norbert", "bouncer", "editor", "noreen", "postman", "autor"):
        await post.owe_help(await post.mail_comes(f"{name}@webordinary.example"))
    async with post.sending():
        await post.until("sent", 6)


async def test_a_job_that_has_ended_is_not_said_to_be_accepted(post: Post) -> None:
    """Two mails in the same second, the first of them out of date, help nobody."""
    await post.job_for(await post.mail_comes())
    await post.job_ends(Failed("There is no such page.", kind=FailureKind.DECLINED))
    post.clock.advance(Limits().acknowledge_seconds)
    async with post.sending():
        await post.until("sent")
        await post.until("abandoned: the request has ended already")
    (failed,) = post.delivered()
    assert "There is no such page." in failed.text


# --- several senders ----------------------------------------------------------------------------------


async def test_several_senders_send_each_letter_once(post: Post) -> None:
    for number in range(60):
        await post.owe_help(await post.mail_comes(f"a{number}@flowers.example"))
    async with smtp_server() as inbox:
        office = post.office(relay(inbox))
        async with post.sending(office, "s1"), post.sending(office, "s2"), post.sending(office, "s3"):
            await post.until("sent", 60)
    recipients = [recipient for recipient, _ in inbox.taken]
    assert len(recipients) == len(set(recipients)) == 60


async def test_a_sender_that_was_paused_past_its_hold_sends_nothing(post: Post) -> None:
    """Somebody else may have the letter by then."""
    await post.owe_help(await post.mail_comes())
    paused = _PausedAfterTaking()
    async with post.sending(replace(post.office(), clock=paused)):
        await until(lambda: paused.asked >= 2)
    assert list((await post.standing()).values()) == ["with s1"]
    assert post.delivered() == []
    post.clock.advance(QUICK.hold_seconds)
    async with post.sending(name="s2"):
        await post.until("sent")
    assert len(post.delivered()) == 1


class _PausedAfterTaking(ManualClock):
    """The clock of a process that stood still after it had noted how long its hold lasts."""

    asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        return super().monotonic() + (QUICK.hold_seconds if self.asked > 1 else 0)


async def test_a_hold_counts_from_before_the_letters_were_asked_for(post: Post) -> None:
    """An answer that was long under way brings letters that somebody else may have by now."""
    await post.owe_help(await post.mail_comes())
    clock = _LateClock()
    async with post.sending(
        replace(post.office(), clock=clock, outbox=_LateOutbox(post.backend.outbox, clock))
    ):
        async with asyncio.timeout(10):
            while clock.asked_late < 2:  # it looked how long its hold still lasts, and asked for more
                await asyncio.sleep(0.01)
    assert list((await post.standing()).values()) == ["with s1"]
    assert post.delivered() == []


class _LateClock(ManualClock):
    late, asked_late = 0.0, 0

    def monotonic(self) -> float:
        self.asked_late += self.late > 0
        return super().monotonic() + self.late


class _LateOutbox:
    """Gives letters at once; its answer is under way for as long as the hold lasts."""

    def __init__(self, outbox: Outbox, clock: _LateClock) -> None:
        self._outbox, self._clock = outbox, clock

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - all its other verbs
        return getattr(self._outbox, verb)

    async def take(self, sender: str, *, limit: int, hold: float, wait: float) -> list[Letter]:
        letters = await self._outbox.take(sender, limit=limit, hold=hold, wait=wait)
        if letters:
            self._clock.late += QUICK.hold_seconds
        return letters


# --- stopping -----------------------------------------------------------------------------------------


async def test_a_sender_stops_when_there_is_nothing_to_do(post: Post) -> None:
    async with post.sending():
        await asyncio.sleep(2 * QUICK.poll_seconds)


async def test_a_letter_in_hand_is_finished_before_the_sender_stops(post: Post, tmp_path: Path) -> None:
    letters = [await post.owe_help(await post.mail_comes()) for _ in range(8)]
    async with post.sending():
        async with asyncio.timeout(HANG_SECONDS):
            while not any(how.startswith(("with", "sent")) for how in (await post.standing()).values()):
                await asyncio.sleep(0)
    assert list((await post.standing()).values()).count("with s1") == 0
    assert len(post.delivered()) == len(letters)


async def test_a_letter_that_hangs_does_not_keep_the_sender_from_stopping(post: Post) -> None:
    await post.owe_help(await post.mail_comes("slow@flowers.example"))
    async with (
        smtp_server() as inbox,
        post.sending(post.office(relay(inbox), replace(QUICK, stop_seconds=0.1))),
    ):
        await post.until("with s1")
    assert "with s1" in (await post.standing()).values()  # whoever is given it next sends it
