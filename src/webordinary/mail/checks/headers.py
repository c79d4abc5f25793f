"""The headers of a mail, read strictly, and the one sender they name.

Every reader of a mail (the parser of intake, dkimpy, the server before us) repairs broken headers in its own
way, and a spoofer lives off the difference. Nothing is repaired here: what two programs could read in two
ways is refused, with the reason. Quotes, brackets, backslashes and NULs are legal in some addresses, and all
known tricks live there: a name that can be read in more than one way is no name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import NamedTuple

DOMAIN_CHARACTERS_MAX = 253
ADDRESS_CHARACTERS_MAX = 320

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII | re.IGNORECASE)
_SELECTOR = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){0,9}", re.ASCII | re.IGNORECASE)
_LOCAL_PART = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,256}", re.ASCII | re.IGNORECASE)


class Address(NamedTuple):
    """A mail address."""

    local: str
    domain: str  # lower case


def plain_domain(text: str) -> str:
    """Read a domain, lower case; "" if it is none, or not plainly so."""
    if len(text) > DOMAIN_CHARACTERS_MAX or not _DOMAIN.fullmatch(text):
        return ""
    return text.lower()


def plain_selector(text: str) -> str:
    """Read a DKIM selector; "" if it is none, or not plainly so."""
    return text if _SELECTOR.fullmatch(text) else ""


def plain_address(text: str) -> Address | None:
    """Read an address; None if it is none, or not plainly so: no quotes, no routes, no second @."""
    if len(text) > ADDRESS_CHARACTERS_MAX:
        return None
    local, at, domain = text.partition("@")
    if not at or not _LOCAL_PART.fullmatch(local) or not plain_domain(domain):
        return None
    return Address(local, domain.lower())


HEADER_BYTES_MAX = 256 * 1024
FIELDS_MAX = 1000
FROM_BYTES_MAX = 4096
RECIPIENT_BYTES_MAX = 32 * 1024

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LONE_BREAK = re.compile(rb"\r(?!\n)|(?<!\r)\n")
_FIELD = re.compile(rb"([!-9;-~]+):")
_MBOX_LINE = re.compile(rb"From [^\s:]+ +[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d[ \w:+-]*\r?\n")

_WORD = rb"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.\[\]\x80-\xff-]"
_QUOTED = rb'"(?:[^"\\]|\\.)*"'
_COMMENT = rb'\([^()<>@"\\]*\)'
_AROUND = rb"(?:[ \t]|" + _COMMENT + rb")*"
_NAMED = re.compile(rb"(?:[ \t,]|" + _WORD + rb"|" + _QUOTED + rb"|" + _COMMENT + rb")*<([^<>]*)>" + _AROUND)
_BARE = re.compile(_AROUND + rb"([^<>()\s]+)" + _AROUND)
_REPEATED = re.compile(rb"[ \t]*([^<>()\s]+)[ \t]*<\1>[ \t]*", re.IGNORECASE)  # by who knows no name
_MAILBOXES = re.compile(rb"(?:[^\",()\\]|" + _QUOTED + rb"|" + _COMMENT + rb")+|,")


class Ambiguous(Exception):
    """Two programs may read this mail in two ways; the message says why."""


@dataclass(frozen=True, slots=True)
class Field:
    """A header field as it is written: its value keeps its line breaks, as CRLF, and ends with one."""

    name: bytes
    value: bytes

    @property
    def key(self) -> str:
        """Its name, for comparing."""
        return self.name.decode("ascii").lower()

    @property
    def unfolded(self) -> bytes:
        """Its value on one line."""
        return self.value.replace(b"\r\n", b"").strip(b" \t")

    @property
    def has_blank_line(self) -> bool:
        """Whether it is folded around a line of only spaces, which some take for the end of the headers."""
        return any(not line.strip(b" \t") for line in self.value.split(b"\r\n")[1:-1])


@dataclass(frozen=True, slots=True)
class Message:
    """A mail cut in two where every reader cuts it."""

    fields: tuple[Field, ...]
    body: bytes  # as it came

    def named(self, key: str) -> list[Field]:
        """All fields of a name, topmost first."""
        return [field for field in self.fields if field.key == key]


def read_message(raw: bytes) -> Message:
    """Read the headers; raise `Ambiguous` for anything that some reader would have to repair."""
    mbox = _MBOX_LINE.match(raw)
    head, body = _cut(raw[mbox.end() :] if mbox else raw)
    if _CONTROL.search(head):
        raise Ambiguous("a NUL or another control character in the headers")
    fields: list[Field] = []
    for line in head.split(b"\r\n"):
        started = _FIELD.match(line)
        if started:
            fields.append(Field(started[1], line[started.end() :] + b"\r\n"))
        elif line[:1] in {b" ", b"\t"} and fields:
            fields[-1] = Field(fields[-1].name, fields[-1].value + line + b"\r\n")
        else:
            raise Ambiguous("a line in the headers that is no header")
        if len(fields) > FIELDS_MAX:
            raise Ambiguous(f"more than {FIELDS_MAX} headers")
    return Message(tuple(fields), body)


def _cut(raw: bytes) -> tuple[bytes, bytes]:
    """Cut at the first empty line. Lines end in CRLF, or all in LF as in a file; never in both."""
    first = raw.find(b"\n", 0, HEADER_BYTES_MAX)
    if first < 1:
        raise Ambiguous("it begins with no header")
    as_sent = raw[first - 1 : first] == b"\r"
    end = b"\r\n" if as_sent else b"\n"
    head, empty, body = raw.partition(end * 2)
    head = head if empty else head.removesuffix(end)
    if len(head) > HEADER_BYTES_MAX:
        raise Ambiguous(f"more than {HEADER_BYTES_MAX // 1024} KiB of headers")
    if b"\r" in head if not as_sent else _LONE_BREAK.search(head):
        raise Ambiguous("line breaks of more than one kind in the headers")
    return (head if as_sent else head.replace(b"\n", b"\r\n")), body


def sender_of(message: Message) -> Address:
    """Read the one From address; raise `Ambiguous` unless there is one and one way to read it."""
    found = message.named("from")
    if len(found) != 1:
        raise Ambiguous(f"{'no' if not found else len(found)} From headers")
    value = found[0].unfolded
    if found[0].has_blank_line or len(value) > FROM_BYTES_MAX:
        raise Ambiguous("a From header folded or filled in an unusual way")
    named = _mailbox(value)
    address = plain_address(named[1].decode("ascii", "replace")) if named else None
    if address is None:
        raise Ambiguous("a From header that is not plainly one name and one address")
    return address


def _mailbox(text: bytes) -> re.Match[bytes] | None:
    return _NAMED.fullmatch(text) or _BARE.fullmatch(text) or _REPEATED.fullmatch(text)


def recipients_of(message: Message, key: str) -> tuple[str, ...]:
    """Read the addresses in the one To or Cc header, lower case; what is not plainly one is left out."""
    found = message.named(key)
    value = found[0].unfolded if len(found) == 1 else b""
    if not value or len(value) > RECIPIENT_BYTES_MAX or found[0].has_blank_line:
        return ()
    mailboxes = _MAILBOXES.findall(value)
    if sum(map(len, mailboxes)) < len(value):
        return ()  # a quote or a comment that does not end where it should: who knows what is outside of it
    named = map(_mailbox, mailboxes)
    texts = (name[1].decode("ascii", "replace") for name in named if name)
    addresses = (plain_address(text) for text in texts)
    return tuple(f"{address.local}@{address.domain}".lower() for address in addresses if address)


def date_of(message: Message) -> float | None:
    """Read the one Date header, in seconds since 1970; None if it is not plainly one."""
    found = message.named("date")
    if len(found) != 1 or not found[0].unfolded.isascii():
        return None
    try:
        return parsedate_to_datetime(found[0].unfolded.decode("ascii")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
