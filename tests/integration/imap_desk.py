"""A mailbox, a reception, and what reads the one for the other, over a line that tests break."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import pytest

from tests.conformance.world import LIMITS, ManualClock
from tests.flows.door import ADDRESS, SCOTT, Door
from tests.integration.imap_support import PASSWORD, USER, Mailbox, Proxy, imap_server, proxy_to
from tests.waiting import until
from webordinary.backends.memory.open import open_memory
from webordinary.core.mail import Envelope, MailRecord
from webordinary.mail.imap import client as imap_client
from webordinary.mail.imap.connection import ImapAccount
from webordinary.mail.imap.mailbox import ImapPoller
from webordinary.mail.imap.pace import PollPace
from webordinary.mail.smtp.relay import Encryption
from webordinary.system.clock import SystemClock

QUICK = PollPace(0.05, 0.3, 0.01, 0.01, 0.03, 0.02, 0.05, 0.05, 0.2)
MAIL_SIZES, MAIL_BODY = r"UID FETCH .*SIZE", r"UID FETCH .*BODY"

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with imap_server() as port:
        yield port


@pytest.fixture
async def proxy(server: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Proxy]:
    monkeypatch.setattr(imap_client, "STALL_SECONDS", 3.0)  # a busy machine is silent for a while, too
    async with proxy_to(server) as proxy:
        yield proxy


def mail(text: str, number: str = "1", extra: str = "") -> bytes:
    head = f"From: {SCOTT}\r\nTo: {ADDRESS}\r\nSubject: Site\r\nMessage-ID: <{number}@example.com>\r\n{extra}"
    return f"{head}\r\n{text}\r\n".encode()


class Desk:
    """A mailbox on the server, a reception with a store, and what reads the one for the other."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.mailbox = Mailbox(proxy.target, f"Box {next(_numbers)}")
        self.door = Door(open_memory(ManualClock(), LIMITS), ManualClock())
        self.envelopes: list[Envelope] = []
        self.is_believed = True  # who wrote it is another test's question
        self.failing: Callable[[bytes, bool], Exception | None] = lambda _raw, _may: None
        account = ImapAccount("127.0.0.1", USER, PASSWORD, proxy.port, self.mailbox.folder)
        self.account = replace(account, done_folder=self.mailbox.done, encryption=Encryption.NONE)

    async def receive(self, raw: bytes, envelope: Envelope, *, may_come_again: bool) -> MailRecord:
        if error := self.failing(raw, may_come_again):
            raise error
        self.envelopes.append(envelope)
        believed = replace(envelope, peer="127.0.0.1") if self.is_believed else envelope
        return await self.door.reception.receive(raw, believed, may_come_again=may_come_again)

    async def keep_unread(self, header: bytes, reason: str) -> MailRecord:
        return await self.door.reception.keep_unread(header, reason)

    def poller(self, **changes: object) -> ImapPoller:
        account = replace(self.account, **changes)  # type: ignore[arg-type]
        return ImapPoller(account, self, (ADDRESS,), self.door.backend.checkpoints, SystemClock(), QUICK)

    @contextlib.asynccontextmanager
    async def reading(self, **changes: object) -> AsyncIterator[ImapPoller]:
        poller = self.poller(**changes)
        task = asyncio.create_task(poller.run())
        yield poller
        assert not task.done(), task.exception()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def asked_for(self) -> list[str]:
        return [instruction for _, instruction in await self.door.jobs()]

    async def eventually(self, *expected: str) -> None:
        async def is_there() -> bool:
            return await self.asked_for() == list(expected)

        await until(is_there)

    async def empty(self) -> None:
        async def is_empty() -> bool:
            return not await asyncio.to_thread(self.mailbox.mails)

        await until(is_empty)


@pytest.fixture
async def desk(proxy: Proxy) -> AsyncIterator[Desk]:
    desk = Desk(proxy)
    await desk.door.onboard("amelia/scott", SCOTT)
    await desk.poller().look()  # it is set up; mail comes from now on
    yield desk
    desk.door.backend.close()
