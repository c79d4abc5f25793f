"""Admission: a mail and all that follows from it, in one step that may be repeated."""

import asyncio
from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, BRAVO, START, World
from webordinary.core.job import Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import Letter, LetterKind, MailId, MailRecord, MailState, SessionId
from webordinary.core.site import Session
from webordinary.ports.admissions import Admission
from webordinary.ports.quotas import Bucket

SENDER = Bucket("sender scott@example.org", burst=1, per_hour=60)
SPRING = Session(SessionId("spring"), AMELIA, "Spring sale", START)
HELP = Letter("m1", LetterKind.HELP, MailId("m1"))


def record(name: str = "m1", state: MailState = MailState.ACCEPTED) -> MailRecord:
    return MailRecord(
        id=MailId(name),
        message_id=f"<{name}@example.org>",
        state=state,
        reason="",
        from_address="scott@example.org",
        subject="Spring sale",
        references=(),
        received_at=START,
        blob="ab" * 32,
        lane=AMELIA,
        session=SPRING.id,
    )


def queued(name: str = "m1", job: str = "j1", lane: Lane = AMELIA) -> Job:
    return Job(JobId(job), lane, "Change the title", MailId(name), wants_reply=True, session=SPRING.id)


def accepted(name: str = "m1", job: str = "j1") -> Admission:
    """A mail that begins a conversation and becomes a job."""
    return Admission(record(name), buckets=(SENDER,), session=SPRING, job=queued(name, job))


def answered(state: MailState = MailState.ANSWERED) -> Admission:
    return Admission(record(state=state), letters=(HELP,))


async def letters(world: World) -> list[tuple[str, LetterKind]]:
    return [(letter.about, letter.kind) for letter, _ in await world.backend.outbox.letters(limit=9)]


async def jobs(world: World) -> list[JobId]:
    return [job.id for job in await world.backend.ledger.jobs(limit=9)]


async def test_a_mail_leaves_its_record_conversation_job_and_letters(world: World) -> None:
    kept = await world.backend.admissions.admit(accepted())
    assert kept == replace(record(), job=JobId("j1"))
    assert await world.backend.mailbox.mail(MailId("m1")) == kept
    assert await world.backend.mailbox.thread(["<m1@example.org>"]) == SPRING
    assert await jobs(world) == ["j1"]
    assert await letters(world) == [("j1", LetterKind.ACCEPTED)]


@pytest.mark.parametrize("raw", [b"From: a@example.org\r\n\r\nHi\xff", b"", b"x" * 200_000])
async def test_its_bytes_are_kept_as_they_came(world: World, raw: bytes) -> None:
    """Also where nobody could read them."""
    came = Admission(replace(record(state=MailState.QUARANTINED), blob=""), raw)
    for _ in range(2):
        kept = await world.backend.admissions.admit(came)
        assert isinstance(kept, MailRecord)
        assert await world.backend.blobs.get(kept.blob) == raw
    assert await world.backend.mailbox.mail(MailId("m1")) == kept


async def test_a_known_mail_with_other_bytes_keeps_its_own(world: World) -> None:
    """Message-IDs can be copied."""
    came = replace(accepted(), record=replace(record(), blob=""), raw=b"first")
    kept = await world.backend.admissions.admit(came)
    assert await world.backend.admissions.admit(replace(came, raw=b"second")) == kept
    assert isinstance(kept, MailRecord)
    assert await world.backend.blobs.get(kept.blob) == b"first"


async def test_its_lane_is_claimed_by_whoever_waits(world: World) -> None:
    await world.backend.admissions.admit(accepted())
    assert [claim.lane for claim in (await world.claim()).claims] == [AMELIA]


async def test_the_same_mail_again_leaves_nothing_more(world: World) -> None:
    """It is delivered again after every crash before the 250, and the quota is paid once."""
    first = await world.backend.admissions.admit(accepted())
    assert await world.backend.admissions.admit(accepted(job="j2")) == first
    assert await jobs(world) == ["j1"]
    assert await letters(world) == [("j1", LetterKind.ACCEPTED)]


async def test_copies_at_the_same_moment_are_one(world: World) -> None:
    copies = [accepted(job=f"j{number}") for number in range(6)]
    kept = await asyncio.gather(*(world.backend.admissions.admit(copy) for copy in copies))
    assert len(await jobs(world)) == len(await letters(world)) == 1
    assert [one for one in kept if one != kept[0]] == []


async def test_an_empty_bucket_leaves_nothing_at_all(world: World) -> None:
    await world.backend.admissions.admit(accepted())
    assert await world.backend.admissions.admit(accepted("m2", "j2")) == SENDER
    assert await world.backend.mailbox.mail(MailId("m2")) is None
    assert await jobs(world) == ["j1"]
    world.clock.advance(60)
    kept = await world.backend.admissions.admit(accepted("m2", "j2"))
    assert isinstance(kept, MailRecord)
    assert kept.job == "j2"


@pytest.mark.parametrize(
    "state", [MailState.QUARANTINED, MailState.REFUSED, MailState.ANSWERED, MailState.UNREADABLE]
)
async def test_what_was_not_carried_out_before_may_be_now(world: World, state: MailState) -> None:
    """A doubted mail is confirmed, an unclear one is answered, a quota fills up again."""
    early = replace(record(state=state), received_at=START - 5, lane=None, session=None)
    await world.backend.admissions.admit(Admission(early))
    kept = await world.backend.admissions.admit(accepted())
    assert kept == replace(record(), received_at=START - 5, job=JobId("j1"))
    assert await world.backend.mailbox.mail(MailId("m1")) == kept


async def test_what_was_believed_is_never_doubted_again(world: World) -> None:
    """Else a forged copy could take an honest mail back, or have its sender asked about it."""
    first = await world.backend.admissions.admit(accepted())
    assert await world.backend.admissions.admit(answered(MailState.QUARANTINED)) == first
    assert await world.backend.admissions.admit(answered()) == first
    assert await letters(world) == [("j1", LetterKind.ACCEPTED)]


async def test_a_letter_is_owed_once(world: World) -> None:
    for _ in range(2):
        kept = await world.backend.admissions.admit(answered())
        assert kept == record(state=MailState.ANSWERED)
    assert await letters(world) == [("m1", LetterKind.HELP)]


async def test_a_mail_whose_job_is_queued_already_gets_that_one(world: World) -> None:
    """Where the steps are not one transaction, a crash may have cut them short after any of them."""
    await world.backend.mailbox.keep(record())
    await world.backend.broker.submit(queued(job="j0"))
    kept = await world.backend.admissions.admit(accepted(job="j1"))
    assert isinstance(kept, MailRecord)
    assert kept.job == "j0"
    assert await jobs(world) == ["j0"]


async def test_a_mail_that_moved_to_another_lane_stays_one_job(world: World) -> None:
    """Its sender's membership may change between two deliveries of the same mail."""
    await world.backend.admissions.admit(accepted())
    moved = replace(accepted(), record=replace(record(), lane=BRAVO), job=queued(job="j2", lane=BRAVO))
    kept = await world.backend.admissions.admit(moved)
    assert isinstance(kept, MailRecord)
    assert (kept.lane, kept.job) == (AMELIA, "j1")
    assert await jobs(world) == ["j1"]
