"""The header block, read from the raw bytes: what every server saw, not what a library makes of it."""

from __future__ import annotations

import base64
import quopri
import re
from dataclasses import dataclass

from webordinary.core.mail import MailProblem
from webordinary.core.text import one_line
from webordinary.intake.limits import (
    FIELD_CHARACTERS,
    HEADER_BYTES,
    HEADER_FIELDS,
    ID_CHARACTERS,
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
