"""What can be found out about who sent a mail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from webordinary.core.mail import Envelope, SignedParts


@dataclass(frozen=True, slots=True)
class Spf:
    """What SPF says about the MAIL FROM domain. HELO is never asked: it names a machine, not a sender."""

    result: str = "none"  # none, pass, fail, softfail, neutral, temperror, permerror
    domain: str = ""  # of MAIL FROM; "" if there is none that can be read in one way only
    organization: str = ""  # of that domain, by the public suffix list
    note: str = ""  # why it was not asked, or why a pass is none, in plain words
    mailbox: str = ""  # the whole MAIL FROM address, lower case; "" if only its domain is known


@dataclass(frozen=True, slots=True)
class Signature:
    """One DKIM signature of the mail."""

    domain: str  # whose it claims to be (d=); "" if that can't be read in one way only
    organization: str = ""
    problem: str = ""  # why it does not count, in plain words; "" if it verified
    parts: SignedParts = field(default_factory=SignedParts)
    age_seconds: float | None = None  # since it was made (t=) or else the mail (Date); None: nobody knows


@dataclass(frozen=True, slots=True)
class Dmarc:
    """What the From domain, or its organization, publishes about mail in its name."""

    policy: str = ""  # none, quarantine, reject; "" if it publishes nothing
    strict_dkim: bool = False
    strict_spf: bool = False
    known: bool = True  # False: it could not be looked up just now


@dataclass(frozen=True, slots=True)
class Upstream:
    """What the topmost Authentication-Results header says. Whether to believe it is decided in intake."""

    server: str  # the authserv-id, lower case; "" if it names none, as Microsoft 365 does
    dmarc: str = ""  # its result; "" if it says nothing
    dmarc_domain: str = ""  # the From domain it was about
    spf: Spf = Spf()
    signatures: tuple[Signature, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """Facts about a mail's origin; what they mean is decided in intake."""

    from_address: str  # the one they are about, lower case
    organization: str = ""  # of the From domain, by the public suffix list
    peer: str = ""  # IP address of who handed the mail over; "" where nobody knows
    doubt: str = ""  # why nothing may be concluded: two programs could read two senders; "" if all is clear
    spf: Spf = Spf()
    signatures: tuple[Signature, ...] = ()
    claimed: tuple[
        Signature, ...
    ] = ()  # the same and more, as they describe themselves: nothing was verified
    to: tuple[str, ...] = ()  # the addresses in the To header, lower case
    cc: tuple[str, ...] = ()
    dmarc: Dmarc = Dmarc()
    upstream: Upstream | None = None
    upstream_run: Upstream | None = None  # the same, and those of the same server right below it, as one
    unsure: bool = False  # an answer is missing that could show the sender to be true: asking later may help
    unread: int = 0  # signatures beyond the limit, not looked at


class MailChecks(Protocol):
    """Evaluates SPF, DKIM and DMARC. The resolver behind it is its own affair."""

    async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
        """Find out what there is, in bounded time. Problems are facts too; it never raises for a bad mail."""
        ...
