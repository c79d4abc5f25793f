"""The header block, read from the raw bytes: what every server saw, not what a library makes of it.

Who a mail is from is exactly one From header with exactly one address, or nobody. Everything that servers,
libraries and people could read differently is refused. What is accepted was read by our own narrow grammar
*and* by the standard library, which found no other address.

A mail that comes by SMTP has an envelope. One out of a mailbox has only header fields that tell of it: the
last server writes them on top, and the sender may have written such fields, too. So they route a mail and
never show who wrote it. They count only if they name an address of ours; a conversation's name is signed.
"""

from __future__ import annotations

import base64
import quopri
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.policy import default as default_policy

from webordinary.core.addresses import is_ours, lives_here
from webordinary.core.failure import MailProblem
from webordinary.core.mail import Envelope
from webordinary.core.text import one_line
from webordinary.intake.limits import (
    ADDRESS_CHARACTERS,
    FIELD_CHARACTERS,
    FROM_BYTES,
    FROM_LINES,
    HEADER_BYTES,
    HEADER_FIELDS,
    ID_CHARACTERS,
    LOCAL_PART_CHARACTERS,
    THREAD_IDS,
    CannotRead,
)
from webordinary.intake.text_decoding import cleaned, decoded

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_MBOX_LINE = re.compile(rb"From [^\s:]+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ")
_NAME = re.compile(rb"[\x21-\x39\x3b-\x7e]+")  # visible ASCII but the colon
_LETTERS_ONLY = re.compile(rb"[^a-z]+")
_ENCODED_WORD = re.compile(r"=\?([^?\s*]{1,40})(?:\*[^?\s]{0,40})?\?([bBqQ])\?([^?\s]*)\?=")
_ID = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]+>")

DAMAGED = "its header is damaged"
HEADER_TOO_LONG = f"its header is longer than {HEADER_BYTES // 1024} KB"


@dataclass(frozen=True, slots=True)
class Headers:
    """The fields in their order: names in lower case, values unfolded and otherwise as they came."""

    fields: tuple[tuple[str, bytes], ...]

    def all(self, name: str) -> list[bytes]:
        """The values of every field of this name."""
        return [value for field, value in self.fields if field == name]

    def first(self, name: str, most: int = FIELD_CHARACTERS) -> str:
        """The first field of this name, readable and on one line; "" if there is none."""
        return next((readable(value, most) for field, value in self.fields if field == name), "")

    def has(self, *names: str) -> bool:
        """Say whether any of these is there."""
        return any(field in names for field, _ in self.fields)

    def ids(self, name: str) -> tuple[str, ...]:
        """The Message-IDs in the fields of this name, each in its angle brackets; the latest of very many."""
        text = " ".join(value.decode("ascii", errors="replace") for value in self.all(name))
        found = [found for found in _ID.findall(text) if len(found) <= ID_CHARACTERS]
        return tuple(dict.fromkeys(found))[-THREAD_IDS:]


def read_headers(raw: bytes) -> Headers:
    """Read the header block. Whatever two programs could read differently is damage, never a guess."""
    end = _BLANK_LINE.search(raw, 0, HEADER_BYTES + 4)
    if end is None and len(raw) > HEADER_BYTES:
        raise CannotRead(HEADER_TOO_LONG, MailProblem.TOO_LONG)
    block = raw[: end.start()] if end else raw
    if b"\r" in block.replace(b"\r\n", b"\n").removesuffix(b"\r"):
        raise CannotRead(DAMAGED)  # a bare CR ends a line for some and not for others
    lines = block.replace(b"\r\n", b"\n").rstrip(b"\r\n").split(b"\n")
    if _MBOX_LINE.match(lines[0]):
        del lines[0]
    return Headers(tuple(_fields(lines)))


def body_of(raw: bytes) -> bytes:
    """Everything after the header block, as it came."""
    end = _BLANK_LINE.search(raw, 0, HEADER_BYTES + 4)
    return raw[end.end() :] if end else b""


def _fields(lines: list[bytes]) -> list[tuple[str, bytes]]:
    fields: list[tuple[bytes, list[bytes]]] = []
    for line in lines:
        if line[:1] in {b" ", b"\t"}:
            if not fields:
                raise CannotRead(DAMAGED)
            fields[-1][1].append(line)
            continue
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name):
            raise CannotRead(DAMAGED)
        if _LETTERS_ONLY.sub(b"", name.lower()) == b"from" and name.lower() != b"from":
            raise CannotRead(DAMAGED)  # a From for one program, nothing for another
        fields.append((name.lower(), [value]))
        if len(fields) > HEADER_FIELDS:
            raise CannotRead(f"its header has more than {HEADER_FIELDS} lines", MailProblem.TOO_LONG)
    return [(name.decode("ascii"), b"".join(values).strip(b" \t")) for name, values in fields]


# --- readable text of a field -----------------------------------------------------------------------------


def readable(value: bytes, most: int) -> str:
    """The text of a field for people: encoded words decoded, one line, nothing that a program obeys."""
    return one_line(cleaned(words_decoded(decoded(value[: 8 * most]))), most)


def words_decoded(text: str) -> str:
    """Decode encoded words. Neighbours of one charset are joined first: some programs cut a character."""
    pieces: list[str] = []
    run, run_charset, end = b"", "", 0
    for word in _ENCODED_WORD.finditer(text):
        charset, between = word[1].lower(), text[end : word.start()]
        if run and (between.strip() or charset != run_charset):
            pieces.append(decoded(run, run_charset))
            run = b""
        if between.strip() or end == 0:
            pieces.append(between)
        run, run_charset, end = run + _word_bytes(word[2], word[3]), charset, word.end()
    if run:
        pieces.append(decoded(run, run_charset))
    return "".join([*pieces, text[end:]])


def _word_bytes(encoding: str, body: str) -> bytes:
    content = body.encode("utf-8", errors="replace")
    if encoding in "qQ":
        return quopri.decodestring(content, header=True)
    return base64_bytes(content)


def base64_bytes(content: bytes) -> bytes:
    """Decode base64 as far as it goes: what does not belong is left out, a torn end is dropped."""
    plain = content.translate(None, _NOT_BASE64).partition(b"=")[0]
    whole = plain[:-1] if len(plain) % 4 == 1 else plain
    return base64.b64decode(whole + b"=" * (-len(whole) % 4))


_NOT_BASE64 = bytes(
    set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
)


# --- who it is from -------------------------------------------------------------------------------------

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


# --- whom a mail in a mailbox was for -------------------------------------------------------------------

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
