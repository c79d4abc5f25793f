"""Plus-addresses of ours that name something, signed so that nobody can make one up.

They route; they never authenticate. `edit+{session}.{signature}@example.com` is where the replies of a
conversation go. `edit+{mail}-{kind}.{signature}@example.com` is where a letter comes back to if it can't be
delivered: the mail that it answered, and the first letters of its kind. Mail servers and clients may change
the case of an address: everything in it is lower case.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

from webordinary.core.errors import BadInput
from webordinary.core.mail import LetterKind, MailId, SessionId

KEY_BYTES_MIN = 16
SIGNATURE_CHARACTERS = 16  # of base32: 80 bits
SESSION_CHARACTERS = 48
LOCAL_PART_CHARACTERS = 64  # RFC 5321; what we put behind the plus leaves a mailbox name so many:
MAILBOX_NAME_CHARACTERS = 16

_SESSION = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{SESSION_CHARACTERS - 2}}}[a-z0-9])?", re.ASCII)
_MAIL_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_SHORT_ID = re.compile(r"[a-z2-7]{25}[aeimquy4]", re.ASCII)  # the last character has three bits
_SESSION_PURPOSE = b"webordinary session\x00"  # the same key may sign other things


def session_token(session: SessionId, key: bytes) -> str:
    """Sign a conversation's name: `{session}.{signature}`; "" if it could not be part of an address."""
    return f"{session}.{signature(session, key, _SESSION_PURPOSE)}" if _SESSION.fullmatch(session) else ""


def session_address(session: SessionId, key: bytes, address: str) -> str:
    """Put a conversation's token into our address.

    A name that could not be part of one is left out: the thread's Message-IDs still find the conversation.
    """
    token = session_token(session, key)
    local, _, domain = address.rpartition("@")
    return f"{local}+{token}@{domain}" if token else address


def session_from_address(address: str, key: bytes) -> SessionId | None:
    """Read the conversation from a plus-address or from a bare token; None if we did not sign it."""
    local = address.strip().rpartition("@")[0] or address.strip()
    session, _, signed = local.rpartition("+")[2].lower().rpartition(".")
    if not _SESSION.fullmatch(session) or not signed.isascii():
        return None
    genuine = hmac.compare_digest(signed, signature(session, key, _SESSION_PURPOSE))
    return SessionId(session) if genuine else None


def session_from_addresses(recipients: Iterable[str], header: str, key: bytes) -> str:
    """Read the conversation from whom a mail was for, or else from our own header; "" if neither tells."""
    found = (session_from_address(text, key) for text in (*recipients, header))
    return next((session for session in found if session), "")


def shortened_id(mail: MailId) -> str:
    """A mail's id as part of an address, where room is scarce: 26 characters for 32 hexadecimal digits."""
    if not _MAIL_ID.fullmatch(mail):
        return mail
    return base64.b32encode(bytes.fromhex(mail)).decode().rstrip("=").lower()


def lengthened_id(short: str) -> MailId:
    """Read a mail's id from a part of an address; what is no shortened one stays as it is."""
    if not _SHORT_ID.fullmatch(short):
        return MailId(short)
    return MailId(base64.b32decode(f"{short.upper()}======").hex())


def signature(name: str, key: bytes, purpose: bytes) -> str:
    """Sign a name for one purpose; lower case, for a part of an address."""
    if len(key) < KEY_BYTES_MIN:
        raise BadInput(f"the key that signs addresses needs at least {KEY_BYTES_MIN} bytes")
    digest = hmac.new(key, purpose + name.encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode()[:SIGNATURE_CHARACTERS].lower()


KIND_CHARACTERS = 3
_LETTER_PURPOSE = b"webordinary return path\x00"
_LETTER = re.compile(r"([a-z0-9]{1,32})-([a-z]{3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SentLetter:
    """A letter by the mail that it answers and its kind."""

    mail: MailId
    kind: LetterKind

    def __str__(self) -> str:
        """Name it."""
        return f"{self.kind} about {self.mail}"


def return_path(letter: SentLetter, key: bytes, address: str) -> str:
    """Put a letter's name into our address; where that makes none, the address as it is."""
    name = f"{shortened_id(letter.mail)}-{letter.kind[:KIND_CHARACTERS]}"
    local, _, domain = address.rpartition("@")
    signed = f"{local}+{name}.{signature(name, key, _LETTER_PURPOSE)}"
    fits = len(signed) <= LOCAL_PART_CHARACTERS and _LETTER.fullmatch(name)
    return f"{signed}@{domain}" if fits else address


def letter_from_addresses(recipients: Iterable[str], key: bytes) -> SentLetter | None:
    """Read which letter came back to one of these addresses; None if we signed none of them."""
    return next((letter for one in recipients if (letter := _letter(one, key))), None)


def _letter(address: str, key: bytes) -> SentLetter | None:
    name, _, signed = address.strip("<> ").rpartition("@")[0].rpartition("+")[2].lower().rpartition(".")
    found = _LETTER.fullmatch(name)
    if (
        found is None
        or not signed.isascii()
        or not hmac.compare_digest(signed, signature(name, key, _LETTER_PURPOSE))
    ):
        return None
    kind = next((kind for kind in LetterKind if kind.startswith(found[2])), None)
    return SentLetter(lengthened_id(found[1]), kind) if kind else None
