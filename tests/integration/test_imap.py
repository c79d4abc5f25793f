"""Mail out of a mailbox, on a real IMAP server."""

from __future__ import annotations

import contextlib
import imaplib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli_support import eventually
from webordinary.adapters.imap_mailbox import ImapAccount, ImapPoller
from webordinary.core.errors import BackendUnavailable
from webordinary.core.mail import Envelope, MailId, MailRecord, MailState

USER, PASSWORD = "demouser", "demopass"  # of the server's demo mailbox, which comes with four mails
RAW = b"From: scott@example.com\r\nMessage-ID: <1@example.com>\r\n\r\nChange  the title \xff\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = int(free.getsockname()[1])
    program = str(Path(sys.executable).with_name("pymap"))
    command = [program, "--host", "127.0.0.1", "--port", str(number), "--no-tls"]
    process = subprocess.Popen(
        [*command, "dict", "--demo-data"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        eventually(lambda: _answers(number))
        yield number
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        return line.recv(4) == b"* OK"
    return False


class Door:
    """Takes mails in, unless it is closed."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.closed = False

    async def receive(self, raw: bytes, envelope: Envelope) -> MailRecord:
        if self.closed:
            raise BackendUnavailable("the store is away")
        assert envelope.recipients == ("edit@localhost",)
        self.received.append(raw)
        return MailRecord(MailId("x"), "", MailState.ACCEPTED, "", "", "", (), 0.0, "")


def poller(port: int, door: Door, password: str = PASSWORD) -> ImapPoller:
    account = ImapAccount("127.0.0.1", USER, password, port, tls=False)
    return ImapPoller(account, door.receive, "edit@localhost")


async def test_new_mails_are_received_as_they_came_and_moved_aside(port: int) -> None:
    """Signatures are over the very bytes; and a mail that stays would come again for ever."""
    door = Door()
    while await poller(port, door).look():
        pass
    door.received.clear()
    with imaplib.IMAP4("127.0.0.1", port) as client:
        client.login(USER, PASSWORD)
        client.append("INBOX", "", "", RAW)
    assert await poller(port, door).look() == 1
    assert door.received == [RAW]
    assert await poller(port, door).look() == 0


async def test_a_mail_stays_until_it_is_durable_here(port: int) -> None:
    """A crash or a store that is away must not cost anybody's mail."""
    door = Door()
    while await poller(port, door).look():
        pass
    with imaplib.IMAP4("127.0.0.1", port) as client:
        client.login(USER, PASSWORD)
        client.append("INBOX", "", "", RAW)
    door.closed = True
    with pytest.raises(BackendUnavailable):
        await poller(port, door).look()
    door.closed = False
    door.received.clear()
    assert await poller(port, door).look() == 1
    assert door.received == [RAW]
