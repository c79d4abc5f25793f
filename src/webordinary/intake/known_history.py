"""What a mail quotes of its own conversation: text that we hold already, found by comparing with it.

This alone is left out of a mail, and only where the mail quotes. Words are compared, not lines: programs wrap
quoted text anew, mark it, turn HTML into text and rewrite links.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from webordinary.core.mail import Stretch, StretchKind, own_words
from webordinary.intake.limits import INSTRUCTION_CHARACTERS, KNOWN_CHARACTERS
from webordinary.intake.marked_text import attribution, is_quoted, says_something, tidy
from webordinary.intake.phrases import QUOTE_MARKS_AND_SPACE

RUN_WORDS = 5  # in a row, as they stand in what is known: fewer may be anybody's
ANSWERED_LINES = 8  # of a quote right above own words: whoever reads the answer needs the question
TORN_WORDS = 8  # that a program may wrap off the last line of a quote

_LINK = re.compile(r"https?://[^\s<>]+|[^\s<>@]+@[^\s<>]+")
# East Asian characters are words each: their lines are wrapped anywhere. So are signs such as a thumb up.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W_]+"
    r"|[^\w\s!-~\u0080-\u00bf\u2000-\u206f\u3000-\u303f\ufe00-\uff0f]"
)

Words = tuple[str, ...]


def new_stretches(
    stretches: Sequence[Stretch], known: Iterable[str], *, has_files: bool = False
) -> tuple[Stretch, ...]:
    """Leave out what a mail quotes of the known texts; where that leaves no own words, find some.

    What is quoted and not known may be how somebody's program shows their own words.
    """
    memory = _Memory.of(known)
    whole = memory.with_whole_quotes(stretches)
    kept: list[Stretch] = []
    for at, stretch in enumerate(whole):
        if stretch.kind is not StretchKind.QUOTED or _is_answered(whole, at):
            kept.append(stretch)
        elif text := memory.unknown_lines(stretch.text):
            kind = StretchKind.QUOTED if says_something(text) else StretchKind.ATTRIBUTION
            kept.append(Stretch(kind, text))
    is_doubtful = not has_files or kept != list(whole)
    return _with_own_words(tuple(kept), (StretchKind.QUOTED,) if is_doubtful else ())


def may_hide_own_words(stretches: Sequence[Stretch]) -> bool:
    """Tell whether other words may be own than those marked so: what is known decides."""
    kinds = [stretch.kind for stretch in stretches]
    may_be_torn = (StretchKind.QUOTED, StretchKind.OWN) in pairwise(kinds)
    return may_be_torn or (bool(kinds) and StretchKind.OWN not in kinds)


def _is_answered(stretches: Sequence[Stretch], at: int) -> bool:
    is_above_own = at + 1 < len(stretches) and stretches[at + 1].kind is StretchKind.OWN
    return is_above_own and stretches[at].text.count("\n") < ANSWERED_LINES


def _with_own_words(stretches: tuple[Stretch, ...], doubtful: tuple[StretchKind, ...]) -> tuple[Stretch, ...]:
    if own_words(stretches):
        return stretches
    for kind in (*doubtful, StretchKind.LEGAL):
        meant = {one for one in stretches if one.kind is kind and says_something(one.text)}
        if meant and sum(len(one.text) for one in meant) <= INSTRUCTION_CHARACTERS:
            return tuple(_as_own(one) if one in meant else one for one in stretches)
    return stretches


def _as_own(stretch: Stretch) -> Stretch:
    lines = (line.removeprefix(">").removeprefix(" ") for line in stretch.text.split("\n"))
    return Stretch(StretchKind.OWN, tidy("\n".join(lines)))


@dataclass(frozen=True, slots=True)
class _Memory:
    """Known texts: as runs of words, as lines and as links."""

    runs: set[Words] = field(default_factory=set)
    lines: set[Words] = field(default_factory=set)
    links: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Memory:
        memory, room = cls(), KNOWN_CHARACTERS
        for text in texts:
            lines = [_words(line) for line in text[: max(0, room)].split("\n")]
            memory.lines.update(lines)
            memory.runs.update(_runs([word for line in lines for word in line]))
            memory.links.update(_LINK.findall(text))
            room -= len(text)
        return memory

    def with_whole_quotes(self, stretches: Sequence[Stretch]) -> list[Stretch]:
        """Find own words that go on with the known text exactly where the quote before them breaks off.

        Programs wrap quoted lines and leave the rest of a line without its mark.
        """
        whole = list(stretches)
        for at in range(1, len(whole)):
            if (whole[at - 1].kind, whole[at].kind) != (StretchKind.QUOTED, StretchKind.OWN) or not self.runs:
                continue
            torn = _words(whole[at].text)
            before = _words(whole[at - 1].text)[1 - RUN_WORDS :]
            after = _words(whole[at + 1].text)[: RUN_WORDS - 1] if at + 1 < len(whole) else ()
            is_short = bool(after) or len(torn) <= TORN_WORDS
            runs = list(_runs([*before, *torn, *after]))
            if torn and is_short and len(before) == RUN_WORDS - 1 and self.runs.issuperset(runs):
                whole[at] = replace(whole[at], kind=StretchKind.QUOTED)
        return _joined(whole)

    def unknown_lines(self, text: str) -> str:
        """A quoted text without the known lines around what is new; between new lines they are context."""
        lines = text.split("\n")
        known = _with_attributions(lines, self._known(lines))
        new = [at for at, is_known in enumerate(known) if not is_known]
        unknown = tidy("\n".join(lines[new[0] : new[-1] + 1])) if new else ""
        return unknown if _words(unknown) or _LINK.search(unknown) else ""

    def _known(self, lines: Sequence[str]) -> list[bool]:
        words = [_words(line) for line in lines]
        covered = iter(self._covered([word for line in words for word in line]))
        known: list[bool] = []
        for line, in_line in zip(lines, words, strict=True):
            are_covered = [next(covered) for _ in in_line]
            links = _LINK.findall(line)
            if in_line:
                known.append(all(are_covered) or (is_quoted(line) and in_line in self.lines))
            elif links:
                known.append(self.links.issuperset(links))
            else:  # an empty line, a rule: it goes with the line before it
                known.append(bool(known) and known[-1])
        return known

    def _covered(self, words: Sequence[str]) -> list[bool]:
        """Which words are part of a run of words that is known."""
        covered = [False] * len(words)
        for at, run in enumerate(_runs(words)):
            if run in self.runs:
                covered[at : at + RUN_WORDS] = [True] * RUN_WORDS
        return covered


def _with_attributions(lines: Sequence[str], known: list[bool]) -> list[bool]:
    """A quoted attribution of what is known is known: no person wrote it."""
    bare = [line.lstrip(QUOTE_MARKS_AND_SPACE) if is_quoted(line) else "" for line in lines]
    for at in range(len(lines)):
        begin, length = (0, 0) if known[at] else attribution(bare, at)
        following = next((i for i in range(at + length, len(lines)) if bare[i]), at)
        if length and not begin and known[following]:
            known[at : at + length] = [True] * length
    return known


def _words(text: str) -> Words:
    return tuple(_WORD.findall(_LINK.sub(" ", unicodedata.normalize("NFKC", text).casefold())))


def _runs(words: Sequence[str]) -> Iterable[Words]:
    return (tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for stretch in stretches:
        if joined and joined[-1].kind is stretch.kind is StretchKind.QUOTED:
            joined[-1] = replace(stretch, text=f"{joined[-1].text}\n{stretch.text}")
        else:
            joined.append(stretch)
    return joined
