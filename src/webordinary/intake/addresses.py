"""Who a mail says it is from, and whom one out of a mailbox was for.

From is exactly one header with exactly one address, or nobody. Everything that servers, libraries and people
could read differently is refused. What is accepted was read by our own narrow grammar *and* by the standard
library, which found no other address.

A mail that comes by SMTP has an envelope. One out of a mailbox has only header fields that tell of it: the
last server writes them on top, and the sender may have written such fields, too. So they route a mail and
never show who wrote it. They count only if they name an address of ours; a conversation's name is signed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from email.policy import default as default_policy

from webordinary.core.addresses import is_ours, lives_here
from webordinary.core.mail import Envelope
from webordinary.intake.headers import Headers, read_headers, words_decoded
from webordinary.intake.limits import (
    ADDRESS_CHARACTERS,
    FROM_BYTES,
    FROM_LINES,
    LOCAL_PART_CHARACTERS,
    CannotRead,
)

NO_FROM = "it does not say who it is from"
TWO_FROM = "it has more than one From line"
UNCLEAR_FROM = "it is not clear who it is from"
SEVERAL_ADDRESSES = "its From line names more than one address, or a group"
OTHER_ADDRESS = "its sender's name looks like another address than the one it is from"

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"(?P<local>{_ATOM}(?:\.{_ATOM})*)@(?P<domain>{_LABEL}(?:\.{_LABEL})*)", re.ASCII)
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*+"'
_COMMENT = r'\([^()<>@"\\\x00-\x1f\x7f]*+\)'
_AROUND = rf"(?:[ ]|{_COMMENT})*+"
# A name, then the address in angle brackets. The name's words have nothing in them that means something in an
# address but for a comma, which many programs do not quote; a quoted name may.
_MAILBOX = re.compile(
    rf"""(?P<name>(?:[^<>@;:"()\\\x00-\x1f\x7f]|{_QUOTED}|{_COMMENT})*+)<(?P<address>[^<>\s]+)>{_AROUND}"""
)
_BARE = re.compile(rf"{_AROUND}(?P<address>[^<>()\s]+){_AROUND}")
# Programs that know no name repeat the address, and do not quote it.
_REPEATED = re.compile(r"(?P<address>[^<>()\s]+) *<(?P=address)>", re.IGNORECASE)
_LOOKS_LIKE_ADDRESS = re.compile(r"[^\s@<>()\[\]\"',;:]+@[^\s@<>()\[\]\"',;:]+\.[^\s@<>()\[\]\"',;:]+")


def one_sender(headers: Headers) -> str:
    """The one address in the one From header, in lower case."""
    values = headers.all("from")
    if not values:
        raise CannotRead(NO_FROM)
    if len(values) > 1:
        raise CannotRead(TWO_FROM)
    if len(values[0]) > FROM_BYTES:
        raise CannotRead(UNCLEAR_FROM)
    address = _by_our_grammar(_text(values[0]))
    if not _by_the_library(_text(values[0])) <= {address}:
        raise CannotRead(UNCLEAR_FROM)
    return address


def addresses_in_from(headers: Headers) -> tuple[str, ...]:
    """All that looks like an address in the From lines, lower case: whom to ask where it is not clear."""
    lines = (words_decoded(_text(value[:FROM_BYTES])) for value in headers.all("from")[:FROM_LINES])
    found = (_as_on_file(address) for line in lines for address in _LOOKS_LIKE_ADDRESS.findall(line))
    return tuple(dict.fromkeys(found))


def _as_on_file(address: str) -> str:
    """Spell a domain as members' are: without the root's dot, in ASCII."""
    local, _, domain = address.lower().rpartition("@")
    domain = domain.rstrip(".")
    with suppress(UnicodeError):
        domain = domain.encode("idna").decode()
    return f"{local}@{domain}"


def _text(value: bytes) -> str:
    """The line as text. Old programs write names in Latin-1; an address is ASCII either way."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text.replace("\t", " ").strip(" ")


def _by_our_grammar(value: str) -> str:
    mailbox = _MAILBOX.fullmatch(value)
    found = mailbox or _BARE.fullmatch(value) or _REPEATED.fullmatch(value)
    address = _ADDRESS.fullmatch(found["address"]) if found else None
    if address is None:
        raise CannotRead(SEVERAL_ADDRESSES if value.count("@") > 1 else UNCLEAR_FROM)
    written = address[0].lower()
    is_too_long = len(written) > ADDRESS_CHARACTERS or len(address["local"]) > LOCAL_PART_CHARACTERS
    if is_too_long or "=?" in written:
        raise CannotRead(UNCLEAR_FROM)
    if mailbox and not _harmless(mailbox["name"], written):
        raise CannotRead(OTHER_ADDRESS)
    return written


def _harmless(name: str, address: str) -> bool:
    """A name may repeat the address it stands before, as many programs do; it may not show another one."""
    shown = unicodedata.normalize("NFKC", words_decoded(name.replace("\\", "")))
    return all(found.lower().strip(".") == address for found in _LOOKS_LIKE_ADDRESS.findall(shown))


def _by_the_library(value: str) -> set[str]:
    """The standard library's second opinion: all addresses that it sees. A group is one of its own."""
    try:
        parsed = default_policy.header_factory("from", value)
        addresses = {str(address.addr_spec).lower() for address in parsed.addresses}
        groups = {f"{group.display_name}:" for group in parsed.groups if group.display_name is not None}
    except Exception:  # noqa: BLE001 - it raises in many ways, none of them documented
        return {UNCLEAR_FROM}
    return {address for address in addresses if "@" in address} | groups


RECIPIENTS_MAX = 20
UNKNOWN = "unknown"  # who sent it is not told; the null sender would be that of a bounce

# By servers on delivery, in the order of the header; then by the sender.
_DELIVERED = frozenset(
    {"delivered-to", "x-original-to", "envelope-to", "x-delivered-to", "x-envelope-to", "x-forwarded-to"}
    | {"x-resolved-to", "x-original-recipient", "x-rcpt-to", "apparently-to"}
)
_ADDRESSED = ("to", "cc", "resent-to", "resent-cc")
_RAW_ADDRESS = re.compile(rb"[^\s<>,;:\"()\[\]\\@]{1,200}@[^\s<>,;:\"()\[\]\\@]{1,200}")


def envelope_of(raw: bytes, address: str, *aliases: str) -> Envelope:
    """Make up the envelope of a mail in a mailbox of ours."""
    try:
        headers = read_headers(raw)
    except CannotRead:  # it will be said why when the mail is read
        return Envelope(mail_from=UNKNOWN, recipients=(address,))
    ours = (found for found in _recipients(headers) if lives_here(found, address, *aliases))
    recipients = tuple(dict.fromkeys(ours))[:RECIPIENTS_MAX]
    return Envelope(mail_from=_sender(headers), recipients=recipients or (address,))


def names_us(raw_header: bytes, *addresses: str) -> bool:
    """Say whether any of these fields names an address of ours."""
    try:
        headers = read_headers(raw_header)
    except CannotRead:
        return True  # for somebody to look at
    return any(is_ours(found, *addresses) for found in _recipients(headers))


def _recipients(headers: Headers) -> Iterator[str]:
    values = [value for name, value in headers.fields if name in _DELIVERED]
    values += [value for name in _ADDRESSED for value in headers.all(name)]
    for value in values:
        for found in _RAW_ADDRESS.findall(value):
            if len(found) <= ADDRESS_CHARACTERS:
                yield found.decode("utf-8", "replace")


def _sender(headers: Headers) -> str:
    """The topmost Return-Path is that of the last server. The null sender is `<>`."""
    value = next(iter(headers.all("return-path")), None)
    if value is None:
        return UNKNOWN
    found = _RAW_ADDRESS.search(value)
    if found:
        return found[0].decode("utf-8", "replace")
    return "" if value.strip() == b"<>" else UNKNOWN
