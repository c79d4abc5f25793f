"""A conversation with a stranger's mail server: what is offered, and what is understood."""

import asyncio
import logging
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import trustme
from aiosmtpd.smtp import SMTP

from tests.smtp.line import Gate, Line, listening
from webordinary.mail.smtp import gateway as smtp_gateway

MAIL = b"From: a@example.com\r\nSubject: Hi\r\n\r\nChange the title\r\n"


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    async with listening() as gate:
        yield gate


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def encrypting(authority: trustme.CA) -> AsyncIterator[Gate]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)
    async with listening(tls=tls) as gate:
        yield gate


async def encrypt(line: Line, authority: trustme.CA) -> None:
    tls = ssl.create_default_context()
    authority.configure_trust(tls)
    await line.writer.start_tls(tls, server_hostname="localhost")


# --- what is offered --------------------------------------------------------------------------------


async def test_it_says_its_name_and_what_it_can(gate: Gate) -> None:
    async with gate.line() as line:
        assert await line.hear() == "220 mail.example.com ESMTP Webordinary"
        offers = (await line.ask(b"EHLO me")).splitlines()
    assert offers[0] == "250-mail.example.com"
    assert {offer[4:].split()[0] for offer in offers[1:]} == {
        "PIPELINING",
        "SIZE",
        "8BITMIME",
        "SMTPUTF8",
        "HELP",
    }


async def test_nobody_is_asked_for_a_password(encrypting: Gate, authority: trustme.CA) -> None:
    """There is nothing behind AUTH: who offers it collects passwords, and people's programs send them."""
    async with encrypting.greeted() as line:
        assert "STARTTLS" in (offers := await line.ask(b"EHLO me"))
        assert "AUTH" not in offers
        await line.ask(b"STARTTLS")
        await encrypt(line, authority)
        offers = await line.ask(b"EHLO me")
        assert "PIPELINING" in offers
        assert "AUTH" not in offers
        assert (await line.ask(b"AUTH PLAIN AGEAYg==")).startswith("502 ")
        assert "AUTH" not in await line.ask(b"HELP")


# --- many commands in one go --------------------------------------------------------------------------


async def test_commands_may_come_in_one_go(gate: Gate) -> None:
    async with gate.greeted() as line:
        await line.say(b"EHLO me", b"MAIL FROM:<a@example.com>", b"RCPT TO:<edit@localhost>", b"DATA")
        assert [(await line.hear())[:3] for _ in range(4)] == ["250", "250", "250", "354"]
        await line.send(MAIL + b".\r\nMAIL FROM:<b@example.com>\r\nRCPT TO:<edit@localhost>\r\nDATA\r\n")
        assert [(await line.hear())[:3] for _ in range(4)] == ["250", "250", "250", "354"]
        await line.send(MAIL + b".\r\nQUIT\r\n")
        assert [(await line.hear())[:3] for _ in range(2)] == ["250", "221"]
    assert gate.received.raws == [MAIL, MAIL]
    assert [envelope.mail_from for _, envelope in gate.received.mails] == ["a@example.com", "b@example.com"]


async def test_a_refused_recipient_spoils_nothing_in_one_go(gate: Gate) -> None:
    async with gate.greeted() as line:
        to = (b"RCPT TO:<nobody@localhost>", b"RCPT TO:<edit+x@localhost>")
        await line.say(b"EHLO me", b"MAIL FROM:<a@example.com>", *to, b"DATA")
        assert [(await line.hear())[:3] for _ in range(5)] == ["250", "250", "550", "250", "354"]
        await line.send(MAIL + b".\r\n")
        assert (await line.hear()).startswith("250 ")
    assert gate.received.mails[0][1].recipients == ("edit+x@localhost",)


async def test_reset_in_one_go_forgets_sender_and_recipients(gate: Gate) -> None:
    async with gate.greeted() as line:
        begun = (b"EHLO me", b"MAIL FROM:<a@example.com>", b"RCPT TO:<edit@localhost>")
        await line.say(*begun, b"RSET", b"DATA", b"NOOP")
        assert [(await line.hear())[:3] for _ in range(6)] == ["250", "250", "250", "250", "503", "250"]
    assert gate.received.mails == []


async def test_what_was_said_in_the_clear_is_forgotten_when_it_becomes_encrypted(
    encrypting: Gate, authority: trustme.CA
) -> None:
    """Else whoever is on the line adds commands before the encryption that count as said within it."""
    async with encrypting.greeted() as line:
        await line.ask(b"EHLO me")
        await line.say(
            b"STARTTLS", b"EHLO evil", b"MAIL FROM:<evil@example.com>", b"RCPT TO:<edit@localhost>"
        )
        assert (await line.hear()).startswith("220 ")
        await encrypt(line, authority)
        assert (await line.ask(b"RCPT TO:<edit@localhost>")).startswith("503 ")
        assert (await line.ask(b"EHLO me")).startswith("250-")
        await line.begin()
        await line.send(MAIL + b".\r\n")
        assert (await line.hear()).startswith("250 ")
    assert [envelope.mail_from for _, envelope in encrypting.received.mails] == ["a@example.com"]


@pytest.mark.parametrize(
    "words",
    [
        "<a@example.com>",
        "<a@example.com> SIZE=10 BODY=8BITMIME",
        "<First.Last+tag=x@Sub.Example.com>",
        "<postmaster>",
        "<>",
        "<> SIZE=10",
        '<"a b"@example.com>',
        "<a..b@example.com>",
        "<.a@example.com>",
        "<a@b@example.com>",
        "<@relay.example:a@example.com>",
        "<a@[192.0.2.1]>",
        "<a@example.com>x",
        "<a@example.com",
        "a@example.com",
        "<ä@example.com>",
        "< a@example.com >",
        "<a@example.com>\t SIZE=10",
    ],
)
async def test_an_address_is_read_as_the_library_reads_it(gate: Gate, words: str) -> None:
    """Plain ones are read by a short way of ours."""
    ours = gate.gateway._conversation()
    (address, rest), (known, known_rest) = ours._getaddr(words), SMTP._getaddr(ours, words)
    assert (address, (rest or "").split()) == (known, (known_rest or "").split())


# --- the mail itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [997, 1_000, 5_000, 65_535, 65_536, 200_000, 3_000_000])
async def test_a_line_may_be_as_long_as_a_mail(gate: Gate, length: int) -> None:
    """Programs that write HTML in one line are many, and their users are not to blame."""
    mail = b"Subject: long\r\n\r\n" + b"x" * length + b"\r\nthe end\r\n"
    async with gate.greeted() as line:
        await line.begin()
        await line.send(mail + b".\r\n")
        assert (await line.hear()).startswith("250 ")
    assert gate.received.raws == [mail]


async def test_a_mail_that_is_too_large_is_refused_and_the_conversation_goes_on(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp_gateway, "MAIL_BYTES", 300_000)
    async with gate.greeted() as line:
        await line.begin()
        await line.send(b"x" * 300_001 + b"\r\n.\r\n")
        assert (await line.hear()).startswith("552 ")
        await line.begin()
        await line.send(b"x" * 290_000 + b"\r\n.\r\n")
        assert (await line.hear()).startswith("250 ")
    assert [len(raw) for raw in gate.received.raws] == [290_002]
    assert gate.gateway.spool_room.taken_bytes == 0


async def test_an_empty_mail_is_one(gate: Gate) -> None:
    async with gate.greeted() as line:
        await line.begin()
        await line.send(b".\r\n")
        assert (await line.hear()).startswith("250 ")
    assert gate.received.raws == [b""]


def odd_mail(rng: random.Random) -> bytes:
    """Lines of dots, line breaks that are none, and others."""
    words = (b".", b"..", b"\n", b"\r", b".\n", b"x", b"", b"MAIL FROM:<evil@example.com>", b"y" * 40_000)
    lines = (b"".join(rng.choices(words, k=rng.randrange(6))) for _ in range(rng.randrange(1, 12)))
    return b"".join(line + b"\r\n" for line in lines)


def stuffed(mail: bytes) -> bytes:
    """As RFC 5321, 4.5.2 has it: a line is what ends in CRLF, and its first dot is doubled."""
    lines = mail.split(b"\r\n")
    return b"\r\n".join(b"." + line if line.startswith(b".") else line for line in lines)


@pytest.mark.parametrize("seed", range(25))
async def test_whatever_a_mail_is_made_of_arrives_as_it_was(gate: Gate, seed: int) -> None:
    """Dots and broken line ends wherever a packet or a piece may end."""
    rng = random.Random(seed)
    mail = odd_mail(rng)
    on_the_line = stuffed(mail) + b".\r\n"
    cuts = sorted(rng.sample(range(len(on_the_line)), k=min(len(on_the_line), rng.randrange(8))))
    async with gate.greeted() as line:
        await line.begin()
        for start, end in zip([0, *cuts], [*cuts, len(on_the_line)], strict=True):
            await line.send(on_the_line[start:end])
            await asyncio.sleep(0)
        assert (await line.hear()).startswith("250 ")
        assert (await line.ask(b"NOOP")).startswith("250 ")
    assert gate.received.raws == [mail]


@pytest.mark.parametrize(
    "end",
    [
        b"\n.\n",
        b"\n.\r\n",
        b"\r\n.\n",
        b"\r.\r",
        b"\r.\r\n",
        b"\r\n.\r",
        b"\n.\r",
        b"\r\n.\0\r\n",
        b"\0\r.\r\n",
    ],
)
async def test_no_other_end_of_a_mail_lets_another_one_in(gate: Gate, end: bytes) -> None:
    """SMTP smuggling: a server before us that passes this on as text vouches for one mail, not for two."""
    second = b"MAIL FROM:<evil@example.com>\r\nRCPT TO:<edit@localhost>\r\nDATA\r\nFrom: evil\r\n\r\nHi"
    async with gate.greeted() as line:
        await line.begin()
        await line.send(b"Subject: one\r\n\r\nHi" + end + second + b"\r\n.\r\n")
        assert (await line.hear()).startswith("250 ")
        assert (await line.ask(b"NOOP")).startswith("250 ")
    (raw,) = gate.received.raws
    assert b"evil" in raw


async def test_nonsense_instead_of_encryption_ends_one_conversation_without_alarm(
    encrypting: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """Scanners do it all day: a stack trace for each hides what the operator has to see."""
    caplog.set_level(logging.INFO)
    async with encrypting.line() as line:
        await line.hear()
        await line.ask(b"EHLO me")
        await line.ask(b"STARTTLS")
        await line.send(b"GET / HTTP/1.0\r\n\r\n")
        with suppress(ConnectionError):
            await line.reader.read()
    async with encrypting.line() as line:
        assert (await line.hear()).startswith("220 ")
    assert [(one.levelname, bool(one.exc_info)) for one in caplog.records if "encrypted" in one.message] == [
        ("INFO", False)
    ]
    assert all(one.levelno < logging.ERROR for one in caplog.records)


async def test_a_mistake_of_ours_is_no_reason_to_give_a_mail_up(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 5xx sends the mail back to its sender; and strangers need no names of our classes."""

    async def fail(*_: object) -> str:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(smtp_gateway.SmtpGateway, "handle_RCPT", fail)
    async with gate.line() as line:
        await line.hear()
        await line.ask(b"EHLO me")
        await line.ask(b"MAIL FROM:<a@example.com>")
        answer = await line.ask(b"RCPT TO:<edit@localhost>")
    assert answer == "451 4.3.0 Something went wrong here, try again later"
