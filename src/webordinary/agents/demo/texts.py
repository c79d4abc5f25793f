"""Visible text of a page as people read it, and the way back to where each letter is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from justhtml import Node, Text

from webordinary.agents.demo.bounds import CannotDo, shown
from webordinary.agents.demo.page import (
    Intended,
    Page,
    Splice,
    content_end,
    elements,
    spans,
    spliced,
    start_tag,
)

FORMATTING = frozenset(
    {"abbr", "b", "bdi", "bdo", "big", "br", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd"}
    | {"mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
)
INLINE = FORMATTING | {"a", "data", "label"}
UNSEEN = frozenset(
    {"script", "style", "template", "noscript", "textarea", "select", "svg", "math", "iframe", "object"}
    | {"head", "title", "audio", "video", "canvas"}
)
_ALIKE = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2011", "'''" + 5 * '"' + "-")


@dataclass(frozen=True, slots=True)
class Letter:
    """One character as it is read: a run of white space is one. `node` is None for a line break."""

    node: Text | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """Text that is read without a break."""

    text: str
    letters: tuple[Letter, ...]


def folded(text: str, *, case: bool = False) -> str:
    """A text for comparing, as long as it was: kinds of quotes are alike, and without `case` so are cases."""
    alike = text.translate(_ALIKE)
    return alike if case else "".join(low if len(low := char.lower()) == 1 else char for char in alike)


def plain(text: str) -> str:
    """A text without its white space at the ends, and with single spaces."""
    return " ".join(text.split())


def same(one: str, other: str) -> bool:
    """Whether two texts read alike."""
    return folded(plain(one)) == folded(plain(other))


class _Collector:
    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._text: list[str] = []
        self._letters: list[Letter] = []

    def add(self, node: Text) -> None:
        for index, char in enumerate(node.data or ""):
            if not char.isspace():
                self._put(char, Letter(node, index, index + 1))
            elif self._text and self._text[-1] == " " and self._letters[-1].node is node:
                self._letters[-1] = Letter(node, self._letters[-1].start, index + 1)
            elif self._text and self._text[-1] != " ":
                self._put(" ", Letter(node, index, index + 1))

    def line_break(self) -> None:
        if self._text and self._text[-1] != " ":
            self._put(" ", Letter(None, 0, 0))

    def _put(self, char: str, letter: Letter) -> None:
        self._text.append(char)
        self._letters.append(letter)

    def flush(self) -> None:
        if self._text and self._text[-1] == " ":
            self._text.pop()
            self._letters.pop()
        if self._text:
            self.runs.append(Run("".join(self._text), tuple(self._letters)))
        self._text, self._letters = [], []


def runs_of(node: Node, *, whole: bool = False) -> list[Run]:
    """The visible runs in a node; with `whole`, all its text is one run."""
    collector = _Collector()
    _collect(node, collector, whole=whole)
    collector.flush()
    return collector.runs


def _collect(node: Node, collector: _Collector, *, whole: bool) -> None:
    for child in node.children or ():
        if isinstance(child, Text):
            collector.add(child)
        elif child.name == "br":
            collector.line_break()
        elif child.name in UNSEEN or child.namespace != "html" or "hidden" in (child.attrs or {}):
            pass
        elif whole or child.name in INLINE:
            _collect(child, collector, whole=whole)
        else:
            collector.flush()
            _collect(child, collector, whole=whole)
            collector.flush()


def text_of(node: Node) -> str:
    """All visible text of an element on one line."""
    return " ".join(run.text for run in runs_of(node, whole=True))


def occurrences(run: Run, words: str, *, case: bool) -> Iterator[Place]:
    """Where words stand in a run, as whole words."""
    wanted, text = folded(plain(words), case=case), folded(run.text, case=case)
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (_joined(before, wanted[0]) or _joined(wanted[-1], after)):
            yield Place(run, start, end)
            start = text.find(wanted, end)
        else:
            start = text.find(wanted, start + 1)


def _joined(one: str, other: str) -> bool:
    return one.isalnum() and other.isalnum()


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of a run."""

    run: Run
    start: int
    end: int

    @property
    def text(self) -> str:
        """What it says."""
        return self.run.text[self.start : self.end]


def with_words(page: Page, places: Sequence[Place], words: str) -> Page:
    """Put other words into some places of a page. Tags stay where they are."""
    splices: list[Splice] = []
    texts: dict[int, str] = {}
    for place in reversed(places):  # from the end, so that what comes before stays where it is
        node, first, last, new = _in_one_node(page, place, words)
        where = spans(page, node)
        begin = where[first][0] if first < len(where) else where[-1][1]
        splices.append(Splice(begin, where[last - 1][1] if last > first else begin, escape(new, quote=False)))
        data = texts.get(id(node), node.data or "")
        texts[id(node)] = data[:first] + new + data[last:]
    return spliced(page, splices, Intended(texts=texts))


def _in_one_node(page: Page, place: Place, words: str) -> tuple[Text, int, int, str]:
    """The one text node that a place is in, from where to where in it, and what it is to say there."""
    run, start, end = place.run, place.start, place.end
    node, first, last = _one_node(run, start, end)
    if node is None:
        start, end, words = _narrowed(run, start, end, words)
        node, first, last = _one_node(run, start, end)
    if node is None:
        raise CannotDo(
            f"the words {shown(place.text)} in {page.path} are not formatted alike; "
            "name only a part of them that is"
        )
    return node, first, last, words


def _narrowed(run: Run, start: int, end: int, words: str) -> tuple[int, int, str]:
    """Leave out what both texts begin and end with."""
    old = run.text[start:end]
    head = next(
        (i for i, (a, b) in enumerate(zip(old, words, strict=False)) if a != b), min(len(old), len(words))
    )
    rest, new = old[head:], words[head:]
    tail = 0
    while tail < min(len(rest), len(new)) and rest[-1 - tail] == new[-1 - tail]:
        tail += 1
    return start + head, end - tail, new[: len(new) - tail]


def _one_node(run: Run, start: int, end: int) -> tuple[Text | None, int, int]:
    """The one text node that a place is in, and where in it; an empty place is after the letter before it."""
    letters = run.letters[start:end]
    if not letters:
        before = run.letters[max(start - 1, 0)]
        return before.node, before.end, before.end
    node = letters[0].node
    alone = all(letter.node is node for letter in letters)
    return (node, letters[0].start, letters[-1].end) if alone else (None, 0, 0)


def with_text(page: Page, node: Node, text: str) -> tuple[Page, bool]:
    """Give an element another text; say whether formatting inside it was dropped for that."""
    runs = runs_of(node, whole=True)
    try:
        if runs:
            return with_words(page, [Place(runs[0], 0, len(runs[0].text))], text), False
    except CannotDo:
        if any(inner.name not in FORMATTING for inner in elements(node)):
            raise
    if not runs and node.children:
        raise CannotDo(f"the place in {page.path} has no text, but something else in it")
    splice = Splice(start_tag(page, node).end, content_end(page, node), escape(text, quote=False))
    return spliced(page, [splice], Intended(contents={id(node): text})), bool(runs)
