"""Resend: a webhook that says which mail came in; the mail itself is fetched from Resend's API."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, ClassVar
from urllib.parse import urlsplit

from webordinary.core.errors import BadInput
from webordinary.core.mail import Envelope
from webordinary.mail.services.delivery import (
    BACK_SECONDS,
    MAIL_BYTES,
    MIB,
    UNKNOWN_SENDER,
    InboundMail,
    InboundRequest,
    NotNow,
    NotSigned,
    PayloadTooLarge,
    RequestRefused,
    check_time,
    read_json,
    texts,
)

RECEIVED = "email.received"
STORES = ("resend.com", "cloudfront.net")  # where the raw mail may be fetched from
FETCH_SECONDS = 12.0  # for both requests: the webhook is given up after 15
ANSWER_SECONDS = 5.0
_CHUNK_BYTES = 256 * 1024
_HANDLERS = (  # none for redirects, which could lead anywhere: one is an error
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.HTTPDefaultErrorHandler,
)
_ID = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resend:
    """See `MailService`. The signature is Svix's, made anew with every attempt."""

    secret: bytes = field(repr=False)
    api: ResendApi
    name: ClassVar[str] = "resend"
    body_bytes_max: ClassVar[int] = MIB
    fetches: ClassVar[bool] = True
    signature_seconds: ClassVar[float] = BACK_SECONDS
    final_status: ClassVar[int | None] = None

    def check_head(self, headers: Mapping[str, str], now: float) -> None:
        """See `MailService.check_head`."""
        if not _header(headers, "id") or not _header(headers, "signature"):
            raise NotSigned("it has no signature")
        check_time(_header(headers, "timestamp"), now, self.signature_seconds)

    def read(self, request: InboundRequest, now: float) -> InboundMail | None:
        """See `MailService.read`."""
        self.check_head(request.headers, now)
        number = _header(request.headers, "id")
        head = f"{number}.{_header(request.headers, 'timestamp')}.".encode()
        signature = base64.b64encode(hmac.digest(self.secret, head + request.body, "sha256"))
        given = _header(request.headers, "signature").encode().split(b" ")
        if not any(hmac.compare_digest(one, b"v1," + signature) for one in given):
            raise NotSigned("its signature is wrong")
        event = read_json(request.body)
        if event.get("type") != RECEIVED:
            return None
        data = event.get("data")
        email_id = data.get("email_id") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(email_id, str):
            raise RequestRefused("it says that a mail came in, and not which")
        raw = self.api.fetch(email_id)
        named = [address for key in ("received_for", "to", "cc", "bcc") for address in texts(data.get(key))]
        envelope = Envelope(self.name, mail_from=UNKNOWN_SENDER, recipients=tuple(named))
        return InboundMail(raw, envelope, token=number)


def webhook_secret(text: str) -> bytes:
    """Read the signing secret as Resend shows it."""
    try:
        return base64.b64decode(text.strip().removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise BadInput("[mail] inbound_resend_secret must look like whsec_...") from error


def _header(headers: Mapping[str, str], name: str) -> str:
    return headers.get(f"svix-{name}") or headers.get(f"webhook-{name}") or ""


class ResendApi:
    """Fetches mails, and nothing from anywhere else than Resend's own hosts."""

    def __init__(self, base: str, key: str) -> None:
        """Ask the API at this address, with this key."""
        self._base, self._key = base.rstrip("/"), key
        self._opener = urllib.request.OpenerDirector()
        for kind in _HANDLERS:
            self._opener.add_handler(kind())

    def __repr__(self) -> str:
        return f"ResendApi({self._base!r})"

    def fetch(self, email_id: str) -> bytes:
        """Fetch a mail as it came in. Whatever fails may work at the next attempt, unless it is too large."""
        if not _ID.fullmatch(email_id):
            raise RequestRefused("it says that a mail came in, and not which")
        until = time.monotonic() + FETCH_SECONDS
        try:
            about = self._get(f"{self._base}/emails/receiving/{email_id}", until, key=self._key)
            address = _download_address(json.loads(about))
            if not self._is_theirs(address):
                raise NotNow("Resend's API names a place for the mail that is not one of Resend's")
            return self._get(address, until)
        except urllib.error.HTTPError as error:
            error.close()
            hint = ": is inbound_resend_api_key one with full access?" if error.code in (401, 403) else ""
            raise NotNow(f"Resend's API answered {error.code} when asked for the mail{hint}") from error
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise NotNow(f"the mail could not be fetched from Resend ({type(error).__name__})") from error

    def _get(self, address: str, until: float, *, key: str = "") -> bytes:
        headers = {"User-Agent": "webordinary"} | ({"Authorization": f"Bearer {key}"} if key else {})
        asked = urllib.request.Request(address, headers=headers)  # noqa: S310 - `_is_theirs`, and the base is a setting
        found = bytearray()
        with self._opener.open(asked, timeout=ANSWER_SECONDS) as answer:
            while chunk := answer.read1(_CHUNK_BYTES):
                found += chunk
                if len(found) > MAIL_BYTES:
                    raise PayloadTooLarge(f"the mail has more than {MAIL_BYTES // MIB} MiB")
                if time.monotonic() > until:
                    raise NotNow("fetching the mail from Resend took too long")
        return bytes(found)

    def _is_theirs(self, address: str) -> bool:
        asked, base = urlsplit(address), urlsplit(self._base)
        if (asked.scheme, asked.netloc) == (base.scheme, base.netloc):
            return True
        host = f".{asked.hostname or ''}"
        plain = asked.scheme == "https" and asked.port in (None, 443) and not asked.username
        return plain and any(host.endswith(f".{store}") for store in STORES)


def _download_address(about: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    raw = about.get("raw") if isinstance(about, dict) else None
    address = raw.get("download_url") if isinstance(raw, dict) else None
    if not isinstance(address, str):
        raise NotNow("Resend's API says not where the raw mail is")
    return address
