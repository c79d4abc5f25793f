"""DKIM signatures, verified by dkimpy, each only if it covers what we act on.

Guards around dkimpy, which
- takes a signature that does not cover From, or that covers only the beginning of the body (l=)
- signs the bottommost of two equal headers, while a mail parser reads the topmost
- reads `d=victim.example'x.evil.example` as a name, looked up in evil's zone
- takes rsa-sha1, and signatures ten hours after they expired
- answers False alike for a forged signature, a revoked key and a DNS that does not answer
- needs minutes for a body with a long run of spaces, as its expressions are quadratic, and any time at all
  for a monstrous key; neither can be interrupted from outside
- repairs headers in its own way; so it never sees the mail, only the fields that we read
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace

import dkim  # type: ignore[import-untyped]

from webordinary.core.mail import SignedParts
from webordinary.intake.signed_view import relaxed
from webordinary.mail.checks.dmarc import organization
from webordinary.mail.checks.headers import Field, Message, date_of, plain_domain, plain_selector
from webordinary.ports.mail_checks import Signature
from webordinary.ports.resolver import LookupFailed, Resolver

SIGNATURES_MAX = 8
CLAIMED_MAX = 100
SIGNATURE_BYTES_MAX = 4096
KEY_BITS_MIN, KEY_BITS_MAX, EXPONENT_BITS_MAX = 1024, 8192, 64
CLOCK_SLACK_SECONDS = 300

ONCE = (  # headers that may be there once; read from the top by a parser, signed from the bottom
    *("from", "sender", "reply-to", "to", "cc", "date", "subject", "message-id", "in-reply-to", "references"),
    *("mime-version", "content-type", "content-transfer-encoding"),
)
ALGORITHMS = {"rsa-sha256": b"rsa", "ed25519-sha256": b"ed25519"}
REQUIRED = ("v", "a", "d", "s", "h", "b", "bh")
UNANSWERED = "its key could not be looked up just now"
PART_OF_BODY = "it covers only a part of the body"

_TAG = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII | re.IGNORECASE)
_SPACE = " \t\r\n"
_NUMBER = re.compile(r"[0-9]{1,12}", re.ASCII)
_BREAK = re.compile(rb"\r?\n")

_SILENT = logging.Logger("dkimpy")  # noqa: LOG001 - for nobody to find: it quotes strangers; see the facts
_SILENT.addHandler(logging.NullHandler())


class _Problem(Exception):
    """Why a signature does not count, in plain words."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A signature header, read."""

    index: int  # among the signatures, topmost first
    domain: str
    tags: dict[str, str]
    problem: str = ""

    @property
    def parts(self) -> SignedParts:
        """What it covers."""
        headers = (name.strip(_SPACE).lower() for name in self.tags.get("h", "").split(":"))
        return SignedParts(frozenset(headers), self.tags.get("c", "").partition("/")[2] == "relaxed")

    def age_seconds(self, message: Message, now: float | None) -> float | None:
        """How long ago it was made; None if it does not say."""
        made = self.tags.get("t", "")
        at = float(made) if _NUMBER.fullmatch(made) else date_of(message)
        return now - at if now is not None and at is not None else None


def claimed_signatures(message: Message, now: float | None) -> tuple[Signature, ...]:
    """Read what the signatures say of themselves. Whether they are good is for others to tell."""
    fields = message.named("dkim-signature")
    found = [_checked(_read(index, field), message, now) for index, field in enumerate(fields[:CLAIMED_MAX])]
    return (*found, *[Signature("", problem="there are too many")][: len(fields) - len(found)])


def check_signatures(
    message: Message, from_domain: str, resolver: Resolver, now: float
) -> tuple[Signature, ...]:
    """Verify every signature, up to a limit; those of the sender's own organization first."""
    ours = organization(from_domain)
    claims = [_read(index, field) for index, field in enumerate(message.named("dkim-signature"))]
    claims.sort(key=lambda claim: organization(claim.domain) != ours)
    signer = _Signer(message, resolver)
    return tuple(_checked(claim, message, now, signer) for claim in claims[:SIGNATURES_MAX])


def _read(index: int, field: Field) -> _Claim:
    """Read a signature header: whose it is, and its tags."""
    if len(field.value) > SIGNATURE_BYTES_MAX or not field.value.isascii():
        return _Claim(index, "", {}, "it is too long, or not written in ASCII")
    tags = read_tags(field.value.decode("ascii")) or {}
    missing = [tag for tag in REQUIRED if not tags.get(tag)]
    if missing:
        return _Claim(index, "", {}, "it can't be read, or its parts are missing")
    domain = plain_domain(tags["d"])
    if not domain or "." not in domain or not plain_selector(tags["s"]):
        return _Claim(index, "", {}, "its domain or selector is not plainly a name")
    return _Claim(index, domain, tags)


def _checked(claim: _Claim, message: Message, now: float | None, signer: _Signer | None = None) -> Signature:
    """Check a signature, and verify it if there is something to verify it by."""
    signature = Signature(
        claim.domain,
        organization(claim.domain) if claim.domain else "",
        claim.problem,
        claim.parts,
        claim.age_seconds(message, now),
    )
    if claim.problem:
        return signature
    try:
        _refuse_tags(claim.tags, now)
        _refuse_headers(signature.parts, message)
        if signer is not None:
            signer.verify(claim)
    except _Problem as problem:
        return replace(signature, problem=str(problem))
    except Exception as error:  # noqa: BLE001 - a stranger wrote it; whatever the library trips over is no signature
        return replace(signature, problem=f"it can't be verified ({type(error).__name__})")
    is_partial = signer is None and "l" in claim.tags  # verifying would tell whether that is all of the body
    return replace(signature, problem=PART_OF_BODY) if is_partial else signature


def _refuse_tags(tags: dict[str, str], now: float | None) -> None:
    if tags["a"] not in ALGORITHMS:
        raise _Problem("its algorithm is too weak or unknown")
    expiry = tags.get("x")
    if expiry is None or now is None:
        return
    if not _NUMBER.fullmatch(expiry) or int(expiry) + CLOCK_SLACK_SECONDS < now:
        raise _Problem("it has expired")


def _refuse_headers(parts: SignedParts, message: Message) -> None:
    """Refuse what lets another sender, or another copy of a header, be read than the one that is signed."""
    if "from" not in parts.headers:
        raise _Problem("it does not cover the From header")
    for name in ONCE:
        if len(message.named(name)) > 1:
            raise _Problem(f"the {name.title()} header is there more than once")


# --- keys -----------------------------------------------------------------------------------------


def _key(claim: _Claim, resolver: Resolver) -> bytes:
    """Find the one public key of a signature, and refuse it unless it is a sound one."""
    try:
        texts = resolver.txt(f"{claim.tags['s']}._domainkey.{claim.domain}")
    except LookupFailed as error:
        raise _Problem(UNANSWERED) from error
    keys = [
        (text, tags) for text in texts if "p" in (tags := read_tags(text.decode("ascii", "replace")) or {})
    ]
    if len(keys) != 1:
        raise _Problem("its key is not published" if not keys else "more than one key is published for it")
    text, tags = keys[0]
    if not tags["p"]:
        raise _Problem("its key was revoked")
    _refuse_key(text, ALGORITHMS[claim.tags["a"]])
    return text


def _refuse_key(text: bytes, kind: bytes) -> None:
    try:
        key, bits, found, _ = dkim.evaluate_pk("its key", text)
    except dkim.NaClNotFoundError as error:
        raise _Problem("ed25519 can't be verified here: PyNaCl is not installed") from error
    except Exception as error:
        raise _Problem("its key can't be read") from error
    if found != kind:
        raise _Problem("its key is of another kind than its algorithm")
    if found == b"rsa" and bits < KEY_BITS_MIN:
        raise _Problem(f"its key is too short ({bits} bits)")
    if found == b"rsa" and (bits > KEY_BITS_MAX or key["publicExponent"].bit_length() > EXPONENT_BITS_MAX):
        raise _Problem("its key is too large to be used")


# --- verifying ------------------------------------------------------------------------------------


class _Signer:
    """dkimpy, given the headers that we read and a body that it can't choke on."""

    def __init__(self, message: Message, resolver: Resolver) -> None:
        self._resolver = resolver
        self._headers = [[field.name, field.value] for field in message.fields]
        self._simple = _one_end(_with_crlf(message.body))
        self._relaxed: bytes | None = None

    def verify(self, claim: _Claim) -> None:
        """Verify a signature, or raise `_Problem`."""
        key = _key(claim, self._resolver)
        verifier = dkim.DKIM(logger=_SILENT, minkey=KEY_BITS_MIN)
        verifier.headers = self._headers
        verifier.body = self._body(claim.tags.get("c", "simple/simple"))
        self._refuse_length(claim.tags, verifier.body)
        try:
            good = verifier.verify(claim.index, dnsfunc=lambda _, timeout: key)  # noqa: ARG005 - as dkimpy asks
        except dkim.ValidationError as error:
            raise _Problem(_in_plain_words(str(error))) from error
        if not good:
            raise _Problem("it does not match the mail or its key: forged, or changed on its way")

    def _body(self, canonical: str) -> bytes:
        """The body in canonical form, made in linear time; dkimpy makes it again, which changes nothing."""
        if canonical.partition("/")[2] != "relaxed":
            return self._simple
        if self._relaxed is None:
            self._relaxed = _one_end(relaxed(self._simple))
        return self._relaxed

    def _refuse_length(self, tags: dict[str, str], body: bytes) -> None:
        """Refuse a signature of only a part of the body: the rest is anybody's."""
        if "l" not in tags:
            return
        policy = dkim.CanonicalizationPolicy.from_c_value(tags.get("c", "simple/simple").encode())
        if not _NUMBER.fullmatch(tags["l"]) or int(tags["l"]) != len(policy.canonicalize_body(body)):
            raise _Problem(PART_OF_BODY)


def _with_crlf(body: bytes) -> bytes:
    """End all lines as they were signed."""
    return body if body.count(b"\n") == body.count(b"\r\n") else _BREAK.sub(b"\r\n", body)


def _one_end(body: bytes) -> bytes:
    """Drop all empty lines at the end but one: no canonical form keeps more."""
    text = body.rstrip(b"\r\n")
    end = body[len(text) :]
    return text + b"\r\n" if end and end == b"\r\n" * (len(end) // 2) else body


def _in_plain_words(error: str) -> str:
    return "the body was changed after signing" if error.startswith("body hash") else "it is not valid"


def read_tags(text: str) -> dict[str, str] | None:
    """Read `tag=value` pairs; None if they are none, or a tag is there twice. A last semicolon is fine."""
    found: dict[str, str] = {}
    parts = text.strip(_SPACE).removesuffix(";").split(";")
    for part in parts:
        tag, equals, value = part.partition("=")
        tag = tag.strip(_SPACE)
        if not equals or not _TAG.fullmatch(tag) or tag in found:
            return None
        found[tag] = value.strip(_SPACE)
    return found
