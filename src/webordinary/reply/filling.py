"""Templates of letters: one plain file a language and letter, from which its text and its HTML are made.

A template is paragraphs with a blank line between them; in a letter's own the first one is its title.

| in a template | meaning |
|---|---|
| `${fact}` | the fact. A paragraph that names a fact we do not have is left out |
| `?fact`, `!fact` on a first line | keep the paragraph only with, or only without that fact |
| `*undo*` | a word to reply with: quoted in text, bold in HTML |
| `[Have a look](${preview})` on a line | a button. A mailto: link is in HTML only |
| `- ...`, `> ...` | an item of a list; a quotation |

Facts are put in last and never read as a template; in HTML every one of them is escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import groupby
from string import Template

from webordinary.core.language import Language
from webordinary.core.mail import LetterKind

Fact = str | tuple[str, ...]  # a tuple is a list of items
Facts = Mapping[str, Fact]

_CONDITIONS = re.compile(r"(?:[?!][a-z_]+ ?)+\n")
_BUTTON = re.compile(r"\[(.+)\]\(\$\{([a-z_]+)\}\)")
_SOLE_FACT = re.compile(r"\$\{([a-z_]+)\}")
_TO_TYPE = re.compile(r"\*(.+?)\*")
_TEMPLATES = files("webordinary.reply") / "templates"

PICTURES_HERE = "<!-- pictures -->"
GAP = 16  # pixels between paragraphs
_LIST_STYLE = f"margin:0 0 {GAP}px;padding-left:1.2em"
_QUOTE_STYLE = f"margin:0 0 {GAP}px;padding:2px 0 2px 12px;border-left:3px solid #3b82f6"
_BUTTON_STYLE = (
    "display:inline-block;padding:10px 18px;border:2px solid #3b82f6;border-radius:8px;"
    "font-weight:600;text-decoration:none"
)


QUOTATION_MARKS = {
    Language.ENGLISH: "“%s”",
    Language.GERMAN: "„%s“",
    Language.FRENCH: "«\u00a0%s\u00a0»",
    Language.SPANISH: "«%s»",
}


class _Form(StrEnum):
    WORDS = "words"
    ITEM = "- "
    QUOTE = "> "
    BUTTON = "button"
    FACT = "fact"  # alone on its line: it may be a list


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a template."""

    form: _Form
    text: Template
    html: Template
    fact: str = ""  # of a button, or of a line that is nothing else

    @classmethod
    def read(cls, line: str, language: Language) -> _Line:
        if button := _BUTTON.fullmatch(line):
            label, fact = button.groups()
            anchor = f'<a href="${{{fact}}}" style="{_BUTTON_STYLE}">{html.escape(label)}</a>'
            return cls(_Form.BUTTON, Template(f"{label}:\n${{{fact}}}"), Template(anchor), fact)
        form = next((form for form in (_Form.ITEM, _Form.QUOTE) if line.startswith(form)), _Form.WORDS)
        sole = _SOLE_FACT.fullmatch(line)
        words = line.removeprefix(form)
        text = _TO_TYPE.sub(lambda found: QUOTATION_MARKS[language] % found[1], line)
        marked = _TO_TYPE.sub(r"<b>\1</b>", html.escape(words, quote=False))
        return cls(_Form.FACT if sole else form, Template(text), Template(marked), sole[1] if sole else "")

    def as_block(self, facts: Facts, shown: Mapping[str, str], margin: str) -> str:
        """The line as a block of HTML; `shown` are the facts that are no lists, escaped."""
        fact = facts.get(self.fact, "")
        if isinstance(fact, tuple):
            return _list(html.escape(item) for item in fact)
        words = self.html.substitute(shown)
        if self.form is _Form.QUOTE:
            return f'<blockquote dir="auto" style="{_QUOTE_STYLE}">{words}</blockquote>'
        return f'<p dir="auto" style="{margin}">{words}</p>'


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of a template, and when it is wanted."""

    lines: tuple[_Line, ...]
    needs: frozenset[str]
    forbids: frozenset[str]

    @classmethod
    def read(cls, text: str, language: Language = Language.ENGLISH) -> Paragraph:
        """Read a paragraph from a template's text."""
        first = _CONDITIONS.match(text)
        conditions = first.group().split() if first else []
        words = text[first.end() :] if first else text
        asked = {condition[1:] for condition in conditions if condition.startswith("?")}
        forbidden = {condition[1:] for condition in conditions if condition.startswith("!")}
        lines = tuple(_Line.read(line, language) for line in words.split("\n"))
        return cls(lines, frozenset(asked | set(Template(words).get_identifiers())), frozenset(forbidden))

    def wanted(self, facts: Facts) -> bool:
        """Say whether this letter has what the paragraph is about."""
        return all(facts[name] for name in self.needs) and not any(facts[name] for name in self.forbids)

    def as_text(self, facts: Facts) -> str:
        """The paragraph for a program that shows text: nothing there can open a mailto: link."""
        shown = {name: _as_text(fact) for name, fact in facts.items()}
        return "\n".join(
            line.text.substitute(shown)
            for line in self.lines
            if not (line.form is _Form.BUTTON and shown[line.fact].startswith("mailto:"))
        )

    def as_html(self, facts: Facts) -> str:
        """The paragraph in HTML, a block a line: words from outside may run the other way."""
        shown = {name: _escaped(fact) for name, fact in facts.items() if isinstance(fact, str)}
        blocks: list[str] = []
        for form, group in groupby(self.lines, key=lambda line: line.form):
            lines = list(group)
            if form is _Form.ITEM:
                blocks.append(_list(line.html.substitute(shown) for line in lines))
                continue
            for line in lines:
                above, below = 0 if blocks else GAP, GAP if line is self.lines[-1] else 0
                if form is _Form.BUTTON and blocks:
                    above = GAP // 2
                blocks.append(line.as_block(facts, shown, f"margin:{above}px 0 {below}px"))
        return "\n".join(blocks)


class Sheet:
    """A template file, ready to be filled in."""

    def __init__(self, name: str, language: Language = Language.ENGLISH) -> None:
        """Read `templates/{language}/{name}.txt`."""
        text = (_TEMPLATES / language / f"{name}.txt").read_text("utf-8")
        parts = re.split(r"\n\n+", text.strip("\n"))
        self.paragraphs = tuple(Paragraph.read(part, language) for part in parts)

    def wanted(self, facts: Facts) -> list[Paragraph]:
        """The paragraphs that this letter has the facts for."""
        return [paragraph for paragraph in self.paragraphs if paragraph.wanted(facts)]


@cache
def sheet(name: str, language: Language = Language.ENGLISH) -> Sheet:
    """The template of that name; each file is read once."""
    return Sheet(name, language)


def as_text(kind: LetterKind, facts: Facts, language: Language = Language.ENGLISH) -> str:
    """A letter's plain text."""
    opening, own, closing = (
        [part.as_text(facts) for part in sheet(name, language).wanted(facts)]
        for name in ("opening", kind, "closing")
    )
    title, *body = own
    paragraphs = [title, *opening, *body, "-- \n" + "\n\n".join(closing)]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def as_html(kind: LetterKind, facts: Facts, language: Language = Language.ENGLISH) -> str:
    """A letter's HTML."""
    opening, own, closing = (sheet(name, language).wanted(facts) for name in ("opening", kind, "closing"))
    title, *body = own
    return _document().substitute(
        language=language,
        title=_escaped(title.as_text(facts)),
        opening=_blocks(opening, facts),
        body=_blocks(body, facts),
        pictures=PICTURES_HERE,
        closing=_blocks(closing, facts),
    )


@cache
def _document() -> Template:
    return Template((_TEMPLATES / "letter.html").read_text("utf-8"))


def _blocks(paragraphs: Iterable[Paragraph], facts: Facts) -> str:
    return "\n\n".join(paragraph.as_html(facts) for paragraph in paragraphs)


def _as_text(fact: Fact) -> str:
    return fact if isinstance(fact, str) else "\n".join(f"- {item}" for item in fact)


def _escaped(fact: str) -> str:
    return html.escape(fact).replace("\n", "<br>\n")


def _list(items: Iterable[str]) -> str:
    listed = "\n".join(f'<li dir="auto">{item}</li>' for item in items)
    return f'<ul style="{_LIST_STYLE}">\n{listed}\n</ul>'
