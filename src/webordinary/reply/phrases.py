"""Sentences that are put together from facts: `templates/{language}/phrases.txt`.

Letters, the command line and the dashboard tell changes and failures by these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from webordinary.core.language import Language
from webordinary.core.page_changes import PageChange, PageChangeKind

_TEMPLATES = files("webordinary.reply") / "templates"
_OF_PICTURES = frozenset(
    {PageChangeKind.PICTURE, PageChangeKind.PICTURE_ADDED, PageChangeKind.PICTURE_REMOVED}
)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of one language."""

    language: Language
    templates: dict[str, Template]

    def say(self, key: str, **words: str) -> str:
        """Fill a phrase in."""
        return self.templates[key].substitute(words)

    def knows(self, key: str) -> bool:
        """Say whether there is such a phrase."""
        return key in self.templates

    def change(self, change: PageChange) -> str:
        """Tell a change in a visitor's words."""
        new = change.new
        if change.kind in _OF_PICTURES:
            new = self.say("your_file" if change.mailed else "the_file", name=change.new)
        return self.say(
            f"change_{change.kind}",
            on=self._on(change),
            page=self.say("page", title=change.page) if change.page else self.say("home"),
            title=change.page,
            old=self.say("the_file", name=change.old) if change.kind in _OF_PICTURES else change.old,
            new=new,
            target=change.target,
            from_page=self.say("from_page", title=change.target) if change.target else self.say("from_home"),
            count=str(change.count),
        )

    def on_page(self, title: str) -> str:
        """Say where: "on your home page" if it has no title."""
        return self.say("on_page", title=title) if title else self.say("on_home")

    def _on(self, change: PageChange) -> str:
        if change.pages == 1:
            return self.on_page(change.page)
        return self.say("on_all" if change.everywhere else "on_some", count=str(change.pages))

    def bounded(self, lines: Sequence[str], most: int) -> tuple[str, ...]:
        """Keep so many items, and say how many more there were."""
        more = len(lines) - most
        return tuple(lines) if more <= 0 else (*lines[:most], self.say("more", count=str(more)))


def changes_in_words(changes: Iterable[PageChange]) -> list[str]:
    """Say what changed, for people who look after the service."""
    return [phrases().change(change) for change in changes]


@cache
def phrases(language: Language = Language.ENGLISH) -> Phrases:
    """The phrases of a language; each file is read once."""
    text = (_TEMPLATES / language / "phrases.txt").read_text("utf-8")
    pairs = (line.split(" = ", 1) for line in text.splitlines() if line)
    return Phrases(language, {key: Template(words) for key, words in pairs})
