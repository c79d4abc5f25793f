"""HTML to the text that a person sees, line by line, with quotes marked by `>` as plain mail marks them.

What only HTML says is put into the text: numbers of lists, `~~` around what is struck out, `|` between cells,
where links lead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

from webordinary.core.failure import MailProblem
from webordinary.core.html import VOID, Close, Open, Text, tags, tokens
from webordinary.core.mail import Stretch, StretchKind
from webordinary.intake.html_style import Style, StyleSheet, TextStyle
from webordinary.intake.limits import HTML_DEPTH, HTML_TOKENS, CannotRead

LINK_CHARACTERS = 2_000
ROW_LINES = 2  # of a row that is one line: that and a gap above it
CELL_CHARACTERS = 500  # of a row so far; longer ones are no table that anybody reads across


class Lines:
    """Text being written, with white space as a browser shows it."""

    def __init__(self) -> None:
        self._quotes, self._kind = 0, StretchKind.OWN
        self._done: list[tuple[StretchKind, str]] = []
        self._wants_gap = False
        self._line: list[str] = []
        self._is_blank = True
        self._is_held = False  # open for a space that does not break: how programs write an empty line
        self._space = ""  # to be written before the next word, unless the line ends
        self._link_from = 0
        self._item = ""  # what stands before the first word of an item of a list
        self._row_from, self._cells = 0, 0
        self._is_one_line = False  # the row so far
        self._at_cell_start = False  # nothing breaks the line here

    def stretches(self) -> list[Stretch]:
        runs = groupby(self._done, key=lambda line: line[0])
        return [Stretch(kind, "\n".join(text for _, text in run)) for kind, run in runs]

    def place(self, quotes: int, kind: StretchKind) -> None:
        """Say how deep the text that follows is quoted, and what it is."""
        if (quotes, kind) != (self._quotes, self._kind):
            self._at_cell_start = self._is_one_line = False  # nobody's words join somebody else's
            self.end_line()
        self._quotes, self._kind = quotes, kind

    def write(self, text: str, *, as_is: bool = False) -> None:
        words = text.split()
        if words:
            self._at_cell_start = False
            if self._item:
                self._line.append(self._space + self._item)
                self._item, self._space = "", " "
        self._is_blank = self._is_blank and not words
        self._is_held = self._is_held or "\u00a0" in text
        if as_is:
            self._line.append(text)
            return
        if not words:
            self._space = self._space or (" " if text and self._line else "")
            return
        if text[0].isspace() and self._line:
            self._space = self._space or " "
        self._line.append(self._space + " ".join(words))
        self._space = " " if text[-1].isspace() else ""

    def begin_item(self, bullet: str) -> None:
        self._item = bullet

    def begin_row(self) -> None:
        self._wants_gap = self._wants_gap and not self._cells
        self._row_from, self._cells, self._is_one_line = len(self._done), 0, True

    def begin_cell(self, *, keeps_empty: bool) -> None:
        """Cells of one row stand side by side, also where each is a paragraph of one line."""
        self._cells += 1
        if self._cells > 1 and self._is_blank and self._is_one_line:
            self._go_on_with_row()
        if self._cells > 1 and (keeps_empty or not self._is_blank):
            self._space = self._space.rstrip() + " | "
        self._at_cell_start = True

    def _go_on_with_row(self) -> None:
        done = self._done[self._row_from : self._row_from + ROW_LINES + 1]
        written = [text for _, text in done if text.strip("> ")]
        if len(done) > ROW_LINES or len(written) > 1:
            self._is_one_line = False
        elif written and len(written[0]) <= CELL_CHARACTERS:
            del self._done[self._row_from :]
            self._line = [written[0].removeprefix("> " * self._quotes)]
            self._is_blank, self._wants_gap = False, False

    def end_cell(self, *, is_last: bool) -> None:
        self._at_cell_start = False
        self._is_one_line = self._is_one_line and not is_last

    def begin_link(self) -> None:
        self._link_from = len(self._line)

    def end_link(self, address: str) -> None:
        """Say where a link leads, unless its text says so."""
        address = address.strip()
        shown = "".join(self._line[self._link_from :]).strip()
        scheme, _, rest = address.partition(":")
        is_worth_it = scheme.lower() in {"http", "https", "mailto", "tel"} and len(address) <= LINK_CHARACTERS
        if shown and is_worth_it and rest.strip("/ ").lower() not in shown.lower():
            self._line.append(f" <{address}>")
        self._link_from = len(self._line)

    def break_line(self) -> None:
        """End this line, even an empty one."""
        if self._at_cell_start:
            return
        text = "".join(self._line).rstrip()
        if self._wants_gap and text and self._done:
            self._done.append((self._kind, _marked("", self._quotes)))
        self._wants_gap = self._wants_gap and not text
        self._done.append((self._kind, _marked(text, self._quotes)))
        self._begin_line()

    def end_line(self) -> None:
        """End this line if there is anything on it."""
        if self._at_cell_start:
            return
        if self._is_held or not self._is_blank:
            self.break_line()
        self._begin_line()

    def _begin_line(self) -> None:
        self._line = []
        self._is_blank, self._is_held = True, False
        self._space, self._link_from = "", 0

    def gap(self) -> None:
        """Leave a line empty before the next text."""
        self._wants_gap = not self._at_cell_start


def _marked(text: str, quotes: int) -> str:
    return ("> " * quotes + text).rstrip() if quotes else text


_SILENT = tags(
    "script style title textarea xmp iframe noembed noframes template head select object svg math audio video"
)
_WITH_GAP = tags("p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr center form")
_BLOCKS = _WITH_GAP | tags(
    "address article aside body caption dd details div dt fieldset figcaption figure footer header html li"
    " main nav section summary tbody td tfoot th thead tr"
)
# Closing tags do not reach beyond these, and an opening tag ends what can't contain it.
_WALLS = tags("td th caption table html")
_ENDS = {
    "li": (tags("li"), tags("ul ol table")),
    "td": (tags("td th"), tags("tr table")),
    "th": (tags("td th"), tags("tr table")),
    "tr": (tags("tr"), tags("table")),
    "dt": (tags("dt dd"), tags("dl table")),
    "dd": (tags("dt dd"), tags("dl table")),
}
# Names that mail programs give to what they add, in whatever language they write it.
_NAMED = (
    (re.compile(r"gmail_attr|moz-cite-prefix"), StretchKind.ATTRIBUTION),
    (
        re.compile(
            r"gmail_signature|moz-signature|ms-outlook-mobile-signature|protonmail_signature_block"
            r"|yahoo[_-]signature|zmail_signature|zm-_id_-sgn(?!1)|applemailsignature|(?:^| )signature$"
        ),
        StretchKind.SIGNATURE,
    ),
)
_CELLS_END = tags("td th tr table tbody thead tfoot caption")
_STRUCK = tags("s strike del")
TOO_INTRICATE = "its text is made of too many pieces"
_LIST_NUMBER = re.compile(r"-?\d{1,6}", re.ASCII)


def html_to_stretches(html: str) -> list[Stretch]:
    """The visible text of an HTML mail. A stretch is marked as own unless the HTML says what it is."""
    page = _Page()
    for number, token in enumerate(tokens(html)):
        if number > HTML_TOKENS:
            raise CannotRead(TOO_INTRICATE, MailProblem.TOO_LONG)
        match token:
            case Text(text):
                page.text(text)
            case Open():
                page.open(token)
            case Close(tag):
                page.close(tag)
    return page.finished()


@dataclass(slots=True)
class _Numbers:
    following: int = 1
    step: int = 1

    def number(self, given: str) -> int:
        """The number of the next item, which may have one of its own."""
        own = _LIST_NUMBER.fullmatch(given.strip())
        number = int(own[0]) if own else self.following
        self.following = number + self.step
        return number


@dataclass(frozen=True, slots=True)
class _Element:
    tag: str
    look: TextStyle
    quotes: int = 0
    keeps_lines: bool = False  # inside <pre>
    is_tight: bool = False  # without a gap around it: Word's paragraphs
    link: str = ""
    kind: StretchKind = StretchKind.OWN
    is_struck: bool = False
    lists: int = 0  # how many lists this is in
    numbers: _Numbers | None = None  # of the items of a numbered list
    has_grid: bool = False  # a table that shows its cells, so that empty ones count


class _Page:
    """Follows which elements are open, and writes what is visible."""

    def __init__(self) -> None:
        self._open: list[_Element] = [_Element("", TextStyle())]
        self._sheet = StyleSheet()
        self._lines = Lines()

    def finished(self) -> list[Stretch]:
        self._lines.end_line()
        return self._lines.stretches()

    def text(self, text: str) -> None:
        here = self._open[-1]
        if not here.look.is_visible:
            return
        if here.is_struck:
            text = "\n".join(map(_struck, text.split("\n"))) if here.keeps_lines else _struck(text)
        if not here.keeps_lines:
            self._lines.write(text)
            return
        first, *rest = text.split("\n")
        self._lines.write(first, as_is=True)
        for line in rest:
            self._lines.break_line()
            self._lines.write(line, as_is=True)

    # --- tags ---------------------------------------------------------------------------------------------

    def open(self, token: Open) -> None:
        tag, attributes = token.tag, token.attributes
        if tag == "style" and token.raw:
            self._sheet.add(token.raw)
        if tag in _BLOCKS:
            self._end_what_cannot_contain(tag)
            self._boundary(tag, is_tight=_is_tight(attributes))
        elif tag == "a":
            self.close("a")
        style = self._sheet.style(tag, attributes)
        look = self._open[-1].look.inside(style, attributes)
        if tag in VOID:
            self._void(tag, attributes, look)
            return
        if len(self._open) > HTML_DEPTH:
            raise CannotRead(TOO_INTRICATE, MailProblem.TOO_LONG)
        self._push(tag, attributes, style, look)

    def _push(self, tag: str, attributes: dict[str, str], style: Style, look: TextStyle) -> None:
        if tag in _SILENT:
            look = TextStyle(is_gone=True)
        parent = self._open[-1]
        is_list = tag in {"ol", "ul"}
        element = _Element(
            tag,
            look,
            quotes=parent.quotes + (tag == "blockquote" and _is_quote(attributes)),
            keeps_lines=parent.keeps_lines or tag == "pre",
            is_tight=_is_tight(attributes),
            link=attributes.get("href", "") if tag == "a" else "",
            kind=_named(attributes) or parent.kind,
            is_struck=parent.is_struck or tag in _STRUCK or "line-through" in _decoration(style),
            lists=parent.lists + is_list,
            numbers=_numbers(attributes) if tag == "ol" else None if is_list else parent.numbers,
            has_grid=_has_grid(attributes) if tag == "table" else parent.has_grid,
        )
        self._open.append(element)
        self._lines.place(element.quotes, element.kind)
        if look.is_visible:
            self._begin(element, attributes)

    def _begin(self, element: _Element, attributes: dict[str, str]) -> None:
        """Write what stands before the text of an element."""
        match element.tag:
            case "li":
                numbers = element.numbers
                bullet = "-" if numbers is None else f"{numbers.number(attributes.get('value', ''))}."
                self._lines.begin_item("  " * (element.lists - 1) + bullet)
            case "tr":
                self._lines.begin_row()
            case "td" | "th":
                self._lines.begin_cell(keeps_empty=element.has_grid or element.tag == "th")
            case "a":
                self._lines.begin_link()
            case _:
                pass

    def _void(self, tag: str, attributes: dict[str, str], look: TextStyle) -> None:
        if tag == "br" and not look.is_gone:
            self._lines.break_line()
        source = attributes.get("src", "").strip()
        if tag == "img" and source.lower().startswith("cid:") and look.is_visible:
            self._lines.write(f"[{source}]")

    def close(self, tag: str) -> None:
        at = self._matching(tag)
        if at:
            self._pop_to(at)

    def _matching(self, tag: str) -> int:
        """Where the element is that this closes; 0 if there is none that it may close."""
        stops = _WALLS if tag in _BLOCKS else _BLOCKS
        for at in range(len(self._open) - 1, 0, -1):
            if self._open[at].tag == tag:
                return at
            if self._open[at].tag in stops and tag not in {"table", "tr", "tbody", "html", "body"}:
                return 0
        return 0

    def _pop_to(self, at: int) -> None:
        while len(self._open) > at:
            element = self._open.pop()
            if element.link and element.look.is_visible:
                self._lines.end_link(element.link)
            if element.tag == "li":
                self._lines.begin_item("")
            if element.tag in _BLOCKS:
                self._boundary(element.tag, is_tight=element.is_tight)
        self._lines.place(self._open[-1].quotes, self._open[-1].kind)

    def _end_what_cannot_contain(self, tag: str) -> None:
        ended, stops = _ENDS.get(tag, (tags("p"), _WALLS))
        for at in range(len(self._open) - 1, 0, -1):
            if self._open[at].tag in ended:
                self._pop_to(at)
                return
            if self._open[at].tag in stops:
                return

    def _boundary(self, tag: str, *, is_tight: bool) -> None:
        """A block starts or ends here."""
        if tag in _CELLS_END:
            self._lines.end_cell(is_last=tag == "table")
        if tag in {"td", "th"}:
            return
        self._lines.end_line()
        if tag in _WITH_GAP and not is_tight:
            self._lines.gap()


def _is_quote(attributes: dict[str, str]) -> bool:
    """Mail programs also use the element to indent what a person wrote."""
    style = attributes.get("style", "").lower().replace(" ", "")
    return "border:none" not in style and "indent" not in attributes.get("class", "")


def _is_tight(attributes: dict[str, str]) -> bool:
    return attributes.get("class", "").startswith("Mso")


def _named(attributes: dict[str, str]) -> StretchKind | None:
    """What the HTML itself says that an element is."""
    if "data-signatureblock" in attributes:
        return StretchKind.SIGNATURE
    names = f"{attributes.get('class', '')} {attributes.get('id', '')}".lower().strip()
    return next((kind for pattern, kind in _NAMED if pattern.search(names)), None) if names else None


def _struck(text: str) -> str:
    words = text.strip()
    return text.replace(words, f"~~{words}~~", 1) if words else text


def _decoration(style: Style) -> str:
    return style.get("text-decoration", "") + style.get("text-decoration-line", "")


def _numbers(attributes: dict[str, str]) -> _Numbers:
    start = _LIST_NUMBER.fullmatch(attributes.get("start", "").strip())
    return _Numbers(int(start[0]), -1 if "reversed" in attributes else 1) if start else _Numbers()


def _has_grid(attributes: dict[str, str]) -> bool:
    border, named = attributes.get("border", "0").strip(), attributes.get("class", "").lower()
    return border not in {"", "0"} or "grid" in named
