"""The mailbox: what came in, once each, and which conversation it belongs to."""

import asyncio
from dataclasses import replace

import pytest

from tests.conformance.world import AMELIA, BRAVO, START, World
from webordinary.core.errors import NotFound
from webordinary.core.job import JobId
from webordinary.core.language import Language
from webordinary.core.mail import FileProblem, KeptFile, MailId, MailRecord, MailState, SessionId, SkippedFile
from webordinary.core.site import Session
from webordinary.ports.mailbox import Mailbox

SPRING = Session(SessionId("spring"), AMELIA, "Spring sale", START)
AUTUMN = Session(SessionId("autumn"), BRAVO, "Autumn leaves", START + 1)


@pytest.fixture
def mailbox(world: World) -> Mailbox:
    return world.backend.mailbox


def record(
    name: str = "m1",
    state: MailState = MailState.ACCEPTED,
    *,
    session: Session | None = None,
    message_id: str | None = None,
) -> MailRecord:
    """A mail that came in."""
    return MailRecord(
        id=MailId(name),
        message_id=f"<{name}@example.org>" if message_id is None else message_id,
        state=state,
        reason="",
        from_address="scott@example.org",
        subject="Spring sale",
        references=(),
        received_at=START,
        blob="",
        session=session.id if session else None,
    )


# --- mails ------------------------------------------------------------------------------------------


async def test_a_mail_is_kept_to_the_last_character(mailbox: Mailbox) -> None:
    full = MailRecord(
        id=MailId("m1"),
        message_id="<Ä'\"@example.org>",
        state=MailState.QUARANTINED,
        reason="no signature; DROP TABLE mails",
        from_address="scott@example.org",
        subject="Frühling 🌷\n\tzweite Zeile",
        references=("<a@x>", "<b@y>"),
        received_at=START + 0.25,
        blob="ab" * 32,
        lane=AMELIA,
        session=SPRING.id,
        job=JobId("j1"),
        files=(KeptFile("photo.jpg", "image/jpeg", "cd" * 32, "Our shop, ünder.JPG"),),
        skipped=(SkippedFile("böse.exe", FileProblem.PROGRAM),),
        language=Language.SPANISH,
    )
    assert await mailbox.keep(full) == full
    assert await mailbox.mail(full.id) == full
    assert await mailbox.mails(limit=10) == [full]


async def test_a_mail_with_characters_that_no_store_could_keep_is_kept(mailbox: Mailbox) -> None:
    """Mail is hostile. One that can't be kept is delivered again and again."""
    dirty = replace(
        record(message_id="<\ud800@x>", session=SPRING),
        subject="a\x00b\ud800c",
        references=("<\udcff@x>",),
        skipped=(SkippedFile("\x00\ud800", FileProblem.OTHER),),
    )
    kept = await mailbox.keep(dirty)
    assert await mailbox.mail(dirty.id) == kept == dirty
    assert kept.subject == "a?b?c"


@pytest.mark.parametrize("name", ["nobody", "", "a\x00b", "a\ud800b"])
async def test_what_never_came_is_not_there(mailbox: Mailbox, name: str) -> None:
    assert await mailbox.mail(MailId(name)) is None
    assert await mailbox.session(SessionId(name)) is None
    assert await mailbox.thread([name]) is None


async def test_a_mail_that_is_delivered_again_is_known(mailbox: Mailbox) -> None:
    """What became of it the first time stands; the second copy changes nothing."""
    first = await mailbox.keep(record())
    again = replace(first, state=MailState.REFUSED, reason="changed my mind", received_at=START + 5)
    assert await mailbox.keep(again) == first
    assert await mailbox.mails(limit=10) == [first]


async def test_of_many_copies_at_once_one_is_kept(mailbox: Mailbox) -> None:
    """Two gateways may take in the same mail at the same moment."""
    copies = [replace(record(), received_at=START + number) for number in range(8)]
    kept = await asyncio.gather(*(mailbox.keep(copy) for copy in copies))
    assert len(set(kept)) == 1
    assert await mailbox.mails(limit=10) == [kept[0]]


async def test_a_mail_is_updated_in_its_place(mailbox: Mailbox) -> None:
    first = await mailbox.keep(record("m1", MailState.QUARANTINED))
    second = await mailbox.keep(record("m2"))
    believed = replace(first, state=MailState.ACCEPTED, lane=AMELIA, job=JobId("j1"), subject="new")
    for _ in range(2):
        await mailbox.update(believed)
    assert await mailbox.mails(limit=10) == [second, believed]


async def test_a_mail_that_is_not_there_cannot_be_updated(mailbox: Mailbox) -> None:
    with pytest.raises(NotFound, match="m1"):
        await mailbox.update(record())
    assert await mailbox.mails(limit=10) == []


async def test_mails_come_newest_first_in_pages(mailbox: Mailbox) -> None:
    kept = [await mailbox.keep(record(f"m{number}")) for number in (3, 1, 2, 5, 4)]
    paged: list[MailRecord] = []
    while page := await mailbox.mails(limit=2, before=paged[-1].id if paged else None):
        paged += page
    assert paged == kept[::-1]


async def test_mails_can_be_listed_by_what_became_of_them(mailbox: Mailbox) -> None:
    """The operator looks at the quarantine, not at everything."""
    states = [MailState.QUARANTINED, MailState.ACCEPTED, MailState.QUARANTINED, MailState.IGNORED]
    kept = [await mailbox.keep(record(f"m{number}", state)) for number, state in enumerate(states)]
    assert await mailbox.mails(limit=10, state=MailState.QUARANTINED) == [kept[2], kept[0]]
    assert await mailbox.mails(limit=1, state=MailState.QUARANTINED, before=kept[3].id) == [kept[2]]
    assert await mailbox.mails(limit=10, state=MailState.QUARANTINED, before=kept[2].id) == [kept[0]]
    assert await mailbox.mails(limit=10, state=MailState.REFUSED) == []


async def test_a_page_before_a_mail_that_is_not_there_is_refused(mailbox: Mailbox) -> None:
    await mailbox.keep(record())
    with pytest.raises(NotFound, match="nobody"):
        await mailbox.mails(limit=10, before=MailId("nobody"))


# --- conversations ----------------------------------------------------------------------------------


async def test_a_conversation_begins_once(mailbox: Mailbox) -> None:
    """A mail that is delivered again after a crash must not begin a second one."""
    assert await mailbox.begin(SPRING) == SPRING
    assert await mailbox.begin(replace(SPRING, subject="another", lane=BRAVO)) == SPRING
    assert await mailbox.session(SPRING.id) == SPRING


async def test_a_mail_is_part_of_its_conversations_thread(mailbox: Mailbox) -> None:
    await mailbox.begin(SPRING)
    kept = await mailbox.keep(record(session=SPRING))
    assert await mailbox.thread([kept.message_id]) == SPRING


async def test_a_mail_without_a_conversation_is_in_no_thread(mailbox: Mailbox) -> None:
    kept = await mailbox.keep(record())
    assert await mailbox.thread([kept.message_id]) is None


async def test_a_mail_that_gets_its_conversation_later_is_in_its_thread_then(mailbox: Mailbox) -> None:
    """One that was doubted at first and believed later must be answerable all the same."""
    kept = await mailbox.keep(record(state=MailState.QUARANTINED))
    await mailbox.begin(SPRING)
    await mailbox.update(replace(kept, state=MailState.ACCEPTED, session=SPRING.id))
    assert await mailbox.thread([kept.message_id]) == SPRING


async def test_what_we_sent_is_part_of_the_thread(mailbox: Mailbox) -> None:
    await mailbox.begin(SPRING)
    for _ in range(2):
        await mailbox.remember(SPRING.id, "<ours@us>")
    assert await mailbox.thread(["<unknown@x>", "<ours@us>"]) == SPRING


async def test_the_last_known_id_decides(mailbox: Mailbox) -> None:
    """References grow at their end: the mail that is really answered is the last one."""
    for session in (SPRING, AUTUMN):
        await mailbox.begin(session)
        await mailbox.remember(session.id, f"<{session.id}@us>")
    assert await mailbox.thread(["<spring@us>", "<autumn@us>", "<unknown@x>", "\ud800"]) == AUTUMN
    assert await mailbox.thread(["<autumn@us>", "<spring@us>"]) == SPRING
    assert await mailbox.thread([]) is None


async def test_an_id_that_leads_to_no_conversation_yet_is_passed_over(mailbox: Mailbox) -> None:
    await mailbox.begin(SPRING)
    await mailbox.remember(SPRING.id, "<spring@us>")
    await mailbox.remember(AUTUMN.id, "<autumn@us>")
    assert await mailbox.thread(["<spring@us>", "<autumn@us>"]) == SPRING
    await mailbox.begin(AUTUMN)
    assert await mailbox.thread(["<spring@us>", "<autumn@us>"]) == AUTUMN


async def test_nobody_can_carry_a_message_id_into_another_conversation(mailbox: Mailbox) -> None:
    """A stranger may send a mail with any Message-ID, also with one of ours or of somebody else's mail."""
    for session in (SPRING, AUTUMN):
        await mailbox.begin(session)
    await mailbox.keep(record("m1", session=SPRING, message_id="<theirs@x>"))
    await mailbox.remember(SPRING.id, "<ours@us>")
    for number, message_id in enumerate(("<theirs@x>", "<ours@us>")):
        thief = record(f"thief{number}", session=AUTUMN, message_id=message_id)
        await mailbox.keep(thief)
        await mailbox.update(thief)
        assert await mailbox.thread([message_id]) == SPRING


async def test_an_id_of_ours_is_ours_whoever_used_it_first(mailbox: Mailbox) -> None:
    for session in (SPRING, AUTUMN):
        await mailbox.begin(session)
    await mailbox.keep(record("squatter", session=AUTUMN, message_id="<ours@us>"))
    await mailbox.remember(SPRING.id, "<ours@us>")
    assert await mailbox.thread(["<ours@us>"]) == SPRING


async def test_mails_without_a_message_id_are_in_no_thread(mailbox: Mailbox) -> None:
    """All of them together would be one thread."""
    await mailbox.begin(SPRING)
    await mailbox.keep(record(session=SPRING, message_id=""))
    assert await mailbox.thread([""]) is None
