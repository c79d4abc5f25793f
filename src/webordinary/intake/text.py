"""What a person newly wrote, parted from what their mail program put around it.

Line by line, forwards, with short patterns only: it takes time in proportion to the text and no more. Nothing
is thrown away on suspicion: what is left out of an answer is history that the conversation already knows;
in any other mail it is kept as quoted material.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from webordinary.intake.limits import QUOTED_CHARACTERS
from webordinary.intake.phrases import (
    ATTRIBUTION_ENDS,
    ATTRIBUTION_OF_ANY_LANGUAGE,
    ATTRIBUTIONS,
    CLOCK_TIME,
    FORWARD_BEGINS,
    FORWARD_SUBJECT,
    FORWARDED,
    LABEL,
    LABELS,
    ORIGINAL,
    QUOTE_MARKS,
    REPLY_SUBJECT,
    RULE,
    RULE_AROUND,
)
from webordinary.intake.signature import without_signature

ATTRIBUTION_LINES = 4
ATTRIBUTION_CHARACTERS = 500
MARKER_CHARACTERS = 120
GAP_LINES = 4  # between who wrote something and what they wrote
HEADING_LINES = 9  # From, Sent, To, Cc and Subject, some wrapped
CUT = "> [the rest was cut]"


class Manner(Enum):
    """What a mail is, by its subject and its place in a thread."""

    NEW = "new"
    REPLY = "reply"
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class Words:
    """What was written, and what was quoted: every line of that is marked by `> `."""

    instruction: str
    quoted: str


def manner(subject: str, *, is_in_thread: bool) -> Manner:
    """Tell an answer from a forward; the subject's first mark decides, then the thread."""
    if FORWARD_SUBJECT.match(subject):
        return Manner.FORWARD
    return Manner.REPLY if is_in_thread or REPLY_SUBJECT.match(subject) else Manner.NEW


def new_words(text: str, how: Manner) -> Words:
    """Part what is new in a text from what is quoted."""
    reading = _Reading(text.split("\n"))
    reading.read(how)
    chunks = (tidy("\n".join(without_signature(chunk))) for chunk in reading.own)
    instruction = "\n\n".join(chunk for chunk in chunks if chunk)
    keeps_history = how is not Manner.REPLY or not instruction
    quoted = [*(reading.history if keeps_history else []), *reading.forwarded]
    return Words(instruction, marked("\n".join(quoted)))


def marked(text: str) -> str:
    """Mark every line as quoted: nothing in it can look like the person's own words."""
    text = tidy(text)
    if not text:
        return ""
    lines = [f"> {line}".rstrip() for line in text[:QUOTED_CHARACTERS].split("\n")]
    return "\n".join(lines if len(text) <= QUOTED_CHARACTERS else [*lines, CUT])


def tidy(text: str) -> str:
    """Without white space around, at line ends, and in more than one empty line at a time."""
    lines: list[str] = []
    for line in (line.rstrip() for line in text.split("\n")):
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip()


@dataclass(slots=True)
class _Reading:
    """A text being read: each line ends up as the person's own, as history, or as forwarded."""

    lines: list[str]
    own: list[list[str]] = field(default_factory=lambda: [[]])  # chunks, with quotes between them
    history: list[str] = field(default_factory=list)
    forwarded: list[str] = field(default_factory=list)

    def read(self, how: Manner) -> None:
        at = 0
        while at < len(self.lines):
            taken = self._take(at, how)
            if not taken:
                return
            at += taken

    def _take(self, at: int, how: Manner) -> int:
        """Take the next line, or the lines that belong to it; say how many. 0: all the rest was taken."""
        line = self.lines[at]
        if not line.strip():
            self.own[-1].append(line)
            return 1
        if _is_quoted(line):
            return self._take_quoted(at, how)
        if is_forward_mark(line):
            self.forwarded += self.lines[at:]
            return 0
        if is_original_mark(line) or is_heading(self.lines, at):
            return self._take_earlier_mail(at, how)
        length = attribution(self.lines, at)
        if length and not self._is_quoted_after(at + length):
            self.history += self.lines[at:]
            return 0
        (self.history if length else self.own[-1]).extend(self.lines[at : at + max(1, length)])
        return max(1, length)

    def _take_quoted(self, at: int, how: Manner) -> int:
        """A line that somebody else wrote. What introduces it, right before, is not this person's either."""
        if how is not Manner.REPLY and is_forward_mark(self.lines[at]):  # some mark even that like a quote
            self.forwarded += self.lines[at:]
            return 0
        if self.own[-1]:
            self.history += _taken_introduction(self.own[-1])
            self.own.append([])
        self.history.append(self.lines[at])
        return 1

    def _take_earlier_mail(self, at: int, how: Manner) -> int:
        """Everything from here on is the earlier mail; in an answer that is history."""
        own = self.own[-1]
        kept = len(own)
        while kept and (not own[kept - 1].strip() or _has_rule(own[kept - 1])):
            kept -= 1  # a mark right before it, in a language that we do not know
        (self.history if how is Manner.REPLY else self.forwarded).extend([*own[kept:], *self.lines[at:]])
        del own[kept:]
        return 0

    def _is_quoted_after(self, at: int) -> bool:
        following = next((line for line in self.lines[at : at + GAP_LINES] if line.strip()), "")
        return _is_quoted(following)


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(QUOTE_MARKS)


def _taken_introduction(chunk: list[str]) -> list[str]:
    """Take the line that introduces a quote off the end of a chunk: a name or a date, then a colon."""
    end = len(chunk)
    while end and not chunk[end - 1].strip():
        end -= 1
    for length in range(1, min(ATTRIBUTION_LINES, end) + 1):
        begin = end - length
        if not chunk[begin].strip():
            break
        text = " ".join(line.strip() for line in chunk[begin:end])
        if _introduces(text):
            taken = chunk[begin:]
            del chunk[begin:]
            return taken
    return []


def _introduces(text: str) -> bool:
    lowered = text.lower()
    if not lowered.endswith(ATTRIBUTION_ENDS) or len(lowered) > ATTRIBUTION_CHARACTERS:
        return False
    has_verb = any(verb in lowered for _, verbs in ATTRIBUTIONS for verb in verbs)
    return has_verb or ("@" in lowered and CLOCK_TIME.search(lowered) is not None)


# --- what mail programs write -----------------------------------------------------------------------------


def attribution(lines: Sequence[str], at: int) -> int:
    """How many lines from here say who wrote what follows, and when; 0 if they do not."""
    text = ""
    for length, line in enumerate(lines[at : at + ATTRIBUTION_LINES], start=1):
        if not line.strip() or _is_quoted(line):
            return 0
        text = f"{text} {line.strip()}".strip()
        if len(text) > ATTRIBUTION_CHARACTERS:
            return 0
        if text.endswith(ATTRIBUTION_ENDS):
            later = (attribution(lines, at + skipped) for skipped in range(1, length))
            is_one = is_attribution(text) and (_begins_with_date(lines[at]) or not any(later))
            return length if is_one else 0
    return 0


def _begins_with_date(line: str) -> bool:
    """Tell a first line from a line of a person's own that stands right above one."""
    lowered = line.strip().lower()
    is_dated = any(map(str.isdigit, lowered))
    return is_dated and any(
        lowered.startswith(start) for starts, _ in ATTRIBUTIONS for start in starts if start
    )


def is_attribution(text: str) -> bool:
    """Say who and when: an address or a time of day, beside the verb of one language."""
    lowered = text.lower().strip("- ")
    if ATTRIBUTION_OF_ANY_LANGUAGE.fullmatch(lowered):
        return True
    if "@" not in lowered and CLOCK_TIME.search(lowered) is None:
        return False
    return any(
        lowered.startswith(starts) and any(verb in lowered for verb in verbs)
        for starts, verbs in ATTRIBUTIONS
    )


def is_forward_mark(line: str) -> bool:
    """Find "---------- Forwarded message ----------" and "Begin forwarded message:"."""
    marker = _marker(line)
    return marker in FORWARD_BEGINS or (_has_rule(line) and marker.startswith(FORWARDED))


def is_original_mark(line: str) -> bool:
    """Find "-----Original Message-----"; the dashes are needed, the words alone may be anybody's."""
    return _has_rule(line) and _marker(line) in ORIGINAL


def _has_rule(line: str) -> bool:
    return line.lstrip(" >*").startswith(("--", "__", "=="))


def _marker(line: str) -> str:
    if len(line) > MARKER_CHARACTERS:
        return ""
    found = RULE_AROUND.fullmatch(line)
    return found[1].lower() if found else ""


def is_heading(lines: Sequence[str], at: int) -> bool:
    """Find the block of From, Sent, To and Subject that Outlook and others put before the earlier mail."""
    if RULE.fullmatch(lines[at]):
        at = next((i for i in range(at + 1, min(at + 3, len(lines))) if lines[i].strip()), at)
    if _label(lines[at]) != "from":
        return False
    block = [line for line in lines[at : at + HEADING_LINES] if _label(line)]
    labels = {_label(line) for line in block}
    is_of_a_mail = any("@" in line or any(map(str.isdigit, line)) for line in block)
    return is_of_a_mail and "subject" in labels and bool(labels & {"date", "to"})


@lru_cache(maxsize=1024)
def _label(line: str) -> str:
    found = LABEL.match(line[:60])
    word = found[1].strip().lower() if found else ""
    return next((name for name, words in LABELS.items() if word in words), "")
