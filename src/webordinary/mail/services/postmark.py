"""Postmark: an inbound webhook in JSON, with the raw mail in it."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from webordinary.core.mail import Envelope
from webordinary.mail.services.delivery import (
    MAIL_BYTES,
    UNKNOWN_SENDER,
    InboundMail,
    InboundRequest,
    NotNow,
    NotSigned,
    read_json,
)


@dataclass(frozen=True, slots=True)
class Postmark:
    """See `MailService`. Postmark signs nothing: a password in the address of the webhook is all there is.

    No time is told, so no request is too old; its id is good for one mail.
    """

    password: bytes = field(repr=False)
    name: ClassVar[str] = "postmark"
    body_bytes_max: ClassVar[int] = 3 * MAIL_BYTES  # the mail, and its parts once more
    fetches: ClassVar[bool] = False
    signature_seconds: ClassVar[float] = 7 * 24 * 3600.0
    final_status: ClassVar[int | None] = 403

    def check_head(self, headers: Mapping[str, str], now: float) -> None:  # noqa: ARG002 - see the class
        """See `MailService.check_head`."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        try:
            password = base64.b64decode(given.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            password = b""
        if scheme.lower() != "basic" or not hmac.compare_digest(password, self.password):
            raise NotSigned("its password is missing or wrong")

    def read(self, request: InboundRequest, now: float) -> InboundMail | None:
        """See `MailService.read`."""
        self.check_head(request.headers, now)
        posted = read_json(request.body)
        raw, number = posted.get("RawEmail"), posted.get("MessageID")
        if not isinstance(raw, str) or not isinstance(number, str) or not number:
            raise NotNow('it has no RawEmail: switch on "Include raw email content in JSON payload"')
        envelope = Envelope(self.name, mail_from=UNKNOWN_SENDER, recipients=_recipients(posted))
        return InboundMail(raw.encode("utf-8", "surrogatepass"), envelope, token=number)


def _recipients(posted: dict[str, Any]) -> tuple[str, ...]:
    """Whom the mail was for: the address it came to, and those in its headers, for it may be forwarded."""
    found = [posted.get("OriginalRecipient")]
    for field_name in ("ToFull", "CcFull", "BccFull"):
        people = posted.get(field_name)
        if isinstance(people, list):
            found += [person.get("Email") for person in people if isinstance(person, dict)]
    return tuple(address for address in found if isinstance(address, str))
