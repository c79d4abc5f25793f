"""What a page shows and where it is written: title, texts by block, links and pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from itertools import islice

from webordinary.core.html import HEADINGS, VOID, Close, Open, Text, Token, tags, tokens
from webordinary.core.text import one_line

TOKENS_MAX = 40_000  # of one page; what comes after them is not looked at

# What stands in a line of text; everything else breaks it.
INLINE = tags(
    "a abbr b bdi bdo big cite code data del dfn em font i img ins kbd label mark picture q s samp small"
    " source span strong sub sup time tt u var wbr"
)
_UNSEEN = tags("noscript svg math audio video canvas object")
_UNSEEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
REGIONS = tags("main header footer nav aside form dialog ul ol dl table figure blockquote article picture a")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, an item, a heading, or a line of one. Two are equal if they read alike."""

    text: str
    level: int = 0  # of a heading: 1 to 6
    tag: Open | None = field(
        default=None, compare=False
    )  # of the element that it is in, if it begins with it
    texts: tuple[Text, ...] = field(default=(), compare=False)
    end: int = field(default=0, compare=False)  # of the element, or of the text if the element goes on
    is_whole: bool = field(default=False, compare=False)  # all that is in its element
    is_last: bool = field(default=False, compare=False)  # its element ends with it
    inside: frozenset[str] = field(default=frozenset(), compare=False)  # the regions around it


@dataclass(frozen=True, slots=True)
class Link:
    """What a link says, and where it leads."""

    label: str
    href: str
    tag: Open = field(compare=False)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture's file, and the words that stand in for it."""

    src: str
    alt: str
    tag: Open = field(compare=False)
    inside: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(slots=True)
class PageOutline:
    """What a page shows."""

    title: str = ""
    title_tag: Open | None = None
    texts: list[Block] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """The main one."""
        return next((block.text for block in self.texts if block.level == 1), "")


def outline(html: str) -> PageOutline:
    """Read what a page shows. What is hidden or a script is left out."""
    reader = _Reader()
    for token in islice(tokens(html), TOKENS_MAX):
        match token:
            case Text():
                reader.text(token)
            case Open():
                reader.open(token)
            case Close():
                reader.close(token)
    reader.end_of_block()
    reader.end_of_link()
    return reader.outline


class _Reader:
    """Puts what is seen together, block by block."""

    def __init__(self) -> None:
        self.outline = PageOutline()
        self._texts: list[Text] = []
        self._tag: Open | None = None  # of the element that the block is in
        self._is_first = True  # nothing else was in it before
        self._link: tuple[Open, list[str]] | None = None
        self._hidden, self._hidden_depth = "", 0  # the element that hides what is in it
        self._regions = dict.fromkeys(REGIONS, 0)

    def text(self, token: Text) -> None:
        if not self._hidden:
            self._texts.append(token)
            if self._link is not None:
                self._link[1].append(token.text)

    def open(self, token: Open) -> None:
        tag, attributes = token.tag, token.attributes
        if self._is_hidden(token):
            return
        if tag == "title" and not self.outline.title:
            self.outline.title, self.outline.title_tag = one_line(unescape(token.raw or "")), token
        if tag not in INLINE:
            self.end_of_block(token)
            self._is_first = tag not in VOID
            self._tag = self._tag if tag in VOID else token
        if tag in REGIONS:
            self._regions[tag] += 1
        if tag == "a" and "href" in attributes:
            self.end_of_link()
            self._link = (token, [])
        if tag == "img":
            alt = one_line(attributes.get("alt", ""))
            self.outline.pictures.append(Picture(attributes.get("src", ""), alt, token, self._inside()))

    def _is_hidden(self, token: Open) -> bool:
        tag, attributes = token.tag, token.attributes
        if self._hidden:
            if tag == self._hidden and tag != "p":
                self._hidden_depth += 1
                return True
            if self._hidden != "p" or tag in INLINE or tag in VOID:
                return True
            self._hidden = ""  # another block ends a paragraph that has no end of its own
        hides = "hidden" in attributes or _UNSEEN_STYLE.search(attributes.get("style", ""))
        if tag in VOID or not (hides or tag in _UNSEEN):
            return False
        self._hidden, self._hidden_depth = tag, 1
        return True

    def close(self, token: Close) -> None:
        tag = token.tag
        if self._hidden:
            if tag == self._hidden:
                self._hidden_depth -= 1
                self._hidden = self._hidden if self._hidden_depth > 0 else ""
            return
        if tag == "a":
            self.end_of_link()
        if tag in REGIONS and self._regions[tag]:
            self._regions[tag] -= 1
        if tag not in INLINE:
            self.end_of_block(token)
            self._tag = None

    def end_of_link(self) -> None:
        if self._link is not None:
            tag, texts = self._link
            self.outline.links.append(Link(one_line("".join(texts)), tag.attributes["href"], tag))
        self._link = None

    def end_of_block(self, by: Token | None = None) -> None:
        """The block ends here, by this tag or with the page."""
        text = one_line("".join(token.text for token in self._texts))
        if text:
            tag = self._tag.tag if self._tag else ""
            is_closed = isinstance(by, Close) and by.tag == tag
            is_last = is_closed or _is_over(tag, by)
            end = by.end if is_closed and by else self._texts[-1].end
            block = Block(
                text,
                HEADINGS.get(tag, 0),
                self._tag,
                tuple(self._texts),
                end,
                is_whole=is_last and self._is_first,
                is_last=is_last,
                inside=self._inside(),
            )
            self.outline.texts.append(block)
        self._texts.clear()

    def _inside(self) -> frozenset[str]:
        return frozenset(tag for tag, depth in self._regions.items() if depth)


def _is_over(tag: str, by: Token | None) -> bool:
    """Whether an element without a closing tag ends here."""
    match by:
        case Open():
            return tag == by.tag == "li" or (tag == "p" and by.tag not in VOID)
        case Close():
            return tag == "p" or (tag == "li" and by.tag in {"ul", "ol"})
        case _:
            return tag == "p"
