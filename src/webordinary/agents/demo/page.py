"""A page as its source and its tree: found with a parser, changed by splicing, checked by parsing again.

Writing a parsed tree back would touch dozens of lines that nobody asked to change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape

from justhtml import JustHTML, Node, Text

from webordinary.agents.demo.bounds import PAGE_BYTES, PAGE_DEPTH, PAGE_TAGS, CannotDo

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
RAW = frozenset({"script", "style", "iframe", "noembed", "noframes", "noscript", "xmp", "plaintext"})
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:-]{1,40})""", re.IGNORECASE)
_DECLARED_WITHIN_BYTES = 4096
_ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "windows-1252": "cp1252",
}
_REFERENCE = re.compile(r"&(?:#[0-9]{1,8};?|#[xX][0-9a-fA-F]{1,8};?|[A-Za-z][A-Za-z0-9]{0,31};?)")
_NAME = re.compile(r"<[^\s/>]+")
_ATTRIBUTE = re.compile(r"""([\s/]*+)(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+))?)""")

Shape = tuple[object, ...]
Attributes = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One page of a site, parsed."""

    path: str
    source: str = field(repr=False)  # without a byte order mark
    encoding: str
    marked: bool  # whether it starts with a byte order mark
    root: Node = field(repr=False)

    @property
    def content(self) -> bytes:
        """The bytes of the page; characters that its encoding lacks become references."""
        coded = self.source.encode(self.encoding, errors="xmlcharrefreplace")
        return BYTE_ORDER_MARK + coded if self.marked else coded

    @property
    def line_end(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.source else "\n"


@dataclass(frozen=True, slots=True)
class Splice:
    """A piece of the source, and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Intended:
    """What a change of the source is to make of the tree, by the identity of its nodes."""

    texts: Mapping[int, str] = field(default_factory=dict)
    attributes: Mapping[int, Attributes] = field(default_factory=dict)
    contents: Mapping[int, str] = field(default_factory=dict)  # all that is in an element, as plain text
    removed: frozenset[int] = frozenset()
    paragraph_after: Mapping[int, str] = field(default_factory=dict)
    paragraph_before: Mapping[int, str] = field(default_factory=dict)


def parsed(path: str, content: bytes) -> Page | str:
    """Parse a page within bounds, or say why not."""
    if len(content) > PAGE_BYTES:
        return f"it is larger than {PAGE_BYTES // 1000} kB"
    marked = content.startswith(BYTE_ORDER_MARK)
    bare = content.removeprefix(BYTE_ORDER_MARK)
    declared = _DECLARED.search(bare[:_DECLARED_WITHIN_BYTES])
    name = declared[1].decode().lower() if declared and not marked else "utf-8"
    encoding = _ENCODINGS.get(name, "")
    try:
        source = bare.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return "its characters are written in a way that I can't read"
    if source.count("<") > PAGE_TAGS:
        return f"it has more than {PAGE_TAGS} tags"
    page = Page(path, source, encoding, marked, JustHTML("").root)
    return _with_tree(page, source)


def _with_tree(page: Page, source: str) -> Page | str:
    if source.startswith("\ufeff"):
        return "it has two byte order marks"
    root = JustHTML(source, sanitize=False, track_node_locations=True).root
    if _deepest(root) > PAGE_DEPTH:
        return f"its tags are nested more than {PAGE_DEPTH} levels deep"
    return replace(page, source=source, root=root)


def _deepest(root: Node) -> int:
    deepest, level = 0, [root]
    while level and deepest <= PAGE_DEPTH:
        level = [child for node in level for child in node.children or () if isinstance(child, Node)]
        deepest += 1
    return deepest


# --- looking ----------------------------------------------------------------------------------------


def nodes_of(root: Node) -> Iterator[Node | Text]:
    """All nodes below one, in the order of the page."""
    waiting: list[Node | Text] = list(reversed(root.children or ()))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children or ()))


def elements(root: Node, *names: str) -> list[Node]:
    """The HTML elements of these names, in the order of the page; of any name if none is given."""
    return [
        node
        for node in nodes_of(root)
        if isinstance(node, Node) and node.namespace == "html" and (not names or node.name in names)
    ]


def ancestors(node: Node | Text) -> Iterator[Node]:
    """What a node is in, innermost first."""
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def attribute(node: Node, name: str) -> str:
    """The value of an attribute; "" if there is none."""
    return (node.attrs or {}).get(name) or ""


# --- where things are in the source ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """An attribute as it is written: with the space before it, and its value with its quotes."""

    start: int
    end: int
    value: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class StartTag:
    """An opening tag as it is written."""

    start: int
    named: int  # where its name ends
    end: int
    attributes: Mapping[str, Written]


def start_tag(page: Page, node: Node) -> StartTag:
    """Read an element's opening tag in the source."""
    start = node.origin_offset
    name = _NAME.match(page.source, start) if start is not None else None
    if start is None or name is None or name[0][1:].lower() != node.name.lower():
        raise CannotDo(f"{page.path} is written in a way that I can't change safely")
    position = name.end()
    written: dict[str, Written] = {}
    while (found := _ATTRIBUTE.match(page.source, position)) is not None and found[2] is None:
        value = found.span(4) if found[4] is not None else None
        written.setdefault(found[3].lower(), Written(found.start(), found.end(), value))
        position = found.end()
    if found is None:
        raise CannotDo(f"{page.path} has a tag that never ends")
    return StartTag(start, name.end(), found.end(), written)


def spans(page: Page, text: Text) -> list[tuple[int, int]]:
    """For each character of a text node, where it is in the source; a reference is one character or two."""
    source, data, position = page.source, text.data or "", text.origin_offset
    if position is None:
        raise CannotDo(f"{page.path} has a text that I can't find in its source")
    found: list[tuple[int, int]] = []
    while len(found) < len(data):
        plain, end = _character(source, position, data[len(found) : len(found) + 2])
        if not plain or not data.startswith(plain, len(found)):
            raise CannotDo(f"{page.path} has text with broken tags in it, which I can't change safely")
        found += [(position, end)] * len(plain)
        position = end
    return found


def _character(source: str, position: int, expected: str) -> tuple[str, int]:
    """The next character of a text, as it is read and where it ends."""
    here = source[position : position + 1]
    if here == "\r":
        return "\n", position + (2 if source.startswith("\r\n", position) else 1)
    reference = _REFERENCE.match(source, position) if here == "&" else None
    if reference is not None:
        plain = unescape(reference[0])
        if plain != reference[0] and len(plain) <= len(expected) and expected.startswith(plain):
            return plain, reference.end()
    return here, position + 1


def content_end(page: Page, node: Node) -> int:
    """Where the content of an element ends and its closing tag, if it has one, starts."""
    position = start_tag(page, node).end
    if node.name in RAW:
        closing = re.compile(rf"</{re.escape(node.name)}(?=[\s/>])", re.IGNORECASE).search(
            page.source, position
        )
        return closing.start() if closing else len(page.source)
    for child in node.children or ():
        position = max(position, end_of(page, child))
    return position


def end_of(page: Page, node: Node | Text) -> int:
    """Where a node ends in the source, its closing tag included."""
    if isinstance(node, Text):
        return spans(page, node)[-1][1] if node.data else node.origin_offset or 0
    if node.name.startswith(("#", "!")):
        closing = page.source.find("-->", node.origin_offset or 0)
        return closing + 3 if closing >= 0 else len(page.source)
    if node.origin_offset is None:  # an element that the page leaves out, like tbody
        return max((end_of(page, child) for child in node.children or ()), default=0)
    position = content_end(page, node)
    closed = re.compile(rf"</{re.escape(node.name)}[\s/]*>", re.IGNORECASE).match(page.source, position)
    return closed.end() if closed else position


# --- changing ----------------------------------------------------------------------------------------


def with_attribute(page: Page, node: Node, name: str, value: str) -> Splice:
    """Give an attribute a value, in the quotes it has."""
    tag = start_tag(page, node)
    written = tag.attributes.get(name)
    if written is None:
        return Splice(tag.named, tag.named, f' {name}="{escape(value)}"')
    if written.value is None:
        return Splice(written.end, written.end, f'="{escape(value)}"')
    start, end = written.value
    quote = "'" if page.source[start] == "'" else '"'
    return Splice(start, end, f"{quote}{escape(value)}{quote}")


def without_attribute(page: Page, node: Node, name: str) -> Splice | None:
    """Take an attribute out, with the space before it."""
    written = start_tag(page, node).attributes.get(name)
    return Splice(written.start, written.end, "") if written else None


def spliced(page: Page, splices: Sequence[Splice], intended: Intended) -> Page:
    """Change the source, and make sure that the tree changed as intended and nowhere else."""
    source = page.source
    for splice in sorted(splices, key=lambda one: one.start, reverse=True):
        source = source[: splice.start] + splice.text + source[splice.end :]
    changed = _with_tree(page, source)
    if isinstance(changed, str) or shape(changed.root) != shape(page.root, intended):
        raise CannotDo(f"the place in {page.path} is written in a way that I can't change safely")
    return changed


def shape(root: Node, intended: Intended | None = None) -> list[Shape]:
    """A tree as a flat list, but for white space; with a change that is intended already made."""
    flat = _Flat()
    _flatten(root, intended or Intended(), flat)
    flat.flush()
    return flat.shapes


class _Flat:
    """Collects shapes; texts that touch are one."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self._text: list[str] = []

    def text(self, text: str) -> None:
        self._text.append(text)

    def tag(self, *shape: object) -> None:
        self.flush()
        self.shapes.append(shape)

    def paragraph(self, text: str | None) -> None:
        if text is not None:
            self.tag("<", "p", ())
            self.text(text)
            self.tag(">", "p")

    def flush(self) -> None:
        text = re.sub(r"\s+", " ", "".join(self._text))
        self._text.clear()
        if text.strip():
            self.shapes.append(("text", text))


def _flatten(node: Node | Text, intended: Intended, flat: _Flat) -> None:
    key = id(node)
    if key in intended.removed:
        return
    if isinstance(node, Text):
        flat.text(intended.texts.get(key, node.data or ""))
        return
    flat.paragraph(intended.paragraph_before.get(key))
    attributes = intended.attributes.get(key, node.attrs or {})
    flat.tag("<", node.name, tuple(sorted((name, value or "") for name, value in attributes.items())))
    if key in intended.contents:
        flat.text(intended.contents[key])
    else:
        for child in node.children or ():
            _flatten(child, intended, flat)
    flat.tag(">", node.name)
    flat.paragraph(intended.paragraph_after.get(key))
