"""What a mail service hands over, and how that is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Protocol

from webordinary.core.mail import Envelope
from webordinary.intake.limits import MAIL_BYTES as MAIL_BYTES  # noqa: PLC0414 - for each service's module

MIB = 1024 * 1024
AHEAD_SECONDS = 5 * 60.0  # a service's clock may be ahead of ours by this
BACK_SECONDS = 5 * 60.0  # for a signature that is made anew with every attempt
UNKNOWN_SENDER = "unknown"  # no null sender, which would mean a bounce; and no address, so SPF is not asked

_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


class RequestRefused(Exception):
    """The request is not taken; the message says why. This one is final: no other attempt can help."""


class PayloadTooLarge(RequestRefused):
    """More than we take."""


class NotSigned(RequestRefused):
    """Nothing shows that the service sent it. Not final: a key may be put right before the next attempt."""


class NotNow(RequestRefused):
    """Another attempt may help."""


@dataclass(frozen=True, slots=True)
class InboundRequest:
    """What was posted."""

    headers: Mapping[str, str]  # by names in lower case
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class InboundMail:
    """A mail that the service really handed over."""

    raw: bytes = field(repr=False)
    envelope: Envelope  # recipients: all that are named, ours or not
    token: str  # of this signature; it is good for one mail


class MailService(Protocol):
    """How one service signs, and where in its request the mail is."""

    @property
    def name(self) -> str:
        """As it is in the address of the request and in settings."""
        ...

    @property
    def body_bytes_max(self) -> int:
        """How large a request may be that carries a mail of `MAIL_BYTES`."""
        ...

    @property
    def fetches(self) -> bool:
        """Whether the mail is not in the request: then reading takes time."""
        ...

    @property
    def signature_seconds(self) -> float:
        """How old a signature may be; at least so long its token is remembered."""
        ...

    @property
    def final_status(self) -> int | None:
        """The one status by which this service gives a mail up; None: 413 and 422 are as good as any."""
        ...

    def check_head(self, headers: Mapping[str, str], now: float) -> None:
        """Raise `NotSigned` for what the headers alone show, before the body is read."""
        ...

    def read(self, request: InboundRequest, now: float) -> InboundMail | None:
        """Check the signature and take the mail out; None: it is no mail. May wait: call it in a thread."""
        ...


def check_time(text: str, now: float, back_seconds: float = BACK_SECONDS) -> None:
    """Raise `NotSigned` unless a signature was made not long ago."""
    if not _SECONDS.fullmatch(text):
        raise NotSigned("the time of its signature is missing or no number of seconds")
    age = now - int(text)
    if age > back_seconds:
        raise NotSigned(f"it was signed {age:.0f} seconds ago; {back_seconds:.0f} are allowed")
    if -age > AHEAD_SECONDS:
        raise NotSigned(f"it was signed {-age:.0f} seconds in the future; is this machine's clock right?")


def read_json(text: bytes | str) -> dict[str, Any]:
    """Read a JSON object; raise `RequestRefused` for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RequestRefused("what was posted is no JSON object")
    return found


def texts(found: object) -> tuple[str, ...]:
    """The texts of a JSON list; whatever else is in it is left out."""
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def public_address(text: str) -> str:
    """An IP address of the internet, as it is written; "" for anything else, above all for this machine."""
    try:
        return text if ip_address(text).is_global else ""
    except ValueError:
        return ""
