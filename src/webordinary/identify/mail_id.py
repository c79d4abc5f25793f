"""One name for a mail, however often it is delivered."""

from __future__ import annotations

import hashlib

from webordinary.core.mail import MailId

CHARACTERS = 32


def mail_id(message_id_or_hash: str, sender: str) -> MailId:
    """Name a mail by its Message-ID (its content's hash where that is missing) and who it says wrote it.

    The sender is part of it: nobody else's mail can take the place of one by carrying its Message-ID.
    """
    digest = hashlib.sha256(f"{message_id_or_hash}\n{sender}".encode(errors="surrogateescape"))
    return MailId(digest.hexdigest()[:CHARACTERS])
