"""What stands below a person's words: signature, advertisement of the phone, small print."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from webordinary.core.mail import StretchKind
from webordinary.intake.phrases import ABOUT_A_MAIL, COLONS, CONTACT, DEVICE, RULE, SENT_FROM, SMALL_PRINT

SIGNATURE_MARK = "-- "
BARE_MARKS = frozenset({"--", "---", "—"})
SIGNATURE_LINES = 12  # of one whose mark lost its space; the space is what makes the mark safe
LINE_CHARACTERS = 160
SMALL_PRINT_LINES = 8  # that are looked at to tell whether it is about a mail
CLOSING_LINES = 4  # an advertisement stands among the last ones
ADVERTISEMENT_WORDS = 11
CARD_WORDS = 7  # of a line, numbers aside: more may be a sentence
NAME_WORDS = 4


def signature_kinds(lines: Sequence[str], sender_names: Collection[str] = ()) -> list[StretchKind]:
    """Mark a run of a person's own lines: which of them their program or their company may have added."""
    signature = _signature_start(lines, sender_names)
    small_print = _small_print_start(lines)
    kinds = [StretchKind.OWN] * len(lines)
    kinds[signature:] = [StretchKind.SIGNATURE] * (len(lines) - signature)
    end = len(lines) if small_print > signature else signature
    kinds[small_print:end] = [StretchKind.LEGAL] * max(0, end - small_print)
    if signature == len(lines):
        card = _card(lines[:small_print], sender_names)
        kinds[card.start : card.stop] = [StretchKind.SIGNATURE] * len(card)
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
    is_below_text = bool(above) and not above[-1].rstrip().endswith(COLONS)
    return mark if is_below_text and is_short and _is_about_sender(below, sender_names) else len(lines)


def _is_about_sender(lines: Sequence[str], sender_names: Collection[str]) -> bool:
    """Two dashes alone may part two courses of a menu; a signature says who writes and how to reach them."""
    text = "\n".join(lines).lower()
    return CONTACT.search(text) is not None or any(name in text for name in sender_names)


def _card(lines: Sequence[str], sender_names: Collection[str]) -> range:
    """From the sender's name to the end of the paragraph that says how to reach them.

    Many programs set no mark above it. What a line with a colon introduces is what the mail is about.
    """
    written = [at for at, line in enumerate(lines) if line.strip()]
    begin = next((at for at in reversed(written) if _is_senders_name(lines[at], sender_names)), len(lines))
    above = [lines[at].strip() for at in written if at < begin]
    below = [at for at in written if at > begin]
    reached = [at for at in below if CONTACT.search(lines[at])]
    words = [sum(map(str.isalpha, (word[0] for word in lines[at].split()))) for at in below]
    is_card = len(below) <= SIGNATURE_LINES and all(count <= CARD_WORDS for count in words)
    if not above or not reached or not is_card or any(line.endswith(COLONS) for line in above[-2:]):
        return range(0)
    paragraph_ends = (at for at in range(reached[-1], len(lines)) if not lines[at].strip())
    return range(begin, next(paragraph_ends, len(lines)))


def _is_senders_name(line: str, sender_names: Collection[str]) -> bool:
    words = line.strip(" *_,").lower().split()
    return (
        ":" not in line and 1 < len(words) <= NAME_WORDS and sum(word in sender_names for word in words) > 1
    )


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
    for above, at in pairwise([-1, *own][-CLOSING_LINES - 1 :]):
        is_announced = above >= 0 and lines[above].rstrip().endswith(COLONS)
        if _is_advertisement(lines[at]) and not is_announced:
            kinds[at] = StretchKind.SIGNATURE
    for at in reversed(own):
        if kinds[at] is StretchKind.OWN and not RULE.fullmatch(lines[at]):
            return
        kinds[at] = StretchKind.SIGNATURE


def _is_advertisement(line: str) -> bool:
    text = line.strip(" *_<>().-")
    if len(text) > LINE_CHARACTERS or len(text.split()) > ADVERTISEMENT_WORDS:
        return False
    return SENT_FROM.match(text) is not None and DEVICE.search(text) is not None
