"""Mailgun: a route that forwards the raw mail, as a form."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from webordinary.core.mail import Envelope
from webordinary.mail.services.delivery import (
    MAIL_BYTES,
    MIB,
    UNKNOWN_SENDER,
    InboundMail,
    InboundRequest,
    NotNow,
    NotSigned,
    check_time,
)
from webordinary.mail.services.form import Form

FIELDS = frozenset({"timestamp", "token", "signature", "recipient", "sender", "body-mime"})


@dataclass(frozen=True, slots=True)
class Mailgun:
    """See `MailService`. Signed are a time and a token, with one key for the account; the mail is not.

    So nothing that came with the signature proves anything about the mail's origin: its own DKIM signature
    must.
    """

    key: bytes = field(repr=False)  # the HTTP webhook signing key
    name: ClassVar[str] = "mailgun"
    body_bytes_max: ClassVar[int] = 2 * MAIL_BYTES  # every odd byte may take three
    fetches: ClassVar[bool] = False
    signature_seconds: ClassVar[float] = 9 * 3600.0  # retries go on for 8 hours with the first signature
    final_status: ClassVar[int | None] = 406

    def check_head(self, headers: Mapping[str, str], now: float) -> None:
        """See `MailService.check_head`: all is in the body."""

    def read(self, request: InboundRequest, now: float) -> InboundMail | None:
        """See `MailService.read`."""
        form = Form(request, FIELDS)
        time, token = form.text("timestamp"), form.text("token")
        if not time or not token:
            raise NotSigned("it has no signature")
        signed = hmac.new(self.key, f"{time}{token}".encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signed.encode(), form.text("signature").strip().lower().encode()):
            raise NotSigned("its signature is wrong")
        check_time(time, now, self.signature_seconds)
        raw = form.raw("body-mime")
        if raw is None:
            raise NotNow("it has no field body-mime: the address in the route has to end in /mime")
        recipients = tuple(address.strip() for address in form.text("recipient").split(","))
        return InboundMail(
            raw,
            Envelope(self.name, mail_from=form.text("sender", UNKNOWN_SENDER), recipients=recipients),
            token=f"{time} {token}",
        )


assert Mailgun.body_bytes_max > MAIL_BYTES + MIB
