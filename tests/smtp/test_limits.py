"""What strangers may take: connections, and room for what they send."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.smtp.line import Gate, Line, listening
from tests.waiting import until
from webordinary.mail.smtp import gateway as smtp_gateway
from webordinary.mail.smtp import spool as smtp_spool
from webordinary.mail.smtp.gateway import SmtpSession, subscriber

ELSE_1, ELSE_2, ELSE_3 = "127.0.0.2", "127.0.0.3", "127.0.0.4"
MB = 1024 * 1024


# --- connections ------------------------------------------------------------------------------------


async def test_one_address_has_a_few_connections_and_is_told_so() -> None:
    async with listening(each=2) as gate, gate.greeted(ELSE_1), gate.greeted(ELSE_1) as second:
        async with gate.line(ELSE_1) as third:
            assert (await third.hear()).startswith("421 4.7.0 Too many connections from your address")
            assert await third.is_over()
        async with gate.greeted(ELSE_2):
            pass
        await second.ask(b"QUIT")
        async with gate.greeted(ELSE_1):
            pass


async def test_hundreds_of_idle_connections_shut_nobody_out() -> None:
    """205 of them from one place did."""
    async with listening() as gate, AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(gate.line(ELSE_1)) for _ in range(205)]
        greetings = [await line.hear() for line in lines]
        assert sum(greeting.startswith("220 ") for greeting in greetings) == 20
        async with gate.greeted(ELSE_2) as line:
            await line.begin()
            await line.send(b"Subject: x\r\n\r\nHi\r\n.\r\n")
            assert (await line.hear()).startswith("250 ")


async def test_those_that_speak_for_many_are_not_counted() -> None:
    async with listening(each=1, is_known=lambda peer: peer == ELSE_1) as gate, AsyncExitStack() as stack:
        for _ in range(5):
            await stack.enter_async_context(gate.greeted(ELSE_1))


async def test_when_there_is_no_room_the_silent_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle connections from many addresses shut nobody out either."""
    monkeypatch.setattr(smtp_gateway, "CONNECTIONS_MAX", 3)
    monkeypatch.setattr(SmtpSession, "patience", 0.0)
    async with listening() as gate, gate.greeted(ELSE_1) as first, gate.greeted(ELSE_2) as second:
        await second.begin()
        async with gate.greeted(ELSE_1):
            await first.ask(b"NOOP")
            async with gate.greeted(ELSE_3):
                await second.send(b"Subject: x\r\n\r\nHi\r\n.\r\n")
                assert (await second.hear()).startswith("250 "), "who is sending is not silent"
                assert (await first.ask(b"NOOP")).startswith("250 "), "not the one that was heard of last"


async def test_when_everybody_is_busy_a_newcomer_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp_gateway, "CONNECTIONS_MAX", 2)
    async with listening() as gate, gate.greeted(ELSE_1), gate.greeted(ELSE_2), gate.line(ELSE_3) as third:
        assert (await third.hear()).startswith("421 4.3.2 Too busy now")


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::3", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::3", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_an_ipv6_subscriber_is_one_whichever_address_it_takes(peer: str, name: str) -> None:
    assert subscriber(peer) == name


# --- room for mails on their way in -------------------------------------------------------------------


@pytest.fixture
def small_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp_spool, "SPOOL_BYTES", 3 * MB)
    monkeypatch.setattr(smtp_spool, "SPOOL_BYTES_EACH", 2 * MB)


async def sending(gate: Gate, line: Line, size: int) -> None:
    """Send most of a mail, and wait until the gateway holds it."""
    before = gate.gateway.spool_room.taken_bytes
    await line.begin()
    await line.send(b"x" * size)
    await until(lambda: gate.gateway.spool_room.taken_bytes >= before + size - 256 * 1024)


@pytest.mark.usefixtures("small_spool")
async def test_what_all_connections_hold_together_is_bounded() -> None:
    """20 strangers who sent 24 MB each took the gateway to 1 GB."""
    async with listening() as gate, gate.greeted(ELSE_1) as first, gate.greeted(ELSE_2) as second:
        await sending(gate, first, 2 * MB - 1000)
        await second.begin()
        await second.send(b"x" * 2 * MB + b"\r\n.\r\n")
        assert (await second.hear()).startswith("452 4.3.1 ")
        assert gate.gateway.spool_room.taken_bytes <= 3 * MB
        await first.send(b"\r\n.\r\n")
        assert (await first.hear()).startswith("250 ")
        await second.begin()
        await second.send(b"x" * (2 * MB - 1000) + b"\r\n.\r\n")
        assert (await second.hear()).startswith("250 "), "there is room again, and it was told to try again"
        assert gate.gateway.spool_room.taken_bytes == 0


@pytest.mark.usefixtures("small_spool")
async def test_one_stranger_takes_only_a_part_of_it() -> None:
    async with (
        listening() as gate,
        gate.greeted(ELSE_1) as first,
        gate.greeted(ELSE_1) as second,
        gate.greeted(ELSE_2) as other,
    ):
        await sending(gate, first, 2 * MB - 1000)
        await second.begin()
        await second.send(b"x" * 200_000 + b"\r\n.\r\n")
        assert (await second.hear()).startswith("452 ")
        await other.begin()
        await other.send(b"x" * 900_000 + b"\r\n.\r\n")
        assert (await other.hear()).startswith("250 ")


@pytest.mark.usefixtures("small_spool")
async def test_a_small_mail_is_taken_however_full_it_is() -> None:
    """Most mails are small. Those who hold all the room for large ones must not keep them out."""
    async with listening() as gate, gate.greeted(ELSE_1) as first, gate.greeted(ELSE_2) as second:
        await sending(gate, first, 2 * MB - 1000)
        await sending(gate, second, MB)
        async with gate.greeted(ELSE_1) as third:
            await third.begin()
            await third.send(b"x" * 60_000 + b"\r\n.\r\n")
            assert (await third.hear()).startswith("250 ")


@pytest.mark.usefixtures("small_spool")
async def test_the_size_that_is_announced_is_answered_before_it_is_sent() -> None:
    async with listening() as gate, gate.greeted(ELSE_1) as first, gate.greeted(ELSE_2) as second:
        await second.ask(b"EHLO me")
        assert (await second.ask(b"MAIL FROM:<a@example.com> SIZE=26214401")).startswith("552 ")
        assert (await second.ask(b"MAIL FROM:<a@example.com> SIZE=2000000")).startswith("250 ")
        await second.ask(b"RSET")
        await sending(gate, first, 2 * MB - 1000)
        assert (await second.ask(b"MAIL FROM:<a@example.com> SIZE=2000000")).startswith("452 4.3.1 ")
        assert (await second.ask(b"MAIL FROM:<a@example.com> SIZE=1000")).startswith("250 ")


@pytest.mark.usefixtures("small_spool")
async def test_who_hangs_up_gives_its_room_back() -> None:
    async with listening() as gate:
        async with gate.greeted(ELSE_1) as line:
            await sending(gate, line, 2 * MB - 1000)
        await until(lambda: gate.gateway.spool_room.taken_bytes == 0)


async def test_as_many_bytes_are_read_at_once_as_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mail is several times its size in memory while it is read; waiting costs nothing on the disk."""
    monkeypatch.setattr(smtp_spool, "READ_BYTES", 4 * MB)
    async with listening() as gate, AsyncExitStack() as stack:
        gate.received.gate.clear()
        lines = [await stack.enter_async_context(gate.greeted(ELSE_1)) for _ in range(8)]
        for line in lines:
            await line.begin()
            await line.send(b"x" * 1_900_000 + b"\r\n.\r\n")
        await until(lambda: gate.gateway.spool_room.taken_bytes > 6 * 1_900_000 - 1)
        gate.received.gate.set()
        assert [(await line.hear())[:3] for line in lines] == ["250"] * 8
        assert gate.received.most_inside == 2
        assert gate.gateway.reading_room.held_bytes == 0


async def test_a_mail_larger_than_that_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp_spool, "READ_BYTES", 1 * MB)
    async with listening() as gate, gate.greeted() as line:
        await line.begin()
        await line.send(b"x" * 3 * MB + b"\r\n.\r\n")
        assert (await line.hear()).startswith("250 ")


async def test_a_disk_that_is_full_is_no_reason_to_lose_a_mail(tmp_path: Path) -> None:
    async with listening() as gate, gate.greeted() as line:
        gate.gateway.spool_room.folder = tmp_path / "gone"
        await line.begin()
        await line.send(b"x" * 200_000 + b"\r\n.\r\n")
        assert (await line.hear()).startswith("452 4.3.1 ")
        assert gate.gateway.spool_room.taken_bytes == 0
