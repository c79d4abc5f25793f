"""What a page shows, read from its HTML: title, texts by block, links and pictures.

In one pass that never looks at a character twice: the standard library's `HTMLParser` is quadratic on
unfinished comments and gives up on some broken ones, and what is compared here was written by anybody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

TAGS_MAX = 20_000  # of one page; what comes after them is not compared

_MARKUP = re.compile(r"<(?:!--|[!?]|/?[A-Za-z])")
_NAME = re.compile(r"[^\s/>]+")
_ATTRIBUTE = re.compile(r"""[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+))?)""")
_RAW = frozenset(
    {"script", "style", "title", "textarea", "template", "noscript", "iframe", "svg", "math", "xmp"}
)
_INLINE = frozenset(
    {
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
    }
    | {
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
    }
    | {"wbr", "picture", "source"}
)
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_UNSEEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, an item, a heading."""

    text: str
    level: int = 0  # of a heading: 1 to 6


@dataclass(slots=True)
class PageWords:
    """What a page shows. Links are (what they say, where they lead), pictures (file, description)."""

    title: str = ""
    texts: list[Block] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)


def words_of(html: str) -> PageWords:
    """Read what a page shows. What is hidden or a script is left out."""
    reader = _Reader()
    position, tags = 0, 0
    while position >= 0 and (markup := _MARKUP.search(html, position)) is not None and tags < TAGS_MAX:
        reader.text(html[position : markup.start()])
        tags += 1
        position = _after(html, markup.start(), markup[0], reader)
    if position >= 0 and tags < TAGS_MAX:
        reader.text(html[position:])
    reader.end_of_block()
    return reader.words


def _after(html: str, start: int, mark: str, reader: _Reader) -> int:
    """Tell the reader of the markup that starts here, and say where it ends; -1 if nothing ends it."""
    if mark == "<!--":
        end = html.find("-->", start + 2)
        return end + 3 if end >= 0 else -1
    if mark in {"<!", "<?"} or mark.startswith("</"):
        end = html.find(">", start)
        name = _NAME.match(html, start + 2) if mark.startswith("</") else None
        if name is not None:
            reader.close(name[0].lower())
        return end + 1 if end >= 0 else -1
    return _opened(html, start, reader)


def _opened(html: str, start: int, reader: _Reader) -> int:
    name = _NAME.match(html, start + 1)
    assert name is not None  # the mark ends in a letter
    tag, position = name[0].lower(), name.end()
    attributes: dict[str, str] = {}
    while (found := _ATTRIBUTE.match(html, position)) is not None and found[1] is None:
        attributes.setdefault(found[2].lower(), unescape((found[3] or "").strip("\"'")))
        position = found.end()
    if found is None:
        return -1
    if tag not in _RAW:
        reader.open(tag, attributes)
        return found.end()
    closing = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(html, found.end())
    if tag == "title":
        reader.title(html[found.end() : closing.start() if closing else None])
    return closing.start() if closing else -1


class _Reader:
    """Puts what is seen together, block by block."""

    def __init__(self) -> None:
        self.words = PageWords()
        self._block: list[str] = []
        self._link: tuple[str, list[str]] | None = None
        self._hidden = ""  # the element that hides what is in it
        self._hidden_depth = 0
        self._level = 0  # of the heading that is being read

    def text(self, written: str) -> None:
        if written and not self._hidden:
            plain = unescape(written)
            self._block.append(plain)
            if self._link is not None:
                self._link[1].append(plain)

    def title(self, written: str) -> None:
        if not self.words.title:
            self.words.title = one_line(unescape(written))

    def open(self, tag: str, attributes: dict[str, str]) -> None:
        if self._hidden:
            if tag == self._hidden and tag != "p":
                self._hidden_depth += 1
            elif self._hidden != "p" or tag in _INLINE or tag in _VOID:
                return
            else:
                self._hidden = ""  # another block ends a paragraph that has no end of its own
        if tag not in _VOID and ("hidden" in attributes or _UNSEEN_STYLE.search(attributes.get("style", ""))):
            self._hidden, self._hidden_depth = tag, 1
            return
        if tag not in _INLINE:
            self.end_of_block()
            self._level = _HEADINGS.get(tag, self._level if tag in _VOID else 0)
        if tag == "a" and "href" in attributes:
            self._end_of_link()
            self._link = (attributes["href"], [])
        if tag == "img":
            self.words.pictures.append((attributes.get("src", ""), one_line(attributes.get("alt", ""))))

    def close(self, tag: str) -> None:
        if self._hidden:
            if tag == self._hidden:
                self._hidden_depth -= 1
                self._hidden = self._hidden if self._hidden_depth > 0 else ""
            return
        if tag == "a":
            self._end_of_link()
        if tag not in _INLINE:
            self.end_of_block()
            self._level = 0

    def _end_of_link(self) -> None:
        if self._link is not None:
            self.words.links.append((one_line("".join(self._link[1])), self._link[0]))
        self._link = None

    def end_of_block(self) -> None:
        text = one_line("".join(self._block))
        self._block.clear()
        if text:
            self.words.texts.append(Block(text, self._level))


def one_line(text: str) -> str:
    """A text on one line, without what is no character to be read."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
