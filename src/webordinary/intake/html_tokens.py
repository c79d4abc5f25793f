"""HTML as a stream of tags and text, in one pass that never looks at a character twice.

The standard library's `HTMLParser` is quadratic on unfinished tags and comments; browsers and this are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from webordinary.core.mail import MailProblem
from webordinary.intake.limits import HTML_TAGS
from webordinary.intake.problems import CannotRead

TOO_INTRICATE = "its text is made of too many pieces"

_MARKUP = re.compile(r"<(?:!--|[!?]|/?[A-Za-z])")
_NAME = re.compile(r"[^\s/>]+")
_ATTRIBUTE = re.compile(r"""[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+))?)""")
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "template")
}
_TAG_NAME_CHARACTERS = 30
_ATTRIBUTES = 50


@dataclass(frozen=True, slots=True)
class Text:
    """Text with its entities resolved."""

    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """An opening tag. `raw` is what stands inside a style or a script."""

    tag: str
    attributes: dict[str, str]
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """A closing tag."""

    tag: str


def tokens(html: str) -> Iterator[Text | Open | Close]:
    """Cut HTML into tags and text. Comments and what never ends are left out."""
    position, tags = 0, 0
    while (markup := _MARKUP.search(html, position)) is not None:
        if markup.start() > position:
            yield Text(unescape(html[position : markup.start()]))
        tags += 1
        if tags > HTML_TAGS:
            raise CannotRead(TOO_INTRICATE, MailProblem.TOO_LONG)
        token, position = _token(html, markup.start(), markup[0])
        if token is not None:
            yield token
        if position < 0:
            return
    yield Text(unescape(html[position:]))


def _token(html: str, start: int, mark: str) -> tuple[Open | Close | None, int]:
    """The tag that starts here, and where it ends; -1 if nothing ends it."""
    if mark == "<!--":
        end = html.find("-->", start + 2)  # "<!-->" is a whole comment
        return None, end + 3 if end >= 0 else -1
    if mark in {"<!", "<?"}:
        end = html.find(">", start)
        return None, end + 1 if end >= 0 else -1
    if mark.startswith("</"):
        end = html.find(">", start)
        name = _NAME.match(html, start + 2)
        tag = name[0][:_TAG_NAME_CHARACTERS].lower() if name else ""
        return Close(tag), end + 1 if end >= 0 else -1
    return _opening(html, start)


def _opening(html: str, start: int) -> tuple[Open | None, int]:
    name = _NAME.match(html, start + 1)
    assert name is not None  # the mark ends in a letter
    tag, position = name[0][:_TAG_NAME_CHARACTERS].lower(), name.end()
    attributes: dict[str, str] = {}
    while (found := _ATTRIBUTE.match(html, position)) is not None and found[1] is None:
        if len(attributes) < _ATTRIBUTES:
            attributes.setdefault(found[2].lower(), unescape((found[3] or "").strip("\"'")))
        position = found.end()
    if found is None:
        return None, -1
    if tag not in _RAW:
        return Open(tag, attributes), found.end()
    end = _RAW[tag].search(html, found.end())
    return Open(tag, attributes, html[found.end() : end.start() if end else None]), end.start() if end else -1
