"""The relay against a real server: what is over, what is worth another try, what no log may tell."""

import asyncio
import shutil
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.reply.letters import JOB, MAIL, composed, read
from tests.reply.smtp_server import PASSWORD, USER, smtp_server
from webordinary.core.errors import BadInput
from webordinary.core.facts import Ending
from webordinary.core.mail import Letter, LetterKind
from webordinary.mail.smtp.relay import Encryption, Relay, SmtpRelay
from webordinary.ports.mailer import Rejected, Sent, TryLater
from webordinary.reply.context import Case

LETTER = composed(Letter(JOB.id, LetterKind.DONE, facts=Ending(".\n.. dots\n花")), Case(MAIL, JOB))
SENDER = "edit@webordinary.example"


def relay(port: int, **options: Any) -> SmtpRelay:  # noqa: ANN401 - fields of any type
    usual = Relay("127.0.0.1", port, SENDER, Encryption.NONE, step_seconds=10.0, hostname="us.example")
    return SmtpRelay(replace(usual, **options))


async def send(mailer: SmtpRelay, recipient: str = "amelia@flowers.example") -> Sent | TryLater | Rejected:
    return await mailer.send(LETTER.content, recipient=recipient, key="k")


async def test_a_letter_arrives_byte_for_byte() -> None:
    async with smtp_server() as inbox:
        assert await send(relay(inbox.port)) == Sent()
    ((recipient, content),) = inbox.taken
    assert recipient == "amelia@flowers.example"
    assert content == LETTER.content
    assert read(content)["Message-ID"] == LETTER.message_id


@pytest.mark.parametrize(
    ("recipient", "answer"),
    [
        ("busy@flowers.example", TryLater("the mail relay answered 451 4.3.2 try again in a while")),
        ("full@flowers.example", TryLater("the mail relay answered 452 4.2.2 the mailbox is full")),
        ("gone@flowers.example", Rejected("the mail relay answered 550 5.1.1 no such mailbox here")),
        ("spam@flowers.example", Rejected("the mail relay answered 554 5.7.1 looks like spam")),
    ],
)
async def test_the_servers_answer_decides_whether_another_try_can_help(
    recipient: str, answer: TryLater | Rejected
) -> None:
    async with smtp_server() as inbox:
        assert await send(relay(inbox.port), recipient) == answer
    assert inbox.taken == []


async def test_a_server_that_hangs_up_in_the_middle_has_not_got_the_letter() -> None:
    async with smtp_server() as inbox:
        answer = await send(relay(inbox.port), "cut@flowers.example")
    assert isinstance(answer, TryLater)
    assert inbox.taken == []


async def test_a_server_that_hangs_up_after_it_said_yes_has_got_the_letter() -> None:
    """Trying again would send it twice."""
    async with smtp_server() as inbox:
        assert await send(relay(inbox.port), "rude@flowers.example") == Sent()
    assert len(inbox.taken) == 1


async def test_a_server_that_does_not_answer_is_not_waited_for() -> None:
    async with smtp_server() as inbox:
        answer = await send(relay(inbox.port, step_seconds=0.2), "slow@flowers.example")
    assert isinstance(answer, TryLater)


async def test_nobody_listening_is_no_reason_to_give_up() -> None:
    async with smtp_server() as inbox:
        pass
    answer = await send(relay(inbox.port))
    assert isinstance(answer, TryLater)
    assert answer.reason.startswith("the mail relay can't be used:")


async def test_a_server_that_speaks_something_else_is_no_reason_to_give_up() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as listening:
        answer = await send(relay(listening.sockets[0].getsockname()[1]))
    assert isinstance(answer, TryLater)


async def test_a_relay_that_does_not_want_us_costs_no_letter() -> None:
    """Wrong settings are repaired by the operator; until then every letter waits."""
    async with smtp_server() as inbox:
        assert isinstance(await send(relay(inbox.port, sender="unwanted@webordinary.example")), TryLater)
        assert isinstance(await send(relay(inbox.port), "locked@flowers.example"), TryLater)


@pytest.mark.parametrize("recipient", ["", "a b@x", "a@x\r\nRCPT TO:<eve@evil.example>"])
async def test_an_address_that_is_none_never_reaches_the_server(recipient: str) -> None:
    async with smtp_server() as inbox:
        answer = await send(relay(inbox.port), recipient)
    assert not isinstance(answer, Sent)
    assert inbox.taken == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that nobody else trusts, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "cert.pem", folder / "key.pem"
    command = f"{openssl} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    where = ["-out", str(paths[0]), "-keyout", str(paths[1])]
    subprocess.run([*command.split(), *names.split(), *where], check=True, capture_output=True)
    return paths


@pytest.fixture
def server_side(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture
def client_side(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate[0])


async def test_starttls_and_a_password(server_side: ssl.SSLContext, client_side: ssl.SSLContext) -> None:
    login = {"encryption": Encryption.STARTTLS, "username": USER, "password": PASSWORD, "tls": client_side}
    async with smtp_server(server_side, login=True) as inbox:
        assert await send(relay(inbox.port, **login)) == Sent()
    assert inbox.encrypted == [True]


async def test_tls_from_the_first_byte(server_side: ssl.SSLContext, client_side: ssl.SSLContext) -> None:
    async with smtp_server(at_once=server_side) as inbox:
        assert await send(relay(inbox.port, encryption=Encryption.TLS, tls=client_side)) == Sent()
    assert len(inbox.taken) == 1


async def test_a_wrong_password_is_told_without_being_repeated(
    server_side: ssl.SSLContext, client_side: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    login = {"encryption": Encryption.STARTTLS, "username": USER, "password": "hunter2!", "tls": client_side}
    caplog.set_level(0)
    async with smtp_server(server_side, login=True) as inbox:
        mailer = relay(inbox.port, **login)
        answer = await send(mailer)
    assert answer == TryLater("the mail relay does not accept our user name and password (535)")
    assert "hunter2!" not in caplog.text + repr(mailer) + repr(mailer._relay)


async def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(
    server_side: ssl.SSLContext,
) -> None:
    login = {"encryption": Encryption.STARTTLS, "username": USER, "password": PASSWORD}
    async with smtp_server(server_side, login=True) as inbox:
        assert isinstance(await send(relay(inbox.port, **login)), TryLater)
    assert inbox.taken == []


async def test_a_server_without_starttls_gets_nothing_when_it_was_asked_for() -> None:
    """Whoever sits in between could take it out of the server's answer."""
    async with smtp_server() as inbox:
        answer = await send(relay(inbox.port, encryption=Encryption.STARTTLS))
    assert isinstance(answer, TryLater)
    assert inbox.taken == []


async def test_what_a_server_echoes_of_a_secret_is_blotted_out() -> None:
    mailer = relay(25, username="op@x", password="hunter2!")
    assert mailer._words("bad login\r\nop@x hunter2! aHVudGVyMiE=") == "bad login *** *** ***"


def test_a_password_never_leaves_this_machine_in_the_clear() -> None:
    with pytest.raises(BadInput, match="starttls or tls"):
        Relay("relay.example", 25, SENDER, Encryption.NONE, USER, PASSWORD)
