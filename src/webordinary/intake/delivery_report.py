"""What a delivery report says: whether a letter failed for good (RFC 3464, RFC 3463).

Read from the first stretch of the raw bytes, by patterns that look at each line once: a report is hostile
like any mail, and nothing of it is needed but its verdict.
"""

from __future__ import annotations

import re

from webordinary.core.text import storable

READ_BYTES = 256 * 1024  # the report comes before the letter that is returned with it
REASON_CHARACTERS = 200

_STATUS_PART = re.compile(
    rb"^content-type:[ \t]*message/(?:global-)?delivery-status\b", re.IGNORECASE | re.MULTILINE
)
_BOUNDARY = re.compile(rb"^--[^\n]", re.MULTILINE)
_FOLDED = re.compile(rb"\n[ \t]+")
_FIELD = re.compile(rb"^(action|status|diagnostic-code)[ \t]*:[ \t]*([^\n]*)", re.IGNORECASE | re.MULTILINE)
_PERMANENT = re.compile(r"5\.\d{1,3}\.\d{1,3}\b")
_EXIM = re.compile(rb"^x-failed-recipients:", re.IGNORECASE | re.MULTILINE)
_QMAIL = re.compile(rb"\(#(5\.\d{1,3}\.\d{1,3})\)")


def why_undeliverable(raw: bytes) -> str:
    """Say why a letter will never be delivered; "" if the report does not say that it won't be.

    A delay is none, and a server that gave up after days of trying (4.x.x) may be back tomorrow.
    """
    text = raw[:READ_BYTES].replace(b"\r\n", b"\n")
    part = _STATUS_PART.search(text)
    if part is None:
        return _older_style(text)
    end = _BOUNDARY.search(text, part.end())
    block = text[part.end() : end.start() if end else len(text)]
    for recipient in _FOLDED.sub(b" ", block).split(b"\n\n"):
        said = {name.lower(): _words(value) for name, value in _FIELD.findall(recipient)}
        status = said.get(b"status", "")
        if said.get(b"action", "").lower().startswith("failed") and _PERMANENT.match(status):
            return f"{status.split()[0]} {said.get(b'diagnostic-code', '')}".strip()[:REASON_CHARACTERS]
    return ""


def _older_style(text: bytes) -> str:
    """Exim names the recipients in the header, qmail puts the status in brackets into its text."""
    head, _, body = text.partition(b"\n\n")
    if _EXIM.search(head):
        return "the mail server of the address returned it"
    found = _QMAIL.search(body) if b"qmail" in body[:READ_BYTES].lower() else None
    return found[1].decode() if found else ""


def _words(value: bytes) -> str:
    return storable(" ".join(value.decode("utf-8", errors="replace").split()))
