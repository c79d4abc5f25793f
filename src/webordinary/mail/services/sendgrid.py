"""SendGrid: the Inbound Parse webhook, with the raw mail in a form and a signature over all of it."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from webordinary.core.errors import BadInput
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
    public_address,
    read_json,
    texts,
)
from webordinary.mail.services.form import Form

SIGNATURE = "x-twilio-email-event-webhook-signature"
TIME = "x-twilio-email-event-webhook-timestamp"
FIELDS = frozenset({"email", "envelope", "sender_ip"})


@dataclass(frozen=True, slots=True)
class SendGrid:
    """See `MailService`. The signature covers the whole request, so the client's address in it counts."""

    key: EllipticCurvePublicKey = field(repr=False)
    name: ClassVar[str] = "sendgrid"
    body_bytes_max: ClassVar[int] = MAIL_BYTES + 2 * MIB
    fetches: ClassVar[bool] = False
    signature_seconds: ClassVar[float] = 73 * 3600.0  # retries go on for 3 days; are they signed anew?
    final_status: ClassVar[int | None] = None

    def check_head(self, headers: Mapping[str, str], now: float) -> None:
        """See `MailService.check_head`."""
        if SIGNATURE not in headers:
            raise NotSigned("it has no signature: attach a security policy to the parse webhook")
        check_time(headers.get(TIME, ""), now, self.signature_seconds)

    def read(self, request: InboundRequest, now: float) -> InboundMail | None:
        """See `MailService.read`."""
        self.check_head(request.headers, now)
        signed = hashlib.sha256(request.headers[TIME].encode())
        signed.update(request.body)
        try:
            signature = base64.b64decode(request.headers[SIGNATURE], validate=True)
            self.key.verify(signature, signed.digest(), ECDSA(Prehashed(SHA256())))
        except (binascii.Error, ValueError, InvalidSignature) as error:
            raise NotSigned("its signature is wrong") from error
        form = Form(request, FIELDS)
        raw = form.raw("email")
        if raw is None:
            raise NotNow('it has no field email: switch on "POST the raw, full MIME message" in SendGrid')
        line = read_json(form.text("envelope"))
        mail_from = line.get("from")
        envelope = Envelope(
            peer=public_address(form.text("sender_ip").strip()) or self.name,
            mail_from=mail_from if isinstance(mail_from, str) else UNKNOWN_SENDER,
            recipients=texts(line.get("to")),
        )
        # Not the signature: another valid one can be made of it by anybody.
        return InboundMail(raw, envelope, token=signed.hexdigest())


def verification_key(text: str) -> EllipticCurvePublicKey:
    """Read the public key as SendGrid shows it, or as a PEM file has it."""
    lines = [line for line in text.strip().splitlines() if "-----" not in line]
    try:
        key = load_der_public_key(base64.b64decode("".join(lines), validate=True))
    except (binascii.Error, ValueError) as error:
        raise BadInput("[mail] inbound_sendgrid_key is no public key as SendGrid shows it") from error
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise BadInput("[mail] inbound_sendgrid_key is no key of the curve P-256")
    return key
