"""The parts of a mail as plain values. The library's objects are made, asked and forgotten in here.

The library is good at finding where parts begin and end. Its reading of headers raises in many undocumented
ways, also when an attribute is merely looked at, and is quadratic in places: 80 seconds for a mail of one
megabyte whose 290 parts have 450 parameters each. Its own limits are memory and recursion. So it parses into
`_Careful`, which reads headers itself and stops at our limits.
"""

from __future__ import annotations

import quopri
import re
from dataclasses import dataclass
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from typing import Any
from urllib.parse import unquote_to_bytes

from webordinary.core.failure import MailProblem
from webordinary.core.text import one_line
from webordinary.intake.headers import base64_bytes, words_decoded
from webordinary.intake.limits import (
    CONTAINER_WORDS,
    DASH_LINES,
    FIELD_CHARACTERS,
    FILE_NAME_CHARACTERS,
    LINE_CHECKS,
    MAIL_BYTES,
    MAIL_LINES,
    MEGABYTE,
    MIME_DEPTH,
    MIME_PARTS,
    CannotRead,
)
from webordinary.intake.text_decoding import cleaned, decoded

_PARAMETER = re.compile(r""";\s*+([^\s=;"]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^;]*+))""", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SECTION = re.compile(r"([^*]+)\*(?:(\d{1,3})(\*?))?")  # name*, name*0, name*0*
_KIND = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_PARAMETERS = 100

Parameters = dict[str, str]


def kind_of_field(value: str) -> str:
    """The kind that a Content-Type names; what can't be read is text, as RFC 2045 has it."""
    kind = value.partition(";")[0].strip().lower()
    return kind if _KIND.fullmatch(kind) else "text/plain"


def parameters(value: str) -> Parameters:
    """The parameters of a field by their names in lower case, decoded in every way that programs use."""
    plain: Parameters = {}
    sections: dict[str, list[tuple[int, bool, str]]] = {}
    for name, text in _pairs(value):
        section = _SECTION.fullmatch(name)
        if section is None:
            plain.setdefault(name, words_decoded(text))
        else:
            is_encoded = section[2] is None or bool(section[3])
            sections.setdefault(section[1], []).append((int(section[2] or 0), is_encoded, text))
    return plain | {name: _joined(parts) for name, parts in sections.items()}


def _pairs(value: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    position = value.find(";")
    while position >= 0 and len(pairs) < _PARAMETERS:
        found = _PARAMETER.match(value, position)
        if found is None:
            position = value.find(";", position + 1)
            continue
        bare = (found[3] or "").partition(" (")[0].strip()  # without a comment
        pairs.append((found[1].lower(), bare if found[2] is None else _ESCAPED.sub(r"\1", found[2])))
        position = value.find(";", found.end())
    return pairs


def _joined(sections: list[tuple[int, bool, str]]) -> str:
    """Put the sections of a long parameter together (RFC 2231); the first one names the charset."""
    charset, content = "", b""
    for number, is_encoded, text in sorted(sections):
        if is_encoded and number == 0 and text.count("'") >= len("''"):
            charset, _, text = text.split("'", 2)  # noqa: PLW2901 - what is left of it
        content += unquote_to_bytes(text) if is_encoded else text.encode("utf-8", errors="replace")
    return decoded(content, charset)


TOO_LARGE = f"it is larger than {MAIL_BYTES // MEGABYTE} MB"
TOO_MANY_LINES = "it has too many lines"
TOO_MANY_PARTS = f"it is made of more than {MIME_PARTS} parts"
TOO_DEEP = f"it has mails inside mails, more than {MIME_DEPTH} deep"

_CONTAINER = re.compile(rb"(?:multipart|message)/", re.IGNORECASE)
_DASH_LINE = re.compile(rb"^--", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its content decoded, or the parts inside it."""

    kind: str  # what it says it is, "text/plain" and the like
    content: bytes = b""
    parts: tuple[Part, ...] = ()
    charset: str = ""
    disposition: str = ""  # "attachment", "inline" or ""
    file_name: str = ""
    content_id: str = ""
    is_flowed: bool = False  # lines that end in a space go on in the next
    joins_words: bool = False  # and that space is not part of the text
    heading: tuple[tuple[str, str], ...] = ()  # of a whole mail: From, Date, Subject

    @property
    def is_torn(self) -> bool:
        """A container whose parts could not be told apart."""
        return not self.parts and self.kind.startswith(("multipart/", "message/"))


def check_size(raw: bytes) -> None:
    """Refuse what would cost too much, by counting on the raw bytes before anything is parsed."""
    if len(raw) > MAIL_BYTES:
        raise CannotRead(TOO_LARGE, MailProblem.TOO_LONG)
    lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    if lines > MAIL_LINES:
        raise CannotRead(TOO_MANY_LINES, MailProblem.TOO_LONG)
    containers = _count(_CONTAINER, raw, CONTAINER_WORDS)
    if containers > CONTAINER_WORDS:
        raise CannotRead(TOO_DEEP, MailProblem.TOO_LONG)
    if containers and _count(_DASH_LINE, raw, DASH_LINES) > DASH_LINES:
        raise CannotRead(TOO_MANY_PARTS, MailProblem.TOO_LONG)
    if containers * lines > LINE_CHECKS:
        raise CannotRead(TOO_MANY_LINES, MailProblem.TOO_LONG)


def _count(pattern: re.Pattern[bytes], raw: bytes, most: int) -> int:
    """How often a pattern occurs; counting stops just above `most`."""
    count = 0
    for _ in pattern.finditer(raw):
        count += 1
        if count > most:
            break
    return count


def read_parts(raw: bytes) -> Part:
    """Parse a mail of checked size into its tree of parts."""
    counter = _Counter()

    def new_part(policy: Any) -> _Careful:  # noqa: ANN401 - the library's own type is private
        return _Careful(policy, counter)

    parser: BytesParser[Any] = BytesParser(new_part, policy=_SHORT_FIELDS)  # type: ignore[arg-type]
    return _plain(parser.parsebytes(raw))


# --- asking the library -----------------------------------------------------------------------------------


class _ShortFields(EmailPolicy):
    """The default policy, with headers cut: nothing of use is that long."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:FIELD_CHARACTERS]


_SHORT_FIELDS = _ShortFields()


class _Counter:
    """How many parts there are so far."""

    def __init__(self) -> None:
        self.parts = 0

    def count(self) -> None:
        self.parts += 1
        if self.parts > MIME_PARTS + 1:  # the parser makes one to try
            raise CannotRead(TOO_MANY_PARTS, MailProblem.TOO_LONG)


class _Careful(EmailMessage):
    """A message that reads its own headers when the parser asks what it is, and stops at our limits."""

    def __init__(self, policy: Any, counter: _Counter) -> None:  # noqa: ANN401 - a private type of the library
        super().__init__(policy)
        counter.count()
        self._depth = 0

    def attach(self, payload: Any) -> None:  # noqa: ANN401 - the same
        """Called by the parser for each part that it found inside this one."""
        payload._depth = self._depth + 1  # noqa: SLF001 - of the same class
        if payload._depth > MIME_DEPTH:  # noqa: SLF001
            raise CannotRead(TOO_DEEP, MailProblem.TOO_LONG)
        super().attach(payload)

    def get(self, name: str, failobj: Any = None) -> Any:  # noqa: ANN401 - the same
        """The first header of this name, on one line and otherwise as it came."""
        found = (value for field, value in self.raw_items() if field.lower() == name)
        value = next(found, None)
        if value is None:
            return failobj
        return " ".join(decoded(str(value).encode("ascii", errors="surrogateescape")).split())

    def get_content_type(self) -> str:
        """The part's kind. A delivery report is not taken to pieces: its pieces are beyond counting."""
        kind = kind_of_field(self.get("content-type", self.get_default_type()))
        return "text/x-delivery-status" if kind == "message/delivery-status" else kind

    def get_boundary(self, failobj: Any = None) -> Any:  # noqa: ANN401 - the same
        """What stands between its parts."""
        return parameters(self.get("content-type", "")).get("boundary", "").rstrip() or failobj

    def decoded_content(self) -> bytes:
        """The content of a part that is no container."""
        encoding = str(self.get("content-transfer-encoding", "")).lower()
        del self["content-transfer-encoding"]  # the library's own decoding gives up where ours goes on
        content = self.get_payload(decode=True)
        if not isinstance(content, bytes):
            return b""
        if encoding == "base64":
            return base64_bytes(content)
        return quopri.decodestring(content) if encoding == "quoted-printable" else content


# --- from the library's objects to ours -------------------------------------------------------------------


def _plain(message: Any, heading: tuple[tuple[str, str], ...] = ()) -> Part:  # noqa: ANN401 - ends here
    kind = message.get_content_type()
    children = message.get_payload() if message.is_multipart() else []
    is_mail = kind.startswith("message/")
    parts = tuple(_plain(child, _heading(child) if is_mail else ()) for child in children)
    typed = parameters(message.get("content-type", ""))
    disposition = message.get("content-disposition", "")
    name = parameters(disposition).get("filename") or typed.get("name", "")
    return Part(
        kind=kind,
        content=b"" if parts else message.decoded_content(),
        parts=parts,
        charset=typed.get("charset", ""),
        disposition=disposition.partition(";")[0].strip().lower(),
        file_name=one_line(cleaned(name), FILE_NAME_CHARACTERS),
        content_id=one_line(cleaned(message.get("content-id", "")), FIELD_CHARACTERS).strip(" <>"),
        is_flowed=typed.get("format", "").lower() == "flowed",
        joins_words=typed.get("delsp", "").lower() == "yes",
        heading=heading,
    )


def _heading(message: _Careful) -> tuple[tuple[str, str], ...]:
    """What a forwarded mail says about itself, for people."""
    texts = {name: message.get(name.lower(), "") for name in ("From", "Date", "Subject")}
    return tuple(
        (name, one_line(cleaned(words_decoded(text)), FIELD_CHARACTERS))
        for name, text in texts.items()
        if text
    )
