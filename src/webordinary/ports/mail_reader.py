"""Reading a mail: hostile bytes become a plain value."""

from __future__ import annotations

from typing import Protocol

from webordinary.core.mail import ParsedMail, SignedParts, UnreadableMail


class MailReader(Protocol):
    """Reads one mail within limits of time and memory."""

    async def read(
        self, raw: bytes, signed: SignedParts | None = None, sender: str = ""
    ) -> ParsedMail | UnreadableMail:
        """Understand a mail, or say in plain words why not. Never raises for a bad mail, never hangs.

        With `signed`, the mail is read from that and its body alone. With `sender`, its From is not read.
        """
        ...
