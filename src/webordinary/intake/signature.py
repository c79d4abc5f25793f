"""What stands below a person's words: signature, advertisement of the phone, small print."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from webordinary.core.mail import StretchKind
from webordinary.intake.phrases import ABOUT_A_MAIL, COLONS, CONTACT, DEVICE, RULE, SENT_FROM, SMALL_PRINT

SIGNATURE_MARK = "-- "
BARE_MARKS = frozenset({"--", "---", "—"})
SIGNATURE_LINES = 12  # of one whose mark lost its space; the space is what makes the mark safe
LINE_CHARACTERS = 160
SMALL_PRINT_LINES = 8  # that are looked at to tell whether it is about a mail
CLOSING_LINES = 4  # an advertisement stands among the last ones
ADVERTISEMENT_WORDS = 9


def signature_kinds(lines: Sequence[str], sender_names: Collection[str] = ()) -> list[StretchKind]:
    """Mark a run of a person's own lines: which of them their program or their company may have added."""
    signature = _signature_start(lines, sender_names)
    small_print = _small_print_start(lines)
    kinds = [StretchKind.OWN] * len(lines)
    kinds[signature:] = [StretchKind.SIGNATURE] * (len(lines) - signature)
    end = len(lines) if small_print > signature else signature
    kinds[small_print:end] = [StretchKind.LEGAL] * max(0, end - small_print)
    _mark_closing(lines, kinds)
    return kinds


def _signature_start(lines: Sequence[str], sender_names: Collection[str]) -> int:
    """Where the signature begins. More than one mark parts the pieces of a text."""
    marks = [at for at, line in enumerate(lines) if line == SIGNATURE_MARK or line.strip() in BARE_MARKS]
    if len(marks) != 1:
        return len(lines)
    mark = marks[0]
    if lines[mark] == SIGNATURE_MARK:
        return mark
    above, below = ([line for line in part if line.strip()] for part in (lines[:mark], lines[mark + 1 :]))
    is_short = len(below) <= SIGNATURE_LINES and all(len(line) <= LINE_CHARACTERS for line in below)
    return mark if above and is_short and _is_about_sender(below, sender_names) else len(lines)


def _is_about_sender(lines: Sequence[str], sender_names: Collection[str]) -> bool:
    """Two dashes alone may part two courses of a menu; a signature says who writes and how to reach them."""
    text = "\n".join(lines).lower()
    return CONTACT.search(text) is not None or any(name in text for name in sender_names)


def _small_print_start(lines: Sequence[str]) -> int:
    """Small print starts a paragraph, after other text, is about mail, and goes on to the end.

    What a line with a colon introduces is what the mail is about.
    """
    above = ""
    for at, line in enumerate(lines):
        starts_paragraph = at > 0 and not lines[at - 1].strip(" _*-=")
        if above and starts_paragraph and not above.endswith(COLONS):
            text = " ".join(lines[at : at + SMALL_PRINT_LINES]).lstrip(" *_[")[:800]
            if SMALL_PRINT.match(text) and ABOUT_A_MAIL.search(text):
                return at
        above = line.strip(" _*-=") or above
    return len(lines)


def _mark_closing(lines: Sequence[str], kinds: list[StretchKind]) -> None:
    """Mark "Sent from my iPhone" among the last own lines, and rules that stand under everything."""
    own = [at for at, line in enumerate(lines) if line.strip() and kinds[at] is StretchKind.OWN]
    for at in own[-CLOSING_LINES:]:
        if _is_advertisement(lines[at]):
            kinds[at] = StretchKind.SIGNATURE
    for at in reversed(own):
        if kinds[at] is StretchKind.OWN and not RULE.fullmatch(lines[at]):
            return
        kinds[at] = StretchKind.SIGNATURE


def _is_advertisement(line: str) -> bool:
    text = line.strip(" *_<>.-")
    if len(text) > LINE_CHARACTERS or len(text.split()) > ADVERTISEMENT_WORDS:
        return False
    return SENT_FROM.search(text) is not None and DEVICE.search(text) is not None
