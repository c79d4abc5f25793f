"""Cloudflare: an Email Worker of the operator's that posts the raw mail; docs/mail-services.md has it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import unquote

from webordinary.core.mail import Envelope
from webordinary.mail.services.delivery import (
    BACK_SECONDS,
    MAIL_BYTES,
    InboundMail,
    InboundRequest,
    NotSigned,
    check_time,
)

TIME, SENDER, RECIPIENT, SIGNATURE = (f"x-webordinary-{name}" for name in ("time", "from", "to", "signature"))


@dataclass(frozen=True, slots=True)
class Cloudflare:
    """See `MailService`. The scheme is ours: time, MAIL FROM, RCPT TO and the mail's hash, under a secret."""

    secret: bytes = field(repr=False)
    name: ClassVar[str] = "cloudflare"
    body_bytes_max: ClassVar[int] = MAIL_BYTES
    fetches: ClassVar[bool] = False
    signature_seconds: ClassVar[float] = BACK_SECONDS
    final_status: ClassVar[int | None] = None

    def check_head(self, headers: Mapping[str, str], now: float) -> None:
        """See `MailService.check_head`."""
        if any(name not in headers for name in (TIME, SENDER, RECIPIENT, SIGNATURE)):
            raise NotSigned("it has no signature, or lacks a header that is signed")
        check_time(headers[TIME], now, self.signature_seconds)

    def read(self, request: InboundRequest, now: float) -> InboundMail | None:
        """See `MailService.read`."""
        self.check_head(request.headers, now)
        line = [request.headers[name] for name in (TIME, SENDER, RECIPIENT)]
        signed = "\n".join([*line, hashlib.sha256(request.body).hexdigest()]).encode()
        signature = hmac.new(self.secret, signed, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature.encode(), request.headers[SIGNATURE].lower().encode()):
            raise NotSigned("its signature is wrong")
        envelope = Envelope(
            self.name,
            mail_from=unquote(request.headers[SENDER]),
            recipients=(unquote(request.headers[RECIPIENT]),),
        )
        return InboundMail(request.body, envelope, token=signature)
