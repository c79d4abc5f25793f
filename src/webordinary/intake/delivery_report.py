"""What a delivery report says: whether a letter failed for good (RFC 3464, RFC 3463).

Read from the first stretch of the raw bytes, by patterns that look at each line once: a report is hostile
like any mail, and nothing of it is needed but its verdict.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from contextlib import suppress

from webordinary.core.text import storable

READ_BYTES = 256 * 1024  # the report comes before the letter that is returned with it
QUOTE_BYTES = 8 * 1024  # of text, before the letter that is returned
REASON_CHARACTERS = 200

_STATUS_PART = re.compile(
    rb"^content-type:[ \t]*message/(?:global-)?delivery-status\b", re.IGNORECASE | re.MULTILINE
)
_BOUNDARY = re.compile(rb"^--[^\n]", re.MULTILINE)
_FOLDED = re.compile(rb"\n[ \t]+")
_FIELD = re.compile(rb"^(action|status|diagnostic-code)[ \t]*:[ \t]*([^\n]*)", re.IGNORECASE | re.MULTILINE)
_PERMANENT = re.compile(r"5\.\d{1,3}\.\d{1,3}\b")
_EXIM = re.compile(rb"^x-failed-recipients:", re.IGNORECASE | re.MULTILINE)
_DELAY = re.compile(rb"^subject:[^\n]*(?:delay|warning)", re.IGNORECASE | re.MULTILINE)
_DAEMON = re.compile(rb"^from:[^\n]*(?:mailer-daemon|postmaster)", re.IGNORECASE | re.MULTILINE)
_REFUSED = re.compile(rb"(?<![\d.])(?:5\.\d{1,3}\.\d{1,3}|55[0-4])(?!\.?\d)[^\n]*")


def why_undeliverable(raw: bytes) -> str:
    """Say why a letter will never be delivered; "" if the report does not say that it won't be.

    A delay is none, and a server that gave up after days of trying (4.x.x) may be back tomorrow.
    """
    text = raw[:READ_BYTES].replace(b"\r\n", b"\n")
    part = _STATUS_PART.search(text)
    if part is None:
        return _older_style(text)
    end = _BOUNDARY.search(text, part.end())
    head, _, fields = text[part.end() : end.start() if end else len(text)].partition(b"\n\n")
    for recipient in _FOLDED.sub(b" ", _decoded(fields, head.lower())).split(b"\n\n"):
        said = {name.lower(): _words(value) for name, value in _FIELD.findall(recipient)}
        status = said.get(b"status", "")
        if said.get(b"action", "").lower().startswith("failed") and _PERMANENT.match(status):
            return f"{status.split()[0]} {said.get(b'diagnostic-code', '')}".strip()[:REASON_CHARACTERS]
    return ""


def _older_style(text: bytes) -> str:
    """Servers from before the standard: Exim names the recipients in its header, others quote a refusal."""
    head, _, body = text.partition(b"\n\n")
    if _DELAY.search(head) or b"multipart/report" in head.lower():  # that is another kind of report
        return ""
    quoted = _REFUSED.search(body[:QUOTE_BYTES]) if _DAEMON.search(head) else None
    if quoted:
        return _words(quoted[0])[:REASON_CHARACTERS]
    return "the mail server of the address returned it" if _EXIM.search(head) else ""


def _decoded(fields: bytes, head: bytes) -> bytes:
    """Undo an encoding that some gateways put on every part."""
    if b"quoted-printable" in head:
        return quopri.decodestring(fields)
    if b"base64" in head:
        with suppress(binascii.Error):
            return base64.b64decode(b"".join(fields.split())).replace(b"\r\n", b"\n")
    return fields


def _words(value: bytes) -> str:
    return storable(" ".join(value.decode("utf-8", errors="replace").split()))
