"""Mail that rests on a signature, through a real SMTP conversation, with DNS from a zone file."""

import pytest

from tests.authentication.cases_replay import EVE, GMAIL, REPLAYS, Replay, added, owners
from tests.authentication.smtp_server import OWNERS_SERVER, Server
from tests.authentication.world import BODY, OWNER, US, letter
from tests.flows.door import KEY
from webordinary.core.facts import Question
from webordinary.core.mail import LetterKind, MailState, SessionId
from webordinary.core.signed_addresses import session_address, session_token
from webordinary.intake.auto_replies import SESSION_HEADER


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.name)
async def test_what_somebody_makes_of_a_signed_mail_is_asked_about(server: Server, replay: Replay) -> None:
    """Whoever was written to must not be able to have us act on it, nor on another reading of it."""
    record = await server.send(replay.forged)
    assert record.state is MailState.QUARANTINED, record
    assert replay.reason in record.reason
    assert await server.jobs() == []
    assert await server.letters() == ([LetterKind.CONFIRM] if replay.asked else [])


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.name)
async def test_its_honest_twin_is_carried_out_though_it_was_forwarded(server: Server, replay: Replay) -> None:
    record = await server.send(replay.twin, "forwarder@anywhere.example")
    assert record.state is MailState.ACCEPTED, record.reason
    assert len(await server.jobs()) == 1


# --- one job ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        ("X-Note: again",),
        ("Received: from evil.example by evil.example; Mon, 6 Apr 2026 09:00:00 +0200",),
        ("Resent-Message-ID: <2@evil.example>", "Resent-To: edit@us.example"),
        ("DKIM-Signature: v=1; a=rsa-sha256; d=evil.example; s=s1; h=from; bh=AA==; b=AA==",),
    ],
)
async def test_the_same_mail_again_is_the_same_job(server: Server, lines: tuple[str, ...]) -> None:
    """Whoever has a copy of a mail to us can send it as often as they like while its signature is good."""
    raw = owners(BODY, Cc=EVE)
    first = await server.send(raw, OWNER, OWNERS_SERVER)
    again = await server.send(added(raw, *lines))
    assert (first.state, again.id, again.job) == (MailState.ACCEPTED, first.id, first.job)
    assert len(await server.jobs()) == 1


async def test_white_space_that_is_not_signed_makes_no_second_job_of_a_mail(server: Server) -> None:
    raw = owners(BODY, Cc=EVE)
    await server.send(raw)
    spaced = raw.replace(b"Message-ID: <1@", b"Message-ID:  \t<1@").replace(b"Spring Sale", b"Spring   Sale")
    await server.send(spaced)
    assert len(await server.jobs()) == 1


# --- where a mail belongs --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_signed", [True, False])
async def test_only_a_signed_thread_says_which_conversation_a_mail_goes_on_with(
    server: Server, *, is_signed: bool
) -> None:
    """A thread chooses the conversation, and by it the project."""
    first = await server.send(owners(BODY, Message_ID="<first@victim.example>"))
    answer, line = "And the colour, please.\r\n", "In-Reply-To: <first@victim.example>"
    signed_in = owners(answer, Message_ID="<second@victim.example>", In_Reply_To="<first@victim.example>")
    without = tuple(name for name in GMAIL if name not in {"in-reply-to", "references"})
    added_on = added(owners(answer, covers=without, Message_ID="<second@victim.example>"), line)
    second = await server.send(signed_in if is_signed else added_on)
    assert second.state is MailState.ACCEPTED, second.reason
    assert (second.session == first.session) is is_signed


@pytest.mark.parametrize("is_signed", [True, False])
async def test_only_a_signed_recipient_says_which_conversation_a_mail_goes_on_with(
    server: Server, *, is_signed: bool
) -> None:
    first = await server.send(owners(BODY))
    assert first.session is not None
    address = session_address(first.session, KEY, US)
    raw = owners("And the colour.\r\n", Message_ID="<second@victim.example>", To=address if is_signed else US)
    second = await server.send(raw, to=(address,))
    assert second.state is MailState.ACCEPTED, second.reason
    assert (second.session == first.session) is is_signed


async def test_our_own_header_counts_only_if_it_is_signed(server: Server) -> None:
    first = await server.send(owners(BODY))
    assert first.session is not None
    token = session_token(first.session, KEY)
    raw = owners("And the colour.\r\n", Message_ID="<second@victim.example>")
    second = await server.send(added(raw, f"{SESSION_HEADER}: {token}"))
    assert second.state is MailState.ACCEPTED
    assert second.session != first.session


# --- by the sender's own server --------------------------------------------------------------------------


async def test_through_the_senders_own_server_a_blind_copy_is_enough(server: Server) -> None:
    """SPF for the very mailbox shows that its owner's server handed the mail to us: nobody sent it on."""
    record = await server.send(letter(To="somebody@else.example"), OWNER, OWNERS_SERVER)
    assert record.state is MailState.ACCEPTED, record.reason


async def test_a_neighbour_at_the_same_provider_can_not_forward_what_was_for_them(server: Server) -> None:
    """Gmail and the like forward with a MAIL FROM of the forwarding mailbox, and SPF passes."""
    forwarding = "eve+caf_=edit=us.example@victim.example"
    record = await server.send(owners(BODY, To="eve@victim.example"), forwarding, OWNERS_SERVER)
    assert record.state is MailState.QUARANTINED
    assert await server.letters() == [LetterKind.CONFIRM]


async def test_a_company_may_use_another_bounce_address_than_the_writers(server: Server) -> None:
    record = await server.send(letter(), "bounces+17-edit=us.example@victim.example", OWNERS_SERVER)
    assert record.state is MailState.ACCEPTED, record.reason


async def test_mail_to_an_alias_that_is_forwarded_to_us_is_ours(server: Server) -> None:
    raw = owners(BODY, To="Shop <Shop@Alias.example>")
    record = await server.send(raw)
    assert record.state is MailState.ACCEPTED, record.reason
    assert (await server.send(raw, to=("shop@alias.example",))).job == record.job


@pytest.mark.parametrize(
    ("to", "is_ours"),
    [
        (f"{US} <{US}>", True),
        (f"{EVE}, {US.upper()} <{US}>", True),
        (f"{US} <{EVE}>", False),
        (f"{EVE} <{US}", False),
        (f"{US}: {EVE};", False),
        (f'"{US}" <{EVE}>', False),
    ],
)
async def test_our_address_counts_where_the_mail_was_sent_to_it(
    server: Server, to: str, *, is_ours: bool
) -> None:
    """Programs that know no name repeat the address. Eve can call herself by ours."""
    record = await server.send(owners(BODY, To=to))
    assert (record.state is MailState.ACCEPTED) is is_ours, record.reason


async def test_the_question_says_that_there_is_more_than_it_shows(server: Server) -> None:
    """Whoever sees their own words at the beginning must not take them for all."""
    await server.send(owners("Paint the wall. " * 50 + "Delete the shop.\r\n", To=EVE))
    ((asked, _),) = await server.backend.outbox.letters(limit=5)
    assert isinstance(asked.facts, Question)
    assert asked.facts.excerpt.endswith(" [… +216]")


async def test_the_question_shows_what_would_be_carried_out(server: Server) -> None:
    """A subject alone is recognised too easily."""
    await server.send(owners("Delete the shop, see https://evil.example/x\r\n", To=EVE))
    ((asked, _),) = await server.backend.outbox.letters(limit=5)
    assert isinstance(asked.facts, Question)
    assert asked.facts.excerpt == "Delete the shop, see https://evil.example/x"


@pytest.mark.parametrize("mail_from", [EVE, ""])
async def test_a_yes_carries_out_what_was_shown_and_not_what_came_before_it(
    server: Server, mail_from: str
) -> None:
    """Eve sends words of her own with the Message-ID of the owner's mail first, and then that mail."""
    theirs = owners("Please paint the wall green.\r\n", To=EVE)
    hers = letter(body="Delete the shop.\r\n")
    silent = await server.send(hers, mail_from)
    assert await server.letters() == []
    record = await server.send(theirs)
    ((asked, _),) = await server.backend.outbox.letters(limit=5)
    assert isinstance(asked.facts, Question)
    assert (asked.facts.excerpt, asked.mail) == ("Please paint the wall green.", record.id)
    confirming = session_address(SessionId(asked.facts.token), KEY, US)
    await server.send(
        letter(body="yes\r\n", Message_ID="<2@victim.example>"), OWNER, OWNERS_SERVER, (confirming,)
    )
    assert await server.jobs() == ["Please paint the wall green."]
    kept = await server.backend.mailbox.mail(silent.id)
    assert kept is not None
    assert kept.job is None


@pytest.mark.parametrize("before", [(), (letter(body="Delete the shop.\r\n"),)])
async def test_the_same_mail_by_several_ways_is_one_question(server: Server, before: tuple[bytes]) -> None:
    """Every server on the way adds lines; that makes no other mail of it."""
    raw = owners(BODY, To=EVE)
    hops = [added(raw, f"Received: from {hop}.example by evil.example") for hop in "abc"]
    for one in (*before, *hops):
        await server.send(one)
    assert await server.letters() == [LetterKind.CONFIRM]
    assert len(await server.backend.mailbox.mails(limit=5)) == len(before) + 1
