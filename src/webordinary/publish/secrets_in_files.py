"""Secrets by their shape: what must never be put on a public site. The secret itself is never told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

SCANNED_BYTES = 4_000_000  # of one file, from its beginning
_BINARY_SIGN_WITHIN = 8_000  # a NUL within so many bytes: not text
_DIFFERENT_BYTES_MIN = 8  # "sk-ant-xxxxxxxxxxxxxxxx" and the like are there to be replaced
_MADE_UP = (b"example", b"your", b"xxxx", b"placeholder", b"....", b"****")

_NAMES = re.compile(
    r"(?P<key>id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|ppk))"
    r"|(?P<store>.*\.(p12|pfx|jks|keystore|kdbx))"
    r"|(?P<passwords>.*\.env|credentials\.csv|htpasswd|.*_accesskeys\.csv)",
    re.IGNORECASE,
)
_NAME_KINDS = {
    "key": "its name is that of a private key",
    "store": "its name is that of a store of keys or passwords",
    "passwords": "its name is that of a file with passwords",
}


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of secret. Only where the mark is found the slower pattern is tried."""

    kind: str
    mark: bytes
    pattern: re.Pattern[bytes]


def _shape(kind: str, mark: str, pattern: str) -> _Shape:
    return _Shape(kind, mark.encode(), re.compile(pattern.encode()))


_SHAPES = (
    # Prose about keys has the first line; only a key goes on with its letters.
    _shape("a private key", " PRIVATE KEY", r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----"
           r"(?s:.){0,300}?(?P<secret>[A-Za-z0-9+/]{40,})"),
    # Not in a signed address, which has it in the open.
    _shape("an AWS access key", "AKIA", r"(?<![A-Za-z0-9=])(?P<secret>AKIA[A-Z2-7]{16})(?![A-Za-z0-9])"),
    _shape("an AWS access key", "ASIA", r"(?<![A-Za-z0-9=])(?P<secret>ASIA[A-Z2-7]{16})(?![A-Za-z0-9])"),
    _shape("an AWS secret key", "aws_secret_access_key",
           r"aws_secret_access_key[\"']?\s{0,5}[=:]\s{0,5}[\"']?(?P<secret>[A-Za-z0-9/+]{40})"),
    _shape("an AWS secret key", "AWS_SECRET_ACCESS_KEY",
           r"AWS_SECRET_ACCESS_KEY[\"']?\s{0,5}[=:]\s{0,5}[\"']?(?P<secret>[A-Za-z0-9/+]{40})"),
    _shape("an Anthropic key", "sk-ant-", r"sk-ant-(?P<secret>[A-Za-z0-9_-]{20,})"),
    _shape("an OpenAI key", "sk-proj-", r"sk-proj-(?P<secret>[A-Za-z0-9_-]{40,})"),
    _shape("a GitHub token", "gh", r"(?<![A-Za-z0-9])gh[pousr]_(?P<secret>[A-Za-z0-9]{36,})"),
    _shape("a GitHub token", "github_pat_", r"github_pat_(?P<secret>[A-Za-z0-9_]{50,})"),
    _shape("a GitLab token", "glpat-", r"glpat-(?P<secret>[A-Za-z0-9_-]{20,})"),
    _shape("a Slack token", "xox", r"xox[abprs]-(?P<secret>[0-9]{8,}-[A-Za-z0-9-]{16,})"),
    _shape("a Stripe secret key", "k_live_", r"[sr]k_live_(?P<secret>[A-Za-z0-9]{20,})"),
    _shape("a SendGrid key", "SG.", r"(?<![A-Za-z0-9])SG\.(?P<secret>[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
    _shape("an npm token", "npm_", r"(?<![A-Za-z0-9_])npm_(?P<secret>[A-Za-z0-9]{36})(?![A-Za-z0-9])"),
)  # fmt: skip


def secret_by_name(path: str) -> str | None:
    """Say why a file of this name must not be public; None if it may."""
    found = _NAMES.fullmatch(PurePosixPath(path).name)
    return None if found is None or found.lastgroup is None else _NAME_KINDS[found.lastgroup]


def secret_inside(beginning: bytes) -> str | None:
    """Say what kind of secret is in the beginning of a text; None if none was found."""
    if b"\0" in beginning[:_BINARY_SIGN_WITHIN]:
        return None
    for shape in _SHAPES:
        if shape.mark in beginning and any(_is_real(m["secret"]) for m in shape.pattern.finditer(beginning)):
            return f"it has {shape.kind} in it"
    return None


def _is_real(secret: bytes) -> bool:
    lowered = secret.lower()
    return len(set(lowered)) >= _DIFFERENT_BYTES_MIN and not any(word in lowered for word in _MADE_UP)
