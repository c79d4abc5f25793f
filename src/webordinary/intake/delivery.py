"""Whom a mail in a mailbox was for, and who sent it: its envelope, from what servers wrote into its header.

A mail that comes by SMTP has an envelope. One out of a mailbox has only header fields that tell of it: the
last server writes them on top, and the sender may have written such fields, too. So they route a mail and
never show who wrote it. They count only if they name an address of ours; a conversation's name is signed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from webordinary.core.addresses import is_ours, lives_here
from webordinary.core.mail import Envelope
from webordinary.intake.headers import Headers, read_headers
from webordinary.intake.limits import ADDRESS_CHARACTERS
from webordinary.intake.problems import CannotRead

RECIPIENTS_MAX = 20
UNKNOWN = "unknown"  # who sent it is not told; the null sender would be that of a bounce

# By servers on delivery, in the order of the header; then by the sender.
_DELIVERED = frozenset(
    {"delivered-to", "x-original-to", "envelope-to", "x-delivered-to", "x-envelope-to", "x-forwarded-to"}
    | {"x-resolved-to", "x-original-recipient", "x-rcpt-to", "apparently-to"}
)
_ADDRESSED = ("to", "cc", "resent-to", "resent-cc")
_ADDRESS = re.compile(rb"[^\s<>,;:\"()\[\]\\@]{1,200}@[^\s<>,;:\"()\[\]\\@]{1,200}")


def envelope_of(raw: bytes, address: str, *aliases: str) -> Envelope:
    """Make up the envelope of a mail in a mailbox of ours."""
    try:
        headers = read_headers(raw)
    except CannotRead:  # it will be said why when the mail is read
        return Envelope(mail_from=UNKNOWN, recipients=(address,))
    ours = (found for found in _recipients(headers) if lives_here(found, address, *aliases))
    recipients = tuple(dict.fromkeys(ours))[:RECIPIENTS_MAX]
    return Envelope(mail_from=_sender(headers), recipients=recipients or (address,))


def names_us(raw_header: bytes, *addresses: str) -> bool:
    """Say whether any of these fields names an address of ours."""
    try:
        headers = read_headers(raw_header)
    except CannotRead:
        return True  # for somebody to look at
    return any(is_ours(found, *addresses) for found in _recipients(headers))


def _recipients(headers: Headers) -> Iterator[str]:
    values = [value for name, value in headers.fields if name in _DELIVERED]
    values += [value for name in _ADDRESSED for value in headers.all(name)]
    for value in values:
        for found in _ADDRESS.findall(value):
            if len(found) <= ADDRESS_CHARACTERS:
                yield found.decode("utf-8", "replace")


def _sender(headers: Headers) -> str:
    """The topmost Return-Path is that of the last server. The null sender is `<>`."""
    value = next(iter(headers.all("return-path")), None)
    if value is None:
        return UNKNOWN
    found = _ADDRESS.search(value)
    if found:
        return found[0].decode("utf-8", "replace")
    return "" if value.strip() == b"<>" else UNKNOWN
