"""Templates: plain files with `${fact}` in them, and paragraphs that are left out when a fact is missing.

A template is paragraphs with a blank line between them. The first one is the letter's title. A paragraph
that names a fact we do not have is left out; so is one whose first line asks for it: `?fact` keeps the
paragraph only with that fact, `!fact` only without it. Facts are put in once and are never read again as a
template, and in HTML every one of them is escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from webordinary.core.mail import LetterKind

Fact = str | tuple[str, ...]  # a tuple is a list of items
Facts = Mapping[str, Fact]

_CONDITIONS = re.compile(r"(?:[?!][a-z_]+ ?)+\n")
_TEMPLATES = files("webordinary.reply") / "templates"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of a template, and when it is wanted."""

    template: Template
    needs: frozenset[str]
    forbids: frozenset[str]

    @classmethod
    def read(cls, text: str) -> Paragraph:
        """Read a paragraph from a template's text."""
        first = _CONDITIONS.match(text)
        conditions = first.group().split() if first else []
        template = Template(text[first.end() :] if first else text)
        asked = {condition[1:] for condition in conditions if condition.startswith("?")}
        forbidden = {condition[1:] for condition in conditions if condition.startswith("!")}
        return cls(template, frozenset(asked | set(template.get_identifiers())), frozenset(forbidden))

    def wanted(self, facts: Facts) -> bool:
        """Say whether this letter has what the paragraph is about."""
        return all(facts[name] for name in self.needs) and not any(facts[name] for name in self.forbids)


@dataclass(frozen=True, slots=True)
class Filled:
    """A letter's words in one form."""

    title: str
    body: str


class Sheet:
    """A template file, ready to be filled in."""

    def __init__(self, name: str) -> None:
        """Read `templates/{name}`; its ending says whether it is HTML."""
        text = (_TEMPLATES / name).read_text("utf-8")
        self._show = _as_html if name.endswith(".html") else _as_text
        self.paragraphs = tuple(Paragraph.read(part) for part in re.split(r"\n\n+", text.strip("\n")))

    def fill(self, facts: Facts) -> Filled:
        """Put the facts in."""
        title, *others = self._filled(facts)
        return Filled(title, "\n\n".join(others))

    def frame(self, filled: Filled, facts: Facts) -> str:
        """Put a filled template and the facts into this one, the layout."""
        own = {"title": filled.title, "body": filled.body}
        shown = self._shown(facts)
        wanted = (paragraph for paragraph in self.paragraphs if paragraph.wanted({**facts, **own}))
        return "\n\n".join(paragraph.template.substitute(shown, **own) for paragraph in wanted) + "\n"

    def _filled(self, facts: Facts) -> Iterable[str]:
        shown = self._shown(facts)
        return [
            paragraph.template.substitute(shown) for paragraph in self.paragraphs if paragraph.wanted(facts)
        ]

    def _shown(self, facts: Facts) -> dict[str, str]:
        return {name: self._show(fact) for name, fact in facts.items()}


@cache
def sheet(name: str) -> Sheet:
    """The template of that name; each file is read once."""
    return Sheet(name)


def as_text(kind: LetterKind, facts: Facts) -> str:
    """A letter's plain text."""
    return sheet("layout.txt").frame(sheet(f"{kind}.txt").fill(facts), facts)


def as_html(kind: LetterKind, facts: Facts) -> str:
    """A letter's HTML."""
    return sheet("layout.html").frame(sheet(f"{kind}.html").fill(facts), facts)


def _as_text(fact: Fact) -> str:
    return fact if isinstance(fact, str) else "\n".join(f"- {item}" for item in fact)


def _as_html(fact: Fact) -> str:
    if isinstance(fact, str):
        return html.escape(fact).replace("\n", "<br>\n")
    listed = "\n".join(f'<li dir="auto">{html.escape(item)}</li>' for item in fact)
    return f'<ul style="margin:0;padding-left:1.2em">\n{listed}\n</ul>'
