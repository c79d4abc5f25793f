"""Letters out of Jinja2 templates. `templates/{kind}.jinja` says what is in one, for text and HTML alike.

A template names sentences, `say("working")`, which stand in `templates/{language}.toml`, and facts (see
`context`). A sentence names facts in braces, and words to reply with between stars. A fact is never read as a
template or a sentence, and in HTML every one is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from html import escape
from string import Formatter

from jinja2 import PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from webordinary.core.language import Language
from webordinary.core.mail import LetterKind
from webordinary.reply.phrases import Phrases, phrases

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
