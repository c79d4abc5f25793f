"""HTML as a stream of tags and texts, each with its place in the source.

One pass that looks at no character more than a few times, whatever the input: mails and sites are written by
anybody. The standard library's `HTMLParser` is quadratic on unfinished tags and comments; browsers are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape


def tags(names: str) -> frozenset[str]:
    """A set of tags, written as one text."""
    return frozenset(names.split())


VOID = tags("area base br col embed hr img input link meta param source track wbr")
HEADINGS = {f"h{level}": level for level in range(1, 7)}
RAW = tags("script style title textarea xmp iframe noembed noframes template")
ATTRIBUTES_MAX = 50  # of one tag; the rest is left out
TAG_CHARACTERS = 30

_MARKUP = re.compile(r"<(?:!--|[!?]|/?[A-Za-z])")
_NAME = re.compile(r"[^\s/>]+")
_ATTRIBUTE = re.compile(r"""([\s/]*+)(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+))?)""")
_RAW_END = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in RAW}


@dataclass(frozen=True, slots=True)
class Text:
    """Text with its character references resolved."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Open:
    """An opening tag. `raw` is the content of an element without markup inside; its closing tag follows."""

    tag: str
    attributes: dict[str, str]
    start: int
    end: int
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """A closing tag."""

    tag: str
    start: int
    end: int


Token = Text | Open | Close


def tokens(html: str) -> Iterator[Token]:
    """Cut HTML into tags and text. Comments are left out, and so is a tag or a comment that never ends."""
    position = 0
    while position >= 0 and (markup := _MARKUP.search(html, position)) is not None:
        if markup.start() > position:
            yield _text(html, position, markup.start())
        token, position = _markup(html, markup.start(), markup[0])
        if token is not None:
            yield token
    if 0 <= position < len(html):
        yield _text(html, position, len(html))


def _text(html: str, start: int, end: int) -> Text:
    return Text(unescape(html[start:end]), start, end)


def _markup(html: str, start: int, mark: str) -> tuple[Open | Close | None, int]:
    """The tag that starts here, and where what follows it starts; -1 if nothing ends it."""
    if mark == "<!--":
        end = html.find("-->", start + 2)  # "<!-->" is a whole comment
        return None, end + 3 if end >= 0 else -1
    if mark in {"<!", "<?"} or mark.startswith("</"):
        end = html.find(">", start)
        name = _NAME.match(html, start + 2) if mark.startswith("</") and end >= 0 else None
        return Close(_tag(name[0]), start, end + 1) if name else None, end + 1 if end >= 0 else -1
    return _opening(html, start)


def _opening(html: str, start: int) -> tuple[Open | None, int]:
    name = _NAME.match(html, start + 1)
    assert name is not None  # the mark ends in a letter
    tag, end = _tag(name[0]), -1
    attributes: dict[str, str] = {}
    for found in _attributes(html, name.end()):
        if found[2]:
            end = found.end()
        elif len(attributes) < ATTRIBUTES_MAX:
            attributes.setdefault(found[3].lower(), unescape(_unquoted(found[4] or "")))
    if end < 0:
        return None, -1
    if tag not in RAW:
        return Open(tag, attributes, start, end), end
    closing = _RAW_END[tag].search(html, end)
    raw_end = closing.start() if closing else len(html)
    return Open(tag, attributes, start, end, html[end:raw_end]), raw_end


def _attributes(html: str, position: int) -> Iterator[re.Match[str]]:
    """The attributes of a tag, and its end last; without an end if there is none."""
    while (found := _ATTRIBUTE.match(html, position)) is not None:
        yield found
        if found[2]:
            return
        position = found.end()


def _tag(name: str) -> str:
    return name[:TAG_CHARACTERS].lower()


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in {'"', "'"} and value[-1:] == value[:1] and len(value) > 1 else value


@dataclass(frozen=True, slots=True)
class WrittenAttribute:
    """Where an attribute is written: with the space before it, and its value with its quotes."""

    start: int
    end: int
    value: tuple[int, int] | None


def written_attributes(html: str, tag: Open) -> dict[str, WrittenAttribute]:
    """Where the attributes of an opening tag are in its source."""
    found: dict[str, WrittenAttribute] = {}
    name = _NAME.match(html, tag.start + 1)
    for one in _attributes(html, name.end() if name else tag.end):
        if one[3]:
            value = one.span(4) if one[4] is not None else None
            found.setdefault(one[3].lower(), WrittenAttribute(one.start(), one.end(), value))
    return found
