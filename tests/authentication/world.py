"""A small internet in a zone file: an honest owner, a spoofer with a valid domain, and the mail of both."""

import base64
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from functools import cache

import dkim  # type: ignore[import-untyped]
from dkim.canonicalization import CanonicalizationPolicy  # type: ignore[import-untyped]

from tests.authentication.keys import HAS_ED25519, Key, ed25519_key, rsa_key
from webordinary.core.mail import Authentication, Envelope, ParsedMail, Stretch, StretchKind
from webordinary.intake.authenticate import Trust, authenticate
from webordinary.mail.checks.checks import OriginChecks
from webordinary.mail.checks.resolvers import ZoneResolver
from webordinary.ports.mail_checks import Checks
from webordinary.system.clock import SystemClock

OWNER = "owner@victim.example"
EVIL = "mallory@evil.example"
MAIL_SERVER, EVIL_SERVER, RELAY = "192.0.2.10", "203.0.113.66", "198.51.100.5"
UPSTREAM = "mx.upstream.example"
US = "edit@us.example"

# PSL: `co.uk` and `github.io` are public suffixes; `example` is one like any unknown top-level name.
ZONE = r"""
$TTL 300
_dmarc.victim.example.              TXT "v=DMARC1; p=reject; rua=mailto:d@victim.example"
victim.example.                     TXT "v=spf1 ip4:192.0.2.10 ip4:198.51.100.5 ip4:127.0.0.1 -all"
bounce.victim.example.              TXT "v=spf1 ip4:192.0.2.10 -all"
helo.victim.example.                TXT "v=spf1 ip4:192.0.2.10 -all"
revoked._domainkey.victim.example.  TXT "v=DKIM1; k=rsa; p="
_dmarc.strict.example.              TXT "v=DMARC1; p=quarantine; adkim=s; aspf=s"
strict.example.                     TXT "v=spf1 ip4:192.0.2.10 -all"
mail.strict.example.                TXT "v=spf1 ip4:192.0.2.10 -all"
quiet.example.                      TXT "hello"
soft.example.                       TXT "v=spf1 ip4:192.0.2.10 ~all"
firm.example.                       TXT "v=spf1 ip4:192.0.2.10 -all"
open.example.                       TXT "v=spf1 +all"
wide.example.                       TXT "v=spf1 ip4:192.0.2.10/0 -all"
_dmarc.parent.example.              TXT "v=DMARC1; p=none; sp=reject"
parent.example.                     TXT "v=spf1 ip4:192.0.2.10 -all"
evil.example.                       TXT "v=spf1 ip4:203.0.113.66 -all"
_dmarc.evil.example.                TXT "v=DMARC1; p=reject"
any.evil.example.                   TXT "v=spf1 ip4:203.0.113.66 -all"
victim.example'\@any.evil.example.  TXT "v=spf1 ip4:203.0.113.66 -all"
victim.example\(a.evil.example.     TXT "v=spf1 ip4:203.0.113.66 -all"
shop.co.uk.                         TXT "v=spf1 ip4:192.0.2.10 -all"
evil.co.uk.                         TXT "v=spf1 ip4:203.0.113.66 -all"
site.github.io.                     TXT "v=spf1 ip4:192.0.2.10 -all"
xn--victm-jza.example.              TXT "v=spf1 ip4:203.0.113.66 -all"
"""

SIGNERS = {  # name in the zone: bits and seed of its RSA key
    "s1._domainkey.victim.example.": (2048, 1),
    "s1._domainkey.strict.example.": (2048, 1),
    "s1._domainkey.mail.strict.example.": (2048, 1),
    "s1._domainkey.quiet.example.": (2048, 1),
    "s1._domainkey.shop.co.uk.": (2048, 1),
    "s1._domainkey.site.github.io.": (2048, 1),
    "old._domainkey.victim.example.": (1024, 3),
    "short._domainkey.victim.example.": (768, 4),
    "s1._domainkey.evil.example.": (1024, 2),
    "s1._domainkey.evil.co.uk.": (1024, 2),
    "s1._domainkey.evil.github.io.": (1024, 2),
    "s1._domainkey.co.uk.": (1024, 2),
    "s1._domainkey.xn--victm-jza.example.": (1024, 2),
    r"s1._domainkey.victim.example'a.evil.example.": (1024, 2),
    r"s1._domainkey.victim.example\(.evil.example.": (1024, 2),
    r"s1._domainkey.evil.example.\000.any._domainkey.victim.example.": (1024, 2),
}


def quoted(record: str) -> str:
    """A long text as the strings of a TXT record."""
    return " ".join(f'"{record[at : at + 200]}"' for at in range(0, len(record), 200))


@cache
def resolver() -> ZoneResolver:
    lines = [f"{name} TXT {quoted(rsa_key(*made).record)}" for name, made in SIGNERS.items()]
    lines += [
        f"twice._domainkey.victim.example. TXT {quoted(key_of(whose).record)}"
        for whose in ("victim.example", "evil.example")
    ]
    if HAS_ED25519:
        lines.append(f"ed._domainkey.victim.example. TXT {quoted(ed25519_key(1).record)}")
    return ZoneResolver(ZONE + "\n".join(lines) + "\n")


def key_of(domain: str, selector: str = "s1") -> Key:
    return rsa_key(*SIGNERS[f"{selector}._domainkey.{domain}."])


# --- mail -----------------------------------------------------------------------------------------

BODY = "Please change the title to Spring Sale.\r\n\r\nThank you\r\n"


def by_owner(mail_from: str = OWNER, helo: str = "mail.victim.example") -> Envelope:
    return Envelope(MAIL_SERVER, helo, mail_from, ("edit@us.example",))


def by_evil(mail_from: str = "bounce@evil.example", helo: str = "mail.evil.example") -> Envelope:
    return Envelope(EVIL_SERVER, helo, mail_from, ("edit@us.example",))


def by_relay(mail_from: str = OWNER) -> Envelope:
    """Through a server that is not the sender's: only a signature survives that."""
    return Envelope(RELAY, "relay.example", mail_from, ("edit@us.example",))


def from_mailbox() -> Envelope:
    return Envelope()


@dataclass(frozen=True)
class Sent:
    """A mail on its way to us, and the sender that its maker wants us to see."""

    raw: bytes
    claimed: str = OWNER
    envelope: Envelope = field(default_factory=by_evil)


def letter(sender: str | bytes = OWNER, body: str = BODY, **headers: str) -> bytes:
    """An ordinary mail. `sender` as bytes stands for all lines of its From header, or headers."""
    lines = [sender] if isinstance(sender, bytes) else [f"From: {sender}".encode()]
    fields = {
        "To": "edit@us.example",
        "Subject": "The homepage",
        "Date": "Mon, 06 Apr 2026 09:00:00 +0200",
        "Message-ID": "<1@victim.example>",
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    lines += [f"{name}: {value}".encode() for name, value in fields.items() if value]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body.encode()


HEADERS = ("from", "to", "subject", "date", "message-id", "mime-version", "content-type")


def signed(
    raw: bytes,
    domain: str = "victim.example",
    selector: str = "s1",
    key: Key | None = None,
    covers: Sequence[str] = HEADERS,
    tags: Mapping[str, str] | None = None,
) -> bytes:
    """Sign with dkimpy, with tags of any kind: a spoofer's signature is a real one, too."""
    key = key or key_of(domain, selector)
    signer = dkim.DKIM(raw, signature_algorithm=f"{key.kind}-sha256".encode())
    chosen = {
        "v": "1",
        "a": f"{key.kind}-sha256",
        "c": "relaxed/relaxed",
        "d": domain,
        "s": selector,
        "t": str(int(time.time()) - 60),
        "h": ":".join(covers),
    } | dict(tags or {})
    signer.signature_algorithm = (
        chosen["a"] if chosen["a"].startswith(key.kind) else f"{key.kind}-sha256"
    ).encode()
    signer.hasher = dkim.HASH_ALGORITHMS[signer.signature_algorithm]
    policy = CanonicalizationPolicy.from_c_value(chosen["c"].encode())
    body = policy.canonicalize_body(signer.body)
    body = body[: int(chosen["l"])] if "l" in chosen else body
    digest = base64.b64encode(signer.hasher(body).digest()).decode()
    chosen |= {"bh": digest, "b": "0" * 60}
    encoded = [(name.encode(), value.encode()) for name, value in chosen.items()]
    header = signer.gen_header(
        encoded, [name.encode() for name in covers], policy, b"DKIM-Signature", key.private
    )
    return b"DKIM-Signature: " + bytes(header) + raw


def parsed(address: str) -> ParsedMail:
    """What a reader made of a mail, as far as authentication looks at it."""
    return ParsedMail(
        message_id="<1@victim.example>",
        content_hash=hashlib.sha256(address.encode()).hexdigest(),
        from_address=address,
        from_domain=address.rpartition("@")[2],
        subject="The homepage",
        stretches=(Stretch(StretchKind.OWN, "Please change the title to Spring Sale."),),
        in_reply_to=(),
        references=(),
        session_header="",
    )


# --- the checks of it -----------------------------------------------------------------------------


async def checked(sent: Sent) -> Checks:
    checks = OriginChecks(resolver(), SystemClock())
    try:
        return await checks.check(sent.raw, sent.envelope, sent.claimed)
    finally:
        checks.close()


async def verdict(sent: Sent, trust: Trust, mail: ParsedMail | None = None) -> Authentication:
    """What becomes of a mail at `US`; as a reader should see it, unless it was really read."""
    subject = str(message_from_bytes(sent.raw)["subject"] or "")
    mail = mail or replace(parsed(sent.claimed), subject=subject)
    return authenticate(mail, await checked(sent), replace(trust, addresses=(US,)))


# --- what the libraries would say alone -----------------------------------------------------------


def dkimpy_says(raw: bytes) -> bool:
    def key(name: bytes, timeout: int) -> bytes | None:
        texts = ZoneResolver.txt(resolver(), name.decode().rstrip("."))
        return texts[0] if texts else None

    try:
        return bool(dkim.verify(raw, dnsfunc=key))
    except dkim.DKIMException:
        return False
