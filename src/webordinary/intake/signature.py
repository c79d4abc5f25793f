"""What stands below a person's words: signature, advertisement of the phone, small print."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.intake.phrases import (
    CLOSING_LINES,
    DEVICE,
    RULE,
    SENT_FROM,
    SENT_FROM_EAST,
    SMALL_PRINT,
)

SIGNATURE_MARK = "-- "
BARE_MARKS = frozenset({"--", "—"})
SIGNATURE_LINES = 12  # of one whose mark lost its space; the space is what makes the mark safe
LINE_CHARACTERS = 160


def without_signature(chunk: Sequence[str]) -> list[str]:
    """A chunk of a person's own lines without what their program or their company added."""
    lines = _cut_at_mark(list(chunk))
    lines = _cut_small_print(lines)
    return _cut_closing(lines)


def _cut_at_mark(lines: list[str]) -> list[str]:
    if SIGNATURE_MARK in lines:
        return lines[: lines.index(SIGNATURE_MARK)]
    filled = [at for at, line in enumerate(lines) if line.strip()]
    tail = filled[1:][-SIGNATURE_LINES - 1 : -1]  # a mark has text above it and a few short lines below
    for at in tail:
        if lines[at].strip() in BARE_MARKS and all(len(line) <= LINE_CHARACTERS for line in lines[at:]):
            return lines[:at]
    return lines


def _cut_small_print(lines: list[str]) -> list[str]:
    """Small print starts a paragraph, after other text, and goes on to the end."""
    seen_text = False
    for at, line in enumerate(lines):
        starts_paragraph = at > 0 and not lines[at - 1].strip(" _*-=")
        if seen_text and starts_paragraph and SMALL_PRINT.match(line.lstrip(" *_[")[:400]):
            return lines[:at]
        seen_text = seen_text or bool(line.strip(" _*-="))
    return lines


def _cut_closing(lines: list[str]) -> list[str]:
    """Cut "Sent from my iPhone" from among the last lines, and rules that stand under everything."""
    last = [at for at, line in enumerate(lines) if line.strip()][-CLOSING_LINES:]
    advertisements = {at for at in last if _is_advertisement(lines[at])}
    kept = [line for at, line in enumerate(lines) if at not in advertisements]
    while kept and (not kept[-1].strip() or RULE.fullmatch(kept[-1])):
        kept.pop()
    return kept


def _is_advertisement(line: str) -> bool:
    text = line.strip(" *_<>.-")
    if len(text) > LINE_CHARACTERS:
        return False
    is_sent_from = SENT_FROM.match(text) is not None and DEVICE.search(text) is not None
    return is_sent_from or SENT_FROM_EAST.match(text) is not None
