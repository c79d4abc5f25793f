"""Letters from templates (Jinja2), and the sentences of four languages that they are made of.

`templates/{language}.toml` has a section a letter or a group of facts. The command line and the dashboard say
changes and failures by the same sentences.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from html import escape
from importlib.resources import files
from string import Formatter

from jinja2 import PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from webordinary.core.language import Language
from webordinary.core.mail import LetterKind
from webordinary.core.page_changes import PageChange, PageChangeKind

SHARED = "letter"  # the section of what several letters say

_OF_PICTURES = frozenset(
    {PageChangeKind.PICTURE, PageChangeKind.PICTURE_ADDED, PageChangeKind.PICTURE_REMOVED}
)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences of one language, by their section and name."""

    language: Language
    sections: Mapping[str, Mapping[str, str | list[str]]]

    def say(self, section: str, name: str, /, **words: object) -> str:
        """Fill a sentence in."""
        sentence = self.sections[section][name]
        assert isinstance(sentence, str), f"{section}.{name} is a list"
        return sentence.format(**words)

    def word(self, name: str, /, **words: object) -> str:
        """Say a word or a part of a sentence."""
        return self.say("words", name, **words)

    def of_letter(self, kind: str, name: str) -> str | list[str]:
        """A sentence of a letter, or of all of them, as it is in the file."""
        own = self.sections[kind]
        return own[name] if name in own else self.sections[SHARED][name]

    def change(self, change: PageChange) -> str:
        """Say what changed in a visitor's words."""
        new, old = change.new, change.old
        if change.kind in _OF_PICTURES:
            new = self.word("your_file" if change.mailed else "the_file", name=new)
            old = self.word("the_file", name=old)
        return self.say(
            "change",
            change.kind,
            on=self._on(change),
            page=self.word("page", title=change.page) if change.page else self.word("home"),
            title=change.page,
            old=old,
            new=new,
            target=change.target,
            from_page=self.word("from_page", title=change.target)
            if change.target
            else self.word("from_home"),
            count=change.count,
        )

    def on_page(self, title: str) -> str:
        """Say where: "on your home page" if it has no title."""
        return self.word("on_page", title=title) if title else self.word("on_home")

    def _on(self, change: PageChange) -> str:
        if change.pages == 1:
            return self.on_page(change.page)
        return self.word("on_all" if change.everywhere else "on_some", count=change.pages)

    def bounded(self, lines: Sequence[str], most: int) -> tuple[str, ...]:
        """Keep so many items, and say how many more there were."""
        more = len(lines) - most
        return tuple(lines) if more <= 0 else (*lines[:most], self.word("more", count=more))


def changes_in_words(changes: Iterable[PageChange]) -> list[str]:
    """Say what changed, for people who look after the service."""
    return [phrases().change(change) for change in changes]


@cache
def phrases(language: Language = Language.ENGLISH) -> Phrases:
    """The phrases of a language; each file is read once."""
    text = (files("webordinary.reply") / "templates" / f"{language}.toml").read_text("utf-8")
    return Phrases(language, tomllib.loads(text))


PARTS = ("p", "items", "lines", "quotation", "button")  # macros of `text_parts.jinja` and `html_parts.jinja`

_TO_TYPE = re.compile(r"\*(.+?)\*")
_GAP = re.compile(r"\n{3,}")

QUOTATION_MARKS = {
    Language.ENGLISH: "“%s”",
    Language.GERMAN: "„%s“",
    Language.FRENCH: "«\u00a0%s\u00a0»",
    Language.SPANISH: "«%s»",
}


class LetterForm(StrEnum):
    """The two forms of every letter."""

    TEXT = "text"
    HTML = "html"


def rendered(
    form: LetterForm, kind: LetterKind, context: Mapping[str, object], language: Language = Language.ENGLISH
) -> str:
    """Write a letter in one of its forms; a fact that is missing is a bug, and raises."""
    template = _environment(form).get_template(f"{kind}.jinja")
    given = {"pictures": (), **context, "kind": kind, "language": language, "phrases": phrases(language)}
    return _GAP.sub("\n\n", template.render(given)).strip() + "\n"


@cache
def _environment(form: LetterForm) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=PackageLoader("webordinary.reply"),
        undefined=StrictUndefined,
        autoescape=form is LetterForm.HTML,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    macros = environment.get_template(f"{form}_parts.jinja").module
    environment.globals |= {name: getattr(macros, name) for name in PARTS}
    environment.globals |= {"layout": f"{form}.jinja", "say": _say, "say_all": _say_all}
    return environment


@pass_context
def _say(context: Context, name: str) -> str:
    """A sentence of this letter, with the facts that it names."""
    sentence = _sentences(context).of_letter(context["kind"], name)
    assert isinstance(sentence, str)
    return _filled(context, sentence)


@pass_context
def _say_all(context: Context, name: str) -> list[str]:
    """All sentences of a list."""
    return [_filled(context, one) for one in _sentences(context).of_letter(context["kind"], name)]


def _sentences(context: Context) -> Phrases:
    say = context["phrases"]
    assert isinstance(say, Phrases)
    return say


def _filled(context: Context, sentence: str) -> str:
    if context.eval_ctx.autoescape:
        sentence = Markup(_TO_TYPE.sub(r"<b>\1</b>", escape(sentence, quote=False)))  # noqa: S704 - it is escaped
    else:
        marks = QUOTATION_MARKS[_sentences(context).language]
        sentence = _TO_TYPE.sub(lambda found: marks % found[1], sentence)
    named = {name for _, name, _, _ in Formatter().parse(sentence) if name}
    return sentence.format(**{name: context[name] for name in named})
