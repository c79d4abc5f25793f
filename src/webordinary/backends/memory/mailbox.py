"""Mails and conversations in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from webordinary.core.errors import NotFound
from webordinary.core.mail import MailId, MailRecord, MailState, SessionId
from webordinary.core.site import Session
from webordinary.core.text import storable


class MemoryMailbox:
    """See `Mailbox`."""

    def __init__(self) -> None:
        """Start empty."""
        self._mails: dict[MailId, MailRecord] = {}
        self._sessions: dict[SessionId, Session] = {}
        self._threads: dict[str, SessionId] = {}

    async def keep(self, record: MailRecord) -> MailRecord:
        """See `Mailbox.keep`."""
        if record.id not in self._mails:
            self._put(record)
        return self._mails[record.id]

    async def update(self, record: MailRecord) -> None:
        """See `Mailbox.update`."""
        if record.id not in self._mails:
            raise NotFound(f"there is no mail {record.id}")
        self._put(record)

    def _put(self, record: MailRecord) -> None:
        self._mails[record.id] = record
        if record.session is not None and record.message_id:
            self._threads.setdefault(record.message_id, record.session)

    async def mail(self, mail: MailId) -> MailRecord | None:
        """See `Mailbox.mail`."""
        return self._mails.get(mail)

    async def mails(
        self, *, limit: int, state: MailState | None = None, before: MailId | None = None
    ) -> list[MailRecord]:
        """See `Mailbox.mails`."""
        if before is not None and before not in self._mails:
            raise NotFound(f"there is no mail {before}")
        ids = list(self._mails)
        older = ids if before is None else ids[: ids.index(before)]
        newest_first = (self._mails[mail] for mail in reversed(older))
        return list(islice((record for record in newest_first if state in (None, record.state)), limit))

    async def begin(self, session: Session) -> Session:
        """See `Mailbox.begin`."""
        return self._sessions.setdefault(session.id, session)

    async def session(self, session: SessionId) -> Session | None:
        """See `Mailbox.session`."""
        return self._sessions.get(session)

    async def thread(self, message_ids: Sequence[str]) -> Session | None:
        """See `Mailbox.thread`."""
        for message_id in reversed(message_ids):
            session = self._threads.get(message_id)
            if session is not None and session in self._sessions:
                return self._sessions[session]
        return None

    async def remember(self, session: SessionId, message_id: str) -> None:
        """See `Mailbox.remember`."""
        self._threads[storable(message_id)] = session
