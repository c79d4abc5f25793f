"""Sentences in four languages: `templates/{language}.toml`, a section a letter or a group of facts.

Letters, the command line and the dashboard say changes and failures by these.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from webordinary.core.language import Language
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
