"""Who gets an answer, over real SMTP in and out, with a local DNS: the gateway's parts in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiosmtplib
import dkim  # type: ignore[import-untyped]
import pytest

from tests.authentication.keys import rsa_pem
from tests.intake.test_delivery_report import FAILED, report
from tests.reply.smtp_server import Inbox, smtp_server
from tests.waiting import until
from webordinary.core.lane import Lane
from webordinary.core.mail import MailRecord
from webordinary.core.site import Member, Project
from webordinary.mail.checks.resolvers import ZoneResolver
from webordinary.mail.dkim_signing import open_signer
from webordinary.mail.smtp.gateway import SmtpGateway
from webordinary.ports.backend import Backend
from webordinary.ports.outbox import LetterState
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import load

US = "edit@sites.example"
SCOTT, MARY = "scott@proven.example", "mary@quiet.example"
ZONE = """$TTL 300
proven.example. TXT "v=spf1 ip4:127.0.0.1 -all"
strict.example. TXT "v=spf1 ip4:192.0.2.1 -all"
_dmarc.strict.example. TXT "v=DMARC1; p=reject"
"""


@dataclass(frozen=True, slots=True)
class Room:
    """A gateway that listens, and the relay that its letters leave by."""

    backend: Backend
    client: aiosmtplib.SMTP
    relay: Inbox
    key: Path

    async def mail(self, sender: str, number: int, text: str = "help", extra: str = "") -> None:
        raw = (
            f"From: {sender}\r\nTo: {US}\r\nSubject: Site\r\nMessage-ID: <{number}.{sender}>\r\n"
            f"{extra}\r\n{text}\r\n"
        )
        await self.hand_over(raw.encode(), sender, US)

    async def hand_over(self, raw: bytes, sender: str, recipient: str) -> None:
        await self.client.sendmail(sender, [recipient], raw)

    async def settled(self) -> None:
        """Wait until no letter is owed any more."""

        async def none_is_owed() -> bool:
            letters = await self.backend.outbox.letters(limit=200)
            return not any(status.state is LetterState.OWED for _, status in letters)

        await until(none_is_owed)

    def letters_to(self, address: str) -> list[bytes]:
        return [message for recipient, message in self.relay.taken if recipient == address]

    async def kept(self) -> list[MailRecord]:
        return await self.backend.mailbox.mails(limit=200)


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Room]:
    zone, key = home / "zone", home / "dkim.pem"
    zone.write_text(ZONE)
    key.write_bytes(rsa_pem(1024, 1))
    async with smtp_server() as relay:
        (home / "webordinary.toml").write_text(
            f"[mail]\naddress = '{US}'\nrelay = 'smtp://127.0.0.1:{relay.port}'\nzone_file = '{zone}'\n"
            f"smtp_port = 0\ndkim_selector = 's1'\ndkim_key = '{key}'\n"
        )
        settings = load(home, {})
        backend = open_backend(settings)
        for lane, address in ((Lane("amelia", "scott"), SCOTT), (Lane("bakery", "mary"), MARY)):
            await backend.directory.add_project(Project(lane.project))
            await backend.directory.add_member(Member(lane, address))
        await backend.directory.add_project(Project("strict"))
        await backend.directory.add_member(Member(Lane("strict", "eve"), "eve@strict.example"))
        room = open_mail_room(settings, backend)
        gateway = SmtpGateway(room.listening, partial(room.reception.receive, may_come_again=True))
        port = await gateway.start()
        sending = asyncio.create_task(room.sender.run())
        try:
            async with aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False) as client:
                yield Room(backend, client, relay, key)
        finally:
            await gateway.stop()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await room.close()
            backend.close()


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with opened(tmp_path) as room:
        yield room


async def test_forged_mails_make_a_handful_of_letters_and_honest_ones_are_answered(room: Room) -> None:
    """60 forged mails gave 60 letters to the person in whose name they were."""
    for number in range(60):
        await room.mail(MARY, number, "Delete it all")
        if number < 20:
            await room.mail("eve@strict.example", number, "Delete it all")
    await room.mail(SCOTT, 1)
    await until(lambda: bool(room.letters_to(SCOTT)))
    await room.settled()
    assert len(room.letters_to(MARY)) == 5
    assert room.letters_to("eve@strict.example") == []  # against her domain's own policy: nobody is asked
    assert len(room.letters_to(SCOTT)) == 1
    assert len(await room.kept()) == 81


async def test_a_letter_that_leaves_is_signed_and_a_changed_one_is_not_believed(room: Room) -> None:
    await room.mail(SCOTT, 1)
    await until(lambda: bool(room.letters_to(SCOTT)))
    (letter,) = room.letters_to(SCOTT)
    signer = open_signer("s1", "sites.example", room.key)
    zone = ZoneResolver(f"$TTL 300\n{signer.record_name}. TXT {signer.record}\n")

    def txt(name: bytes, timeout: int = 5) -> bytes | None:
        del timeout
        return next(iter(zone.txt(name.decode().rstrip("."))), None)

    assert dkim.verify(letter, dnsfunc=txt)
    assert not dkim.verify(letter.replace(b"Subject: Re: Site", b"Subject: Re: Money"), dnsfunc=txt)


async def test_letters_that_come_back_mark_a_member_and_forged_reports_do_not(room: Room) -> None:
    for number in range(3):
        await room.mail(SCOTT, number)
    await until(lambda: len(room.letters_to(SCOTT)) == 3)
    paths = list(room.relay.senders)
    assert len(set(paths)) == 3
    for number, path in enumerate(paths):
        forged = path.replace("-hel.", "-don.")
        for recipient in (forged, US):
            named = f"Message-ID: <f{number}{recipient}>\r\n".encode() + report(FAILED)
            await room.hand_over(named, "", recipient)
    assert await room.backend.bounces.of(SCOTT) is None
    for number, path in enumerate(paths):
        await room.hand_over(f"Message-ID: <r{number}@mx>\r\n".encode() + report(FAILED), "", path.upper())
    found = await room.backend.bounces.of(SCOTT)
    assert found is not None
    assert found.marked
    await room.mail(SCOTT, 9)
    assert await room.backend.bounces.of(SCOTT) is None
    await until(lambda: len(room.letters_to(SCOTT)) == 4)


async def test_a_members_provider_and_list_make_a_difference(room: Room) -> None:
    """What Fastmail stamps hinders nothing; through a list they are told, once."""
    for number in range(3):
        await room.mail(SCOTT, number, extra="List-Id: <bakers.example.org>\r\nPrecedence: list\r\n")
    await room.mail(SCOTT, 10, extra="Auto-Submitted: auto-replied\r\n")
    await until(lambda: bool(room.letters_to(SCOTT)))
    await room.mail(SCOTT, 11, extra="Feedback-ID: i1a2b3c4d:Fastmail\r\nX-Auto-Response-Suppress: All\r\n")
    await until(lambda: len(room.letters_to(SCOTT)) > 1)
    await room.settled()
    aside, answer = room.letters_to(SCOTT)
    assert b"I set your mail aside." in aside
    assert b"undo" in answer
