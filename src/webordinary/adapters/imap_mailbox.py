"""Mail out of a mailbox that the operator already has: new mails are received, then moved aside."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from imap_tools import BaseMailBox, MailBox, MailboxFolderCreateError, MailBoxUnencrypted, MailMessage
from imap_tools.errors import ImapToolsError

from webordinary.core.errors import BackendUnavailable
from webordinary.core.mail import Envelope, MailRecord

log = logging.getLogger("webordinary.gateway")

MAILS_PER_LOOK = 20
CONNECT_SECONDS = 30.0

Receive = Callable[[bytes, Envelope], Awaitable[MailRecord]]


@dataclass(frozen=True, slots=True)
class ImapAccount:
    """Which mailbox to read."""

    host: str
    user: str
    password: str = field(repr=False)
    port: int = 993
    folder: str = "INBOX"
    done_folder: str = "Webordinary"
    tls: bool = True


class _AsItCame(MailMessage):
    """A mail's bytes, untouched: signatures are over them, and parsing is our own affair."""

    def __init__(self, fetch_data: list[Any]) -> None:
        self.raw, self._raw_uid_data, self._raw_flag_data = self._get_message_data_parts(fetch_data)


class ImapPoller:
    """Looks for new mail every so often. A mail is moved only after it is durable here."""

    def __init__(self, account: ImapAccount, receive: Receive, recipient: str) -> None:
        """Read a mailbox; its mails count as sent to `recipient`, unless they say which address of ours."""
        self._account, self._receive, self._recipient = account, receive, recipient

    async def run(self, every: float) -> None:
        """Look again and again; a mailbox that can't be reached is tried again later."""
        while True:
            try:
                received = await self.look()
            except (ImapToolsError, OSError, BackendUnavailable) as error:
                log.warning("the mailbox of %s at %s: %s", self._account.user, self._account.host, error)
                received = 0
            if received < MAILS_PER_LOOK:
                await asyncio.sleep(every)

    async def look(self) -> int:
        """Receive what is new; say how many mails that were."""
        mails = await asyncio.to_thread(self._fetch)
        for number, raw in mails:
            record = await self._receive(raw, Envelope(mail_from="unknown", recipients=(self._recipient,)))
            log.info("%s from %s: %s %s", record.id, record.from_address or "-", record.state, record.reason)
            await asyncio.to_thread(self._put_aside, number)
        return len(mails)

    @contextlib.contextmanager
    def _open(self) -> Iterator[BaseMailBox]:
        account = self._account
        kind = MailBox if account.tls else MailBoxUnencrypted
        with kind(account.host, account.port, timeout=CONNECT_SECONDS).login(
            account.user, account.password, account.folder
        ) as mailbox:
            yield mailbox

    def _fetch(self) -> list[tuple[str, bytes]]:
        with self._open() as mailbox:
            mailbox.email_message_class = _AsItCame
            found = mailbox.fetch("ALL", limit=MAILS_PER_LOOK, mark_seen=False)
            return [
                (message.uid, message.raw)
                for message in found
                if isinstance(message, _AsItCame) and message.uid
            ]

    def _put_aside(self, number: str) -> None:
        with self._open() as mailbox:
            with contextlib.suppress(MailboxFolderCreateError):
                if not mailbox.folder.exists(self._account.done_folder):
                    mailbox.folder.create(self._account.done_folder)
            mailbox.move(number, self._account.done_folder)
