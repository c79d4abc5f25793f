"""Our own mail, signed with DKIM (RFC 6376, RFC 8463), and the DNS record that whoever checks it looks up."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from dataclasses import dataclass, field
from pathlib import Path

import dkim  # type: ignore[import-untyped]
from dkim.crypto import UnparsableKeyError, parse_pem_private_key  # type: ignore[import-untyped]

from webordinary.core.errors import BadInput
from webordinary.ports.mailer import Mailer, Rejected, Sent, TryLater

KEY_FILE_BYTES = 64 * 1024
TXT_CHARACTERS = 255
RSA_BITS_MIN = 1024  # RFC 8301: nobody has to accept less
RSA, ED25519 = "rsa-sha256", "ed25519-sha256"
# Once more than a letter has it: another field of that name would break the signature.
SIGNED_FIELDS = (
    *("From", "To", "Reply-To", "Subject", "Date", "Message-ID", "In-Reply-To", "References"),
    *("MIME-Version", "Content-Type", "Auto-Submitted", "X-Webordinary-Session"),
)
_PEM = re.compile(rb"-----BEGIN (RSA )?PRIVATE KEY-----\s(.*?)-----END", re.DOTALL)
_ED25519_PKCS8 = bytes.fromhex("302e020100300506032b657004220420")  # RFC 8410: then 32 bytes, the key
_RSA_ENCRYPTION = bytes.fromhex("300d06092a864886f70d0101010500")  # the algorithm's name in a public key
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class DkimSigner:
    """Signs messages in the name of a domain."""

    selector: str
    domain: str
    algorithm: str
    key: bytes = field(repr=False)  # as dkimpy wants it: PEM, or base64 of an Ed25519 key
    public: str  # base64

    @property
    def record_name(self) -> str:
        """Where the public key is published."""
        return f"{self.selector}._domainkey.{self.domain}"

    @property
    def record(self) -> str:
        """What is published there as TXT, as a zone file has it: strings of at most 255 characters."""
        text = f"v=DKIM1; k={self.algorithm.partition('-')[0]}; p={self.public}"
        return " ".join(
            f'"{text[start : start + TXT_CHARACTERS]}"' for start in range(0, len(text), TXT_CHARACTERS)
        )

    def signed(self, message: bytes) -> bytes:
        """Put a signature before a message."""
        fields = [name for name in SIGNED_FIELDS for _ in range(1 + _has(message, name))]
        signature: bytes = dkim.sign(
            message,
            self.selector.encode(),
            self.domain.encode(),
            self.key,
            canonicalize=(b"relaxed", b"relaxed"),
            signature_algorithm=self.algorithm.encode(),
            include_headers=[name.encode() for name in fields],
        )
        return signature + message


class SigningMailer:
    """See `Mailer`. Signs what another mailer hands over."""

    def __init__(self, mailer: Mailer, signer: DkimSigner) -> None:
        """Sign by the one, send by the other."""
        self._mailer, self._signer = mailer, signer

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater | Rejected:
        """See `Mailer.send`."""
        signed = await asyncio.to_thread(self._signer.signed, message)
        return await self._mailer.send(signed, recipient=recipient, key=key, return_path=return_path)


def open_signer(selector: str, domain: str, path: Path) -> DkimSigner:
    """Read a private key: PEM as openssl writes it, RSA or Ed25519. What is wrong is one sentence."""
    for what, name in (("selector", selector), ("domain", domain)):
        if not _NAME.fullmatch(name):
            raise BadInput(f"[mail] dkim_{what} {name!r} is no name that DNS could know")
    try:
        with path.open("rb") as file:
            text = file.read(KEY_FILE_BYTES).replace(b"\r\n", b"\n").strip() + b"\n"
    except OSError as error:
        raise BadInput(f"the DKIM key {path} can't be read: {error.strerror}") from error
    try:
        algorithm, key, public = _read(text)
    except (UnparsableKeyError, binascii.Error, ValueError, IndexError) as error:
        raise BadInput(
            f"the DKIM key {path} is no private key, RSA or Ed25519, in PEM without a password; make one:"
            " openssl genpkey -algorithm ed25519"
        ) from error
    return DkimSigner(selector, domain, algorithm, key, base64.b64encode(public).decode())


def _read(text: bytes) -> tuple[str, bytes, bytes]:
    found = _PEM.search(text)
    if found is None:
        raise ValueError("no private key")
    der = base64.b64decode(b"".join(found[2].split()), validate=True)
    if der.startswith(_ED25519_PKCS8):
        from nacl.signing import SigningKey  # noqa: PLC0415 - a part of the extra that RSA does not need

        seed = der[len(_ED25519_PKCS8) :]
        return ED25519, base64.b64encode(seed), bytes(SigningKey(seed).verify_key)
    parts = parse_pem_private_key(text)
    if parts["modulus"].bit_length() < RSA_BITS_MIN:
        raise ValueError("too short")
    return RSA, text, _rsa_public(parts["modulus"], parts["publicExponent"])


def _rsa_public(modulus: int, exponent: int) -> bytes:
    """Write a public key as X.509 does (SubjectPublicKeyInfo in DER)."""
    numbers = _element(0x30, _integer(modulus) + _integer(exponent))
    return _element(0x30, _RSA_ENCRYPTION + _element(0x03, b"\x00" + numbers))


def _integer(value: int) -> bytes:
    return _element(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _element(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:  # noqa: PLR2004 - DER writes longer lengths otherwise
        return bytes([tag, size]) + content
    width = (size.bit_length() + 7) // 8
    return bytes([tag, 0x80 + width]) + size.to_bytes(width, "big") + content


def _has(message: bytes, name: str) -> bool:
    head = b"\r\n" + message.partition(b"\r\n\r\n")[0]
    return f"\r\n{name}:".lower().encode() in head.lower()
