"""The parts of a mail as plain values. The library's objects are made, asked and forgotten in here.

The library raises in many undocumented ways, also when an attribute is merely looked at, and its own limits
are memory and recursion. So it is asked through `_Careful`, which answers every question with a value and
stops at our limits while the mail is being parsed.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from typing import Any, TypeVar

from webordinary.intake.charset import decoded
from webordinary.intake.clean import one_line
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
)
from webordinary.intake.problems import CannotRead

S = TypeVar("S")
T = TypeVar("T")

TOO_LARGE = f"it is larger than {MAIL_BYTES // MEGABYTE} MB"
TOO_MANY_LINES = "it has too many lines"
TOO_MANY_PARTS = f"it is made of more than {MIME_PARTS} parts"
TOO_DEEP = f"it has mails inside mails, more than {MIME_DEPTH} deep"

_CONTAINER = re.compile(rb"(?:multipart|message)/", re.IGNORECASE)
_DASH_LINE = re.compile(rb"^--", re.MULTILINE)
_KIND = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")


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
        raise CannotRead(TOO_LARGE)
    lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    if lines > MAIL_LINES:
        raise CannotRead(TOO_MANY_LINES)
    containers = _count(_CONTAINER, raw, CONTAINER_WORDS)
    if containers > CONTAINER_WORDS:
        raise CannotRead(TOO_DEEP)
    if containers and _count(_DASH_LINE, raw, DASH_LINES) > DASH_LINES:
        raise CannotRead(TOO_MANY_PARTS)
    if containers * lines > LINE_CHECKS:
        raise CannotRead(TOO_MANY_LINES)


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
    """The default policy, with headers cut: the library's header parser is quadratic in places."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:FIELD_CHARACTERS].replace("\x00", "")


_SHORT_FIELDS = _ShortFields()


class _Counter:
    """How many parts there are so far."""

    def __init__(self) -> None:
        self.parts = 0

    def count(self) -> None:
        self.parts += 1
        if self.parts > MIME_PARTS + 1:  # the parser makes one to try
            raise CannotRead(TOO_MANY_PARTS)


class _Careful(EmailMessage):
    """A message that never raises when it is asked something, and never grows beyond our limits."""

    def __init__(self, policy: Any, counter: _Counter) -> None:  # noqa: ANN401 - the library's own type is private
        super().__init__(policy)
        counter.count()
        self._depth = 0
        self._kind = ""

    def attach(self, payload: Any) -> None:  # noqa: ANN401 - the same
        """Called by the parser for each part that it found inside this one."""
        payload._depth = self._depth + 1  # noqa: SLF001 - of the same class
        if payload._depth > MIME_DEPTH:  # noqa: SLF001
            raise CannotRead(TOO_DEEP)
        super().attach(payload)

    def get(self, name: str, failobj: Any = None) -> Any:  # noqa: ANN401
        return _or_else(failobj, lambda: super(_Careful, self).get(name, failobj))

    def get_content_type(self) -> str:
        """The part's kind; a delivery report is not taken to pieces: its pieces are beyond counting."""
        if not self._kind:
            kind = _or_else("", lambda: super(_Careful, self).get_content_type().lower())
            self._kind = kind if _KIND.fullmatch(kind) else "application/octet-stream"
        return "text/x-delivery-status" if self._kind == "message/delivery-status" else self._kind

    def get_boundary(self, failobj: Any = None) -> Any:  # noqa: ANN401
        return _or_else(failobj, lambda: super(_Careful, self).get_boundary(failobj))

    def asked_param(self, name: str, header: str = "content-type") -> str:
        """A parameter of a header, decoded; "" if there is none or it can't be read."""
        value = _or_else(None, lambda: self.get_param(name, header=header))
        if isinstance(value, tuple):  # as RFC 2231 writes it: charset, language, text
            charset, _, text = (str(piece or "") for piece in value)
            return decoded(text.encode("latin-1", errors="replace"), charset)
        return str(value or "")

    def asked_text(self, name: str) -> str:
        """A header as one readable line."""
        value = _or_else("", lambda: str(self.get(name, "")))
        return one_line(words_decoded(value), FIELD_CHARACTERS)

    def asked_content(self) -> bytes:
        """The decoded content of a part that is no container."""
        encoding = self.asked_text("content-transfer-encoding").lower()
        del self["content-transfer-encoding"]  # the library's own decoding gives up where ours goes on
        content: object = _or_else(None, lambda: self.get_payload(decode=True))
        if not isinstance(content, bytes):
            return b""
        if encoding == "base64":
            return base64_bytes(content)
        return quopri.decodestring(content) if encoding == "quoted-printable" else content


def _or_else(fallback: T, ask: Callable[[], S]) -> S | T:
    """Ask the library something; take the fallback if it stumbles."""
    try:
        return ask()
    except (CannotRead, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - eleven kinds were seen, and there will be more
        return fallback


# --- from the library's objects to ours -------------------------------------------------------------------


def _plain(message: Any, heading: tuple[tuple[str, str], ...] = ()) -> Part:  # noqa: ANN401 - ends here
    kind = message.get_content_type()
    children = message.get_payload() if message.is_multipart() else []
    is_mail = kind.startswith("message/")
    parts = tuple(_plain(child, _heading(child) if is_mail else ()) for child in children)
    return Part(
        kind=kind,
        content=b"" if parts else message.asked_content(),
        parts=parts,
        charset=message.asked_param("charset"),
        disposition=message.asked_text("content-disposition").partition(";")[0].strip().lower(),
        file_name=_file_name(message),
        content_id=message.asked_text("content-id").strip(" <>"),
        is_flowed=message.asked_param("format").lower() == "flowed",
        joins_words=message.asked_param("delsp").lower() == "yes",
        heading=heading,
    )


def _file_name(message: _Careful) -> str:
    name = message.asked_param("filename", "content-disposition") or message.asked_param("name")
    return one_line(words_decoded(name), FILE_NAME_CHARACTERS)


def _heading(message: _Careful) -> tuple[tuple[str, str], ...]:
    """What a forwarded mail says about itself, for people."""
    return tuple((name, text) for name in ("From", "Date", "Subject") if (text := message.asked_text(name)))
