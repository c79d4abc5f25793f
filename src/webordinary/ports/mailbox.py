"""What came in, and which conversation it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webordinary.core.mail import MailId, MailRecord, MailState, SessionId
from webordinary.core.site import Session


class Mailbox(Protocol):
    """Mails and conversations. Every write may be repeated: after a crash a mail is delivered again."""

    async def keep(self, record: MailRecord) -> MailRecord:
        """Keep a mail, and its Message-ID as part of its session's thread; if known, give what is kept."""
        ...

    async def mail(self, mail: MailId) -> MailRecord | None:
        """Find a mail."""
        ...

    async def mails(
        self, *, limit: int, state: MailState | None = None, before: MailId | None = None
    ) -> list[MailRecord]:
        """List mails, newest first."""
        ...

    async def update(self, record: MailRecord) -> None:
        """Replace all that is kept of a mail; its Message-ID is part of its session's thread from now on."""
        ...

    async def begin(self, session: Session) -> Session:
        """Begin a conversation; if one of that id has begun already, give that."""
        ...

    async def session(self, session: SessionId) -> Session | None:
        """Find a conversation."""
        ...

    async def thread(self, message_ids: Sequence[str]) -> Session | None:
        """Find the conversation that one of these Message-IDs, sent or received, belongs to; last first."""
        ...

    async def remember(self, session: SessionId, message_id: str) -> None:
        """Note that a Message-ID of ours belongs to a conversation, whatever a stranger's mail said before.

        Called before the letter goes out, so that an answer always finds it.
        """
        ...
