"""Mail to whoever answers for this server (RFC 5321, 4.5.1): kept for the operator, and no job."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.door import SCOTT, Door, door
from tests.smtp.line import Gate, Received
from webordinary.core.errors import BadInput
from webordinary.core.mail import MailState
from webordinary.mail.smtp.gateway import SmtpGateway, SmtpListener
from webordinary.wiring.settings import read

__all__ = ["door"]

MAIL = f"From: {SCOTT}\r\nSubject: Abuse\r\nMessage-ID: <1@example.com>\r\n\r\nChange the title\r\n".encode()


@pytest.fixture
async def gate(door: Door) -> AsyncIterator[Gate]:
    await door.onboard("amelia/scott", SCOTT)
    gateway = SmtpGateway(SmtpListener(port=0), door.reception.receive)
    yield Gate(gateway, await gateway.start(), Received())
    await gateway.stop()


async def send(gate: Gate, *recipients: str) -> list[str]:
    """Hand the mail over; say what was answered to each recipient."""
    async with gate.greeted() as line:
        await line.ask(b"EHLO me")
        await line.ask(b"MAIL FROM:<scott@example.com>")
        answers = [(await line.ask(f"RCPT TO:<{one}>".encode()))[:3] for one in recipients]
        if "250" in answers:
            await line.ask(b"DATA")
            await line.send(MAIL + b".\r\n")
            assert (await line.hear()).startswith("250 ")
    return answers


@pytest.mark.parametrize("recipient", ["postmaster@localhost", "Postmaster", "POSTMASTER@LocalHost"])
async def test_the_postmaster_has_a_mailbox_here(gate: Gate, door: Door, recipient: str) -> None:
    """Even a member's mail to it is no instruction, and nobody is answered."""
    assert await send(gate, recipient) == ["250"]
    (record,) = await door.backend.mailbox.mails(limit=5, state=MailState.QUARANTINED)
    assert (record.subject, record.reason) == ("Abuse", "it is for the postmaster")
    assert await door.backend.blobs.get(record.blob) == MAIL
    assert await door.jobs() == []
    assert await door.letters() == []


async def test_nobody_elses_postmaster_lives_here(gate: Gate) -> None:
    assert await send(gate, "postmaster@elsewhere.example", "abuse@localhost", "edit") == ["550"] * 3


@pytest.mark.parametrize(
    "deliveries",
    [
        [("postmaster@localhost", "edit@localhost")],
        [("postmaster@localhost",), ("edit@localhost",)],
        [("edit@localhost",), ("postmaster@localhost",)],
    ],
)
async def test_a_mail_that_is_for_us_as_well_is_carried_out_once(
    gate: Gate, door: Door, deliveries: list[tuple[str, ...]]
) -> None:
    """A server may hand it over for all of its recipients at once, or for one after the other."""
    for recipients in deliveries:
        assert set(await send(gate, *recipients)) == {"250"}
    (record,) = await door.backend.mailbox.mails(limit=5)
    assert record.state is MailState.ACCEPTED
    assert await door.jobs() == [("amelia/scott", "Change the title")]


def test_instructions_can_not_go_to_the_postmaster() -> None:
    with pytest.raises(BadInput, match="postmaster"):
        read(Path(), {"mail": {"address": "Postmaster@example.com"}}, {})
