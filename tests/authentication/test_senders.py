"""Members who write from a tagged address or with an unusual From, through a real SMTP conversation."""

import pytest

from tests.authentication.cases_replay import EVE
from tests.authentication.smtp_server import OWNERS_SERVER, Server
from tests.authentication.world import BODY, OWNER, US, letter
from tests.flows.door import KEY
from webordinary.core.mail import LetterKind, MailState, SessionId
from webordinary.core.signed_addresses import session_address, shortened_id
from webordinary.flows.receive import CONFIRMATION

TAGGED = "owner+shop@victim.example"


async def test_a_member_may_write_from_a_tagged_address(server: Server) -> None:
    record = await server.send(letter(TAGGED), TAGGED, OWNERS_SERVER)
    assert record.state is MailState.ACCEPTED, record.reason
    assert record.from_address == TAGGED  # where the answer goes


@pytest.mark.parametrize(
    "address", ["other+owner@victim.example", "+owner@victim.example", "own+er@victim.example"]
)
async def test_a_tag_makes_nobody_else_a_member(server: Server, address: str) -> None:
    record = await server.send(letter(address), address, OWNERS_SERVER)
    assert record.state is MailState.REFUSED, record


async def test_a_tagged_address_of_another_domain_is_not_the_members(server: Server) -> None:
    """The tag is dropped, the domain never: it is the domain that was shown to be true."""
    record = await server.send(letter("owner+victim@firm.example"), EVE)
    assert record.state is MailState.QUARANTINED
    assert await server.letters() == []


@pytest.mark.parametrize(
    "line",
    [
        b"From: owner@victim.example (The Owner)",
        b"From: [Victim] The Owner <owner@victim.example>",
        b"From: Owner, The <owner@victim.example>",
        b"From: Ow\xf1er <owner@victim.example>",
        b"From: The Owner <owner@victim.example> (away)",
        b"From: owner@victim.example <Owner@victim.example>",
    ],
)
async def test_an_unusual_from_that_can_be_read_in_one_way_is_read(server: Server, line: bytes) -> None:
    record = await server.send(letter(line), OWNER, OWNERS_SERVER)
    assert record.state is MailState.ACCEPTED, record.reason


AMBIGUOUS = [
    b"From: owner@victim.example\r\nFrom: mallory@evil.example",
    b"From: owner@victim.example, mallory@evil.example",
    b"From: mallory@evil.example <owner@victim.example>",
    b"From: Team: owner@victim.example;",
    b"From: owner@victim.example.",
]


@pytest.mark.parametrize("line", AMBIGUOUS)
async def test_an_ambiguous_from_is_asked_about_and_carried_out_on_a_yes(server: Server, line: bytes) -> None:
    """Silence is what an honest member with an odd mail program got."""
    record = await server.send(letter(line), OWNER, OWNERS_SERVER)
    assert (record.state, record.from_address) == (MailState.QUARANTINED, OWNER)
    assert await server.letters() == [LetterKind.CONFIRM]
    assert await server.jobs() == []
    confirming = session_address(SessionId(f"{CONFIRMATION}{shortened_id(record.id)}"), KEY, US)
    yes = letter(OWNER, body="yes\r\n", Message_ID="<yes@victim.example>")
    await server.send(yes, OWNER, OWNERS_SERVER, to=(confirming,))
    assert await server.jobs() == [BODY.replace("\r\n", "\n").strip()]


async def test_a_member_whose_domain_is_written_in_its_own_letters_is_asked(server: Server) -> None:
    """Their address is on file in ASCII; servers that need no ASCII any more leave it as it was typed."""
    await server.add_member("owner@xn--mller-kva.example")
    await server.send(letter("From: owner@müller.example".encode()), EVE)
    assert await server.letters() == [LetterKind.CONFIRM]


@pytest.mark.parametrize(
    "line",
    [
        b"From: somebody@firm.example, mallory@evil.example",
        b"From: owner@victim.example, partner@victim.example",
        b"From: undisclosed",
    ],
)
async def test_nobody_is_asked_unless_exactly_one_member_is_in_question(server: Server, line: bytes) -> None:
    await server.add_member("partner@victim.example")
    record = await server.send(letter(line), OWNER, OWNERS_SERVER)
    assert record.state is MailState.QUARANTINED
    assert await server.letters() == []
