"""Text written line by line, with white space, cells and items of lists as a mail program shows them."""

from __future__ import annotations

from itertools import groupby

from webordinary.core.mail import Stretch, StretchKind

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
