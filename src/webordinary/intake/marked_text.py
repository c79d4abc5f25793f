"""Every line of a mail gets a mark: the sender's own words, quoted, forwarded, signature-like or legal-like.

Nothing is left out here, so a wrong mark costs little: whoever reads the mail reads all of it. Line by line,
forwards, with short patterns only: it takes time in proportion to the text and no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import groupby

from webordinary.core.mail import Stretch, StretchKind
from webordinary.intake.phrases import (
    ADDRESS_AT_THE_END,
    ADDRESS_IN_BRACKETS,
    CLOCK_TIME,
    COLONS,
    DATE,
    FORWARD_BEGINS,
    FORWARD_SUBJECT,
    GAP_BEHIND_COLON,
    LABEL,
    LABELS,
    MARK_IN_RULES,
    QUOTE_MARKS,
    QUOTE_MARKS_AND_SPACE,
    REPLY_SUBJECT,
    RULE,
    SENTENCE_ENDS,
    WROTE,
)
from webordinary.intake.signature import signature_kinds

ATTRIBUTION_LINES = 4
ATTRIBUTION_CHARACTERS = 400
MARKER_CHARACTERS = 120
GAP_LINES = 4  # between who wrote something and what they wrote
HEADING_LINES = 9  # From, Sent, To, Cc and Subject, some wrapped
HEADING_LABELS = 3  # of a heading whose language is not known
NAME_WORDS = 3  # "Scott Miller wrote:"


class Manner(Enum):
    """What a mail is, by its subject and its place in a thread."""

    NEW = "new"
    REPLY = "reply"
    FORWARD = "forward"


def manner(subject: str, *, is_in_thread: bool) -> Manner:
    """Tell an answer from a forward; the subject's first mark decides, then the thread."""
    if FORWARD_SUBJECT.match(subject):
        return Manner.FORWARD
    return Manner.REPLY if is_in_thread or REPLY_SUBJECT.match(subject) else Manner.NEW


def marked(pieces: Iterable[Stretch], how: Manner, sender_names: Collection[str] = ()) -> tuple[Stretch, ...]:
    """Mark every line. A piece that is marked as anything but own stays so; own ones are looked at."""
    marking = _Marking()
    for piece in pieces:
        for line in piece.text.split("\n"):
            parts = _apart(line) if piece.kind is StretchKind.OWN else (line,)
            marking.lines += parts
            marking.given += [piece.kind] * len(parts)
    marking.mark(how)
    return _stretches(_with_signatures(marking.done, sender_names))


def _apart(line: str) -> tuple[str, ...]:
    """Yahoo on phones writes the earlier mail right behind "On Sunday somebody wrote:"."""
    gap = GAP_BEHIND_COLON.search(line, 0, ATTRIBUTION_CHARACTERS)
    if gap and WROTE.search(line, 0, gap.start()) and is_attribution(line[: gap.end()], has_quote=False):
        return line[: gap.end()].rstrip(), line[gap.end() :]
    return (line,)


def tidy(text: str) -> str:
    """Without white space at line ends, empty lines around, and more than one empty line at a time."""
    lines: list[str] = []
    for line in (line.rstrip() for line in text.split("\n")):
        if line.strip(QUOTE_MARKS_AND_SPACE) or (lines and (line or lines[-1])):
            lines.append(line)
    while lines and not lines[-1].strip(QUOTE_MARKS_AND_SPACE):
        lines.pop()
    return "\n".join(lines).strip()


def says_something(text: str) -> bool:
    """Tell whether a quoted text has more than attributions and headings in it."""
    lines = [line.lstrip(QUOTE_MARKS_AND_SPACE) for line in text.split("\n")]
    at = 0
    while at < len(lines):
        length = attribution(lines, at)[1]
        is_said = any(map(str.isalnum, lines[at])) and not MARK_IN_RULES.fullmatch(lines[at])
        if not length and is_said and not _labelled(lines[at]):
            return True
        at += max(1, length)
    return False


_Marked = tuple[StretchKind, str]  # a line with its mark


def _with_signatures(lines: Sequence[_Marked], sender_names: Collection[str]) -> list[_Marked]:
    """Look for signatures in every run of own lines: one may stand above a quote."""
    found: list[_Marked] = []
    for kind, run in groupby(lines, key=lambda line: line[0]):
        texts = [text for _, text in run]
        is_own = kind is StretchKind.OWN
        kinds = signature_kinds(texts, sender_names) if is_own else [kind] * len(texts)
        found += zip(kinds, texts, strict=True)
    return found


def _stretches(lines: Iterable[_Marked]) -> tuple[Stretch, ...]:
    runs = groupby(lines, key=lambda line: line[0])
    tidied = ((kind, tidy("\n".join(text for _, text in run))) for kind, run in runs)
    return tuple(Stretch(kind, text) for kind, text in tidied if text)


# What HTML calls the introduction of a quote may be that of a forwarded mail.
_DOUBTFUL = frozenset({StretchKind.OWN, StretchKind.ATTRIBUTION})


@dataclass(slots=True)
class _Marking:
    """A text being read: each line gets the mark of what it looks like."""

    lines: list[str] = field(default_factory=list)
    given: list[StretchKind] = field(default_factory=list)  # what was known before: from HTML, or by MIME
    done: list[_Marked] = field(default_factory=list)

    def mark(self, how: Manner) -> None:
        at = 0
        while at < len(self.lines):
            at += self._take(at, how)

    def _take(self, at: int, how: Manner) -> int:
        """Mark the next line, or the lines that belong to it; say how many."""
        line, given = self.lines[at], self.given[at]
        if given not in _DOUBTFUL:
            return self._put(at, 1, given)
        if not line.strip():
            return self._put(at, 1, self.done[-1][0] if self.done else given)
        if self._begins_earlier_mail(at, how):
            is_quote = how is Manner.REPLY and not is_forward_mark(line)
            kind = StretchKind.QUOTED if is_quote else StretchKind.FORWARDED
            return self._put(at, len(self.lines) - at, kind)
        if is_quoted(line):
            return self._put(at, 1, StretchKind.QUOTED)
        begin, length = attribution(self.lines, at)
        if given is StretchKind.ATTRIBUTION:
            ends = range(at + 1, len(self.lines))
            begin, length = 0, next((end for end in ends if self.given[end] is not given), at + 1) - at
        if not length or (how is Manner.NEW and given is StretchKind.OWN and not self._quotes(at, length)):
            return self._put(at, 1, StretchKind.OWN)
        return self._take_attribution(at, begin, length)

    def _begins_earlier_mail(self, at: int, how: Manner) -> bool:
        if how is Manner.REPLY or not is_quoted(self.lines[at]):
            return is_forward_mark(self.lines[at]) or is_heading(self.lines, at)
        # Some mark even the heading of a forwarded mail like a quote.
        bare = [
            line.lstrip(QUOTE_MARKS_AND_SPACE) for line in self.lines[at : at + HEADING_LINES + GAP_LINES]
        ]
        return is_forward_mark(bare[0]) or is_heading(bare, 0)

    def _quotes(self, at: int, length: int) -> bool:
        """Nothing is quoted in a new mail but by marks or below an address."""
        has_address = any("@" in line for line in self.lines[at : at + length])
        return has_address or is_quoted(_following(self.lines, at + length))

    def _take_attribution(self, at: int, begin: int, length: int) -> int:
        """Words before it on its line are the sender's; an earlier mail without quote marks follows it."""
        if begin:
            self.done.append((StretchKind.OWN, self.lines[at][:begin]))
            self.lines[at] = self.lines[at][begin:]
        taken = self._put(at, length, StretchKind.ATTRIBUTION)
        if not is_quoted(_following(self.lines, at + length)):
            taken += self._put(at + taken, len(self.lines) - at - taken, StretchKind.QUOTED)
        return taken

    def _put(self, at: int, count: int, kind: StretchKind) -> int:
        for line, given in zip(self.lines[at : at + count], self.given[at : at + count], strict=True):
            self.done.append((kind if given in _DOUBTFUL else given, line))
        return count


def is_quoted(line: str) -> bool:
    """Find the marks of a quoted line."""
    return line.lstrip().startswith(QUOTE_MARKS)


def _following(lines: Sequence[str], at: int) -> str:
    return next((line for line in lines[at : at + GAP_LINES] if line.strip()), "")


# --- "On Sunday somebody wrote:" --------------------------------------------------------------------------


def attribution(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Where in this line, and for how many lines, it says who wrote what follows, and when; or (0, 0).

    "------- Original Message -------" right above it belongs to it.
    """
    begin, length = _plain_attribution(lines, at)
    if length or at + 1 >= len(lines) or len(lines[at]) > MARKER_CHARACTERS:
        return begin, length
    begin, length = _plain_attribution(lines, at + 1) if MARK_IN_RULES.fullmatch(lines[at]) else (0, 0)
    return (0, length + 1) if length and not begin else (0, 0)


def _plain_attribution(lines: Sequence[str], at: int) -> tuple[int, int]:
    first = lines[at]
    before = max(0, len(first) - ATTRIBUTION_CHARACTERS)  # a whole paragraph may be on one line
    text = first[before:].strip()
    for length in range(1, ATTRIBUTION_LINES + 1):
        is_bare = text.endswith(">") and DATE.match(text) and is_quoted(_following(lines, at + length))
        if _may_end(text) or is_bare:
            return _attribution_of(lines, at, length, before)
        if at + length >= len(lines) or len(text) > ATTRIBUTION_CHARACTERS:
            break
        line = lines[at + length]
        if not line.strip() or is_quoted(line):
            break
        text = f"{text} {line.strip()}"
    return 0, 0


def _attribution_of(lines: Sequence[str], at: int, length: int, before: int) -> tuple[int, int]:
    has_quote = is_quoted(_following(lines, at + length))
    rest = [line.strip() for line in lines[at + 1 : at + length]]
    later = (" ".join(rest[skipped:]) for skipped in range(len(rest)))
    if any(_is_whole(text) and is_attribution(text, has_quote=has_quote) for text in later):
        return 0, 0  # it begins in a later line
    first = lines[at]
    ends = (end.end() for end in SENTENCE_ENDS.finditer(first, before))
    begins = [end for end in ends if first[:end].strip("- ")]
    for begin in reversed(begins if before else [0, *begins]):
        text = " ".join([first[begin:].strip(), *rest])
        if is_attribution(text, has_quote=has_quote) and (not begin or _is_whole(text)):
            return begin, length
    return 0, 0


def _is_name(text: str) -> bool:
    """Tell "Scott Miller" from the beginning of a sentence."""
    words = text.split()
    return len(words) == 1 or (1 < len(words) <= NAME_WORDS and not any(one[0].islower() for one in words))


def _is_whole(text: str) -> bool:
    """Tell a whole attribution from the second line of a wrapped one."""
    has_moment = DATE.search(text) is not None or CLOCK_TIME.search(text) is not None
    return has_moment and ("@" in text or WROTE.search(text) is not None)


def _may_end(text: str) -> bool:
    return text.endswith(COLONS) or (text.startswith("--") and text.endswith("--"))


def is_attribution(text: str, *, has_quote: bool) -> bool:
    """Say who and when, in any language: an address and a date, or the verb with them.

    Right before quoted lines less is enough.
    """
    text = text.strip("- ")
    if len(text) > ATTRIBUTION_CHARACTERS:
        return False
    has_date, has_time = DATE.search(text) is not None, CLOCK_TIME.search(text) is not None
    verb = WROTE.search(text)
    if has_quote and has_date and (has_time or verb or "@" in text):
        return True
    if has_quote and verb and not text[verb.end() :].strip(" :\uff1a") and _is_name(text[: verb.start()]):
        return True
    if has_quote and ADDRESS_AT_THE_END.search(text) and _is_name(text.partition("<")[0]):
        return True
    if verb:
        return (has_date and has_time) or ("@" in text and (has_date or has_time))
    return (has_date or has_time) and (
        ADDRESS_AT_THE_END.search(text) is not None
        or (has_date and has_time and ADDRESS_IN_BRACKETS.search(text) is not None)
    )


# --- an earlier mail without quote marks ------------------------------------------------------------------


def is_forward_mark(line: str) -> bool:
    """Find "---------- Forwarded message ----------" and "Begin forwarded message:"."""
    if len(line) > MARKER_CHARACTERS:
        return False
    found = MARK_IN_RULES.fullmatch(line)
    return line.strip(" *_:\uff1a").lower() in FORWARD_BEGINS or (
        found is not None and found[1].lower().startswith("forwarded ")
    )


def is_heading(lines: Sequence[str], at: int) -> bool:
    """Find the block of From, Sent, To and Subject that Outlook and others put before the earlier mail.

    A rule above it, or "-----Original Message-----" in whatever language, belongs to it.
    """
    mark = MARK_IN_RULES.fullmatch(lines[at]) if len(lines[at]) <= MARKER_CHARACTERS else None
    if mark or RULE.fullmatch(lines[at]):
        at = next((i for i in range(at + 1, min(at + 3, len(lines))) if lines[i].strip()), at)
    if not _labelled(lines[at]):
        return False
    block = [line for line in lines[at : at + HEADING_LINES] if _labelled(line)]
    labels = {_label(line) for line in block}
    is_dated = any(DATE.search(line) and CLOCK_TIME.search(line) for line in block)
    is_of_a_mail = is_dated or any("@" in line for line in block)
    if _label(lines[at]) and is_of_a_mail and {"from", "subject"} <= labels and labels & {"date", "to"}:
        return True
    has_address = "@" in lines[at] or (mark is not None and any("@" in line for line in block))
    is_sure = mark is not None or {"from", "date"} <= labels
    return is_dated and has_address and len(block) >= HEADING_LABELS - is_sure


def _labelled(line: str) -> bool:
    return LABEL.match(line[:60]) is not None


@lru_cache(maxsize=1024)
def _label(line: str) -> str:
    found = LABEL.match(line[:60])
    word = found[1].strip().lower() if found else ""
    return next((name for name, words in LABELS.items() if word in words), "")
