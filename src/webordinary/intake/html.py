"""HTML to the text that a person sees, line by line, with quotes marked by `>` as plain mail marks them."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.intake.html_style import Look, StyleSheet
from webordinary.intake.html_tokens import TOO_INTRICATE, Close, Open, Text, tokens
from webordinary.intake.limits import HTML_DEPTH
from webordinary.intake.problems import CannotRead


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _tags("area base br col embed hr img input link meta param source track wbr")
_SILENT = _tags(
    "script style title textarea xmp iframe noembed noframes template head select object svg math audio video"
)
_WITH_GAP = _tags("p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr center form")
_BLOCKS = _WITH_GAP | _tags(
    "address article aside body caption dd details div dt fieldset figcaption figure footer header html li"
    " main nav section summary tbody td tfoot th thead tr"
)
# Closing tags do not reach beyond these, and an opening tag ends what can't contain it.
_WALLS = _tags("td th caption table html")
_ENDS = {
    "li": (_tags("li"), _tags("ul ol table")),
    "td": (_tags("td th"), _tags("tr table")),
    "th": (_tags("td th"), _tags("tr table")),
    "tr": (_tags("tr"), _tags("table")),
    "dt": (_tags("dt dd"), _tags("dl table")),
    "dd": (_tags("dt dd"), _tags("dl table")),
}
_SIGNATURES = ("gmail_signature", "moz-signature", "ms-outlook-mobile-signature")
LINK_CHARACTERS = 300


def html_to_text(html: str) -> str:
    """The visible text of an HTML mail."""
    page = _Page()
    for token in tokens(html):
        match token:
            case Text(text):
                page.text(text)
            case Open():
                page.open(token)
            case Close(tag):
                page.close(tag)
    return page.finished()


@dataclass(frozen=True, slots=True)
class _Element:
    tag: str
    look: Look
    quotes: int = 0
    keeps_lines: bool = False  # inside <pre>
    is_tight: bool = False  # without a gap around it: Word's paragraphs
    link: str = ""


class _Page:
    """Follows which elements are open, and writes what is visible."""

    def __init__(self) -> None:
        self._open: list[_Element] = [_Element("", Look())]
        self._sheet = StyleSheet()
        self._lines = _Lines()

    def finished(self) -> str:
        self._lines.end_line()
        return self._lines.joined()

    def text(self, text: str) -> None:
        here = self._open[-1]
        if not here.look.is_visible:
            return
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
        look = self._open[-1].look.inside(self._sheet.style(tag, attributes), attributes)
        if tag in _VOID:
            self._void(tag, attributes, look)
            return
        if len(self._open) > HTML_DEPTH:
            raise CannotRead(TOO_INTRICATE)
        self._push(tag, attributes, look)

    def _push(self, tag: str, attributes: dict[str, str], look: Look) -> None:
        if tag in _SILENT or _is_signature(attributes):
            look = Look(is_gone=True)
        parent = self._open[-1]
        quotes = parent.quotes + (tag == "blockquote" and _is_quote(attributes))
        link = attributes.get("href", "") if tag == "a" else ""
        keeps_lines = parent.keeps_lines or tag == "pre"
        self._open.append(_Element(tag, look, quotes, keeps_lines, _is_tight(attributes), link))
        self._lines.quotes = quotes
        if look.is_visible:
            if tag == "li":
                self._lines.write("- ", as_is=True)
            elif tag in {"td", "th"}:
                self._lines.begin_cell()
            elif tag == "a":
                self._lines.begin_link()

    def _void(self, tag: str, attributes: dict[str, str], look: Look) -> None:
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
            if element.tag in _BLOCKS:
                self._boundary(element.tag, is_tight=element.is_tight)
        self._lines.quotes = self._open[-1].quotes

    def _end_what_cannot_contain(self, tag: str) -> None:
        ended, stops = _ENDS.get(tag, (_tags("p"), _WALLS))
        for at in range(len(self._open) - 1, 0, -1):
            if self._open[at].tag in ended:
                self._pop_to(at)
                return
            if self._open[at].tag in stops:
                return

    def _boundary(self, tag: str, *, is_tight: bool) -> None:
        """A block starts or ends here."""
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


def _is_signature(attributes: dict[str, str]) -> bool:
    named = f"{attributes.get('class', '')} {attributes.get('id', '')}".lower()
    return any(name in named for name in _SIGNATURES) or attributes.get("id") == "Signature"


# --- lines ------------------------------------------------------------------------------------------------


class _Lines:
    """Text being written, with white space as a browser shows it."""

    def __init__(self) -> None:
        self.quotes = 0
        self._done: list[str] = []
        self._wants_gap = False
        self._line: list[str] = []
        self._is_blank = True
        self._is_held = False  # open for a space that does not break: how programs write an empty line
        self._space = ""  # to be written before the next word, unless the line ends
        self._link_from = 0

    def joined(self) -> str:
        return "\n".join(self._done).strip("\n")

    def write(self, text: str, *, as_is: bool = False) -> None:
        words = text.split()
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

    def begin_cell(self) -> None:
        """Cells of one row stand side by side."""
        if not self._is_blank:
            self._space = " | "

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
        text = "".join(self._line).rstrip()
        if self._wants_gap and text and self._done:
            self._done.append(_marked("", self.quotes))
        self._wants_gap = self._wants_gap and not text
        self._done.append(_marked(text, self.quotes))
        self._begin_line()

    def end_line(self) -> None:
        """End this line if there is anything on it."""
        if self._is_held or not self._is_blank:
            self.break_line()
        self._begin_line()

    def _begin_line(self) -> None:
        self._line = []
        self._is_blank, self._is_held = True, False
        self._space, self._link_from = "", 0

    def gap(self) -> None:
        """Leave a line empty before the next text."""
        self._wants_gap = True


def _marked(text: str, quotes: int) -> str:
    return ("> " * quotes + text).rstrip() if quotes else text
