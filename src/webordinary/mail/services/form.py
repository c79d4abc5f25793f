"""Forms, out of a body that is in memory: only the wanted fields, as the bytes that were posted."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import unquote_to_bytes

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from webordinary.mail.services.delivery import InboundRequest, RequestRefused

FIELDS_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX = 100, 200, 64 * 1024
_CHUNK_BYTES = 64 * 1024  # unquoting takes many times the memory of what it is given

# What is wrong with a stranger's form is no news.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)


class Form:
    """The wanted fields of a form, each posted once.

    A field is decoded when it is asked for, and that takes time: ask for the mail after the signature.
    """

    def __init__(self, request: InboundRequest, wanted: Collection[str]) -> None:
        """Read it; raise `RequestRefused` if it is none, or if it has a wanted field twice."""
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        self._body = request.body
        if kind == b"multipart/form-data" and options.get(b"boundary"):
            posted: Iterable[tuple[str, bytes | range]] = _multipart(self._body, options[b"boundary"], wanted)
        elif kind == b"application/x-www-form-urlencoded":
            posted = _urlencoded(self._body, wanted)
        else:
            raise RequestRefused("what was posted is no form")
        self._fields: dict[str, bytes | range] = {}  # or where in the body it is, quoted
        for name, value in posted:
            if name in self._fields:
                raise RequestRefused(f"the form has two fields {name}")
            self._fields[name] = value

    def raw(self, name: str) -> bytes | None:
        """A field's bytes; None if it was not posted."""
        found = self._fields.get(name)
        return _unquoted(self._body, found) if isinstance(found, range) else found

    def text(self, name: str, default: str = "") -> str:
        """A field as text, which is short."""
        if len(self._fields.get(name, b"")) > TEXT_BYTES_MAX:
            raise RequestRefused(f"the field {name} is too long")
        found = self.raw(name)
        return default if found is None else found.decode("utf-8", "replace")


def _urlencoded(body: bytes, wanted: Collection[str]) -> Iterator[tuple[str, range]]:
    """Find the fields without cutting the body into pieces: one of them is a whole mail."""
    if body.count(b"&") >= FIELDS_MAX:
        raise RequestRefused(f"the form has more than {FIELDS_MAX} fields")
    at = 0
    while at < len(body):
        end = body.find(b"&", at)
        end = end if end != -1 else len(body)
        equals = body.find(b"=", at, end)
        if equals != -1:
            name = _unquoted(body, range(at, min(equals, at + NAME_BYTES_MAX))).decode("utf-8", "replace")
            if name in wanted:
                yield name, range(equals + 1, end)
        at = end + 1


def _unquoted(body: bytes, where: range) -> bytes:
    found, at, end = bytearray(), where.start, where.stop
    while at < end:
        until = min(at + _CHUNK_BYTES, end)
        escape = body.rfind(b"%", until - 2, until) if until < end else -1  # never cut one in two
        until = escape if escape > at else until
        found += unquote_to_bytes(body[at:until].replace(b"+", b" "))
        at = until
    return bytes(found)


def _multipart(body: bytes, boundary: bytes, wanted: Collection[str]) -> list[tuple[str, bytes | range]]:
    parts = _Parts(wanted)
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": parts.begin,
                "on_header_field": parts.add_field,
                "on_header_value": parts.add_value,
                "on_header_end": parts.end_header,
                "on_headers_finished": parts.end_headers,
                "on_part_data": parts.add_data,
                "on_part_end": parts.end,
                "on_end": parts.close,
            },
        )
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise RequestRefused("what was posted is a broken form") from error
    if not parts.is_closed:
        raise RequestRefused("what was posted is only the beginning of a form")
    return parts.found


class _Parts:
    """What the parser calls on its way through the parts."""

    def __init__(self, wanted: Collection[str]) -> None:
        self.found: list[tuple[str, bytes | range]] = []
        self.is_closed = False
        self._wanted, self._parts = wanted, 0
        self._field, self._value = b"", b""
        self._name, self._data = "", bytearray()

    def begin(self) -> None:
        self._parts += 1
        if self._parts > FIELDS_MAX:
            raise RequestRefused(f"the form has more than {FIELDS_MAX} fields")
        self._name, self._data = "", bytearray()

    def add_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def end_header(self) -> None:
        if self._field.lower() == b"content-disposition":
            name = parse_options_header(self._value)[1].get(b"name", b"")
            self._name = name.decode("utf-8", "replace")
        self._field, self._value = b"", b""

    def end_headers(self) -> None:
        if self._name not in self._wanted:
            self._name = ""

    def add_data(self, data: bytes, start: int, end: int) -> None:
        if self._name:
            self._data += data[start:end]

    def end(self) -> None:
        if self._name:
            self.found.append((self._name, bytes(self._data)))

    def close(self) -> None:
        self.is_closed = True
