"""A mail's text cut into requests, each with what it quotes set aside and its politeness left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webordinary.agents.demo.bounds import TAKE_TIME_SECONDS
from webordinary.agents.demo.requests import Where

VERBS = (
    "change|set|update|make|rename|edit|switch|turn|replace|swap|exchange|correct|add|insert|put|write|remove|"
    "delete|drop|take|link|point|use|give|describe"
)
QUOTED = "\x02(?:\\d+)\x03"  # stands for something quoted

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_TAKE_TIME = re.compile(
    r"^[ \t]*take your time:?[ \t]*(\d{1,4})[ \t]*s(?:ec(?:ond)?s?)?[ \t]*\.?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# Where a quotation ends, in contrast to an apostrophe: nothing follows, or a word that leads on does.
_ENDS = (
    r"(?=\s*(?:$|\n|[.,;:!?)\x02]|\s(?:to|into|with|by|for|as|after|before|below|under|above|on|in|of|at|and|from|"
    r"everywhere|so|go|goes|lead|say|says|please|page|photo|picture|image|link|heading|headline|title|paragraph)\b))"
)
_QUOTATIONS = re.compile(
    r"\"[^\"]+\"|[“”„][^“”\"]+[“”\"]|«[^»]+»|(?<!\w)[\u2018'][^\n]+?[\u2019']" + _ENDS, re.IGNORECASE
)
_POLITE_START = (
    r"(?:(?:please|kindly|then|and|also|now|next|finally|just|hi|hello|hey|dear)\b[ ,:]*|"
    r"(?:could|can|would|will) (?:you|u)(?: please| kindly| also)*\s+|"
    r"i(?:'d| would|\u2019d)? (?:like|want|need) (?:you )?to\s+|let'?s\s+)"
)
_LEADING = re.compile(rf"^(?:{_POLITE_START})+", re.IGNORECASE)
_TRAILING = re.compile(r"(?:[ ,]*\b(?:please|thanks|thank you|thx)\b[ !.]*)+$", re.IGNORECASE)
_BULLET = r"(?:[-*•\u2013]\s+|\(?\d{1,2}[.)]\s+)?"
_REQUEST_START = (
    rf"(?:{_POLITE_START})*(?:(?:{VERBS})\b|(?:on|in) the [\w ]{{1,30}}page,? (?:please )?(?:{VERBS})\b|"
    r"(?:after|before) the (?:heading|paragraph)\b)"
)
_STARTS = re.compile(_REQUEST_START, re.IGNORECASE)
_CUT = re.compile(
    rf"(?<=[.!?;])\s+(?=(?:{_REQUEST_START})|(?:many )?thank|cheers\b|(?:kind |best )?regards\b)|"
    rf"(?<=\x03),?\s+and\s+(?=(?:{_POLITE_START})*(?:{VERBS})\b)|\n",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day))(?: [\w'\u2019 -]{1,40})?[,!.]*|"
    r"(?:many )?(?:thanks|thank you|thx|cheers|best|best wishes|(?:kind |best |warm )?regards|sincerely|"
    r"yours|love|"
    r"see you|have a (?:nice|good|great) day)(?: (?:a lot|so much|very much|in advance|again|everyone|all))?"
    r"(?:,? [\w'\u2019-]{1,20}){0,2}[,!.]*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:thanks|thank you|thx|cheers|best|.*regards|.*wishes|sincerely|yours|love)\b.*", re.IGNORECASE
)
_NAME = re.compile(r"[\w.'\u2019-]+(?: [\w.'\u2019-]+){0,2}")

_PAGE_NAME = (
    r"home ?page|front page|start page|main page|"
    r"(?:(?!(?:on|in|of|for|from|to|the|with|at|after|before|page|every|all|each|this|a)\b)"
    r"[\w&'\u2019-]+ ){1,3}page|"
    rf"{QUOTED} page|[\w./-]+\.html?"
)
_EVERYWHERE = re.compile(
    r",?\s*\b(?:everywhere(?: on the (?:web)?site)?|throughout(?: the (?:web)?site)?|"
    r"wherever it (?:appears|occurs|is)|"
    r"(?:on|in) (?:all(?: the)?|every|each)(?: of the)? pages?|(?:on|in) all places|(?:on|in) every place)\b",
    re.IGNORECASE,
)
_ON_PAGE = re.compile(
    rf",?\s*\b(?:on|in|of|for|from) (?:the |my |our )?({_PAGE_NAME})(?!\w),?", re.IGNORECASE
)
_OF_PAGE = re.compile(
    rf"\b({_PAGE_NAME})(?:'s|\u2019s)?(?= (?:title|(?:main )?heading|headline|hero|photo|picture|image)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One request: its words, with what it quotes set aside, and the page that it names."""

    words: str
    quotes: tuple[str, ...]
    where: Where
    original: str
    stop: str = ""  # the full stop that was left out

    def said(self, words: str) -> str:
        """Words of the sentence as they were written, out of their quotes if all of them are in some."""
        alone = re.fullmatch(f"\\s*{QUOTED}\\s*", words)
        return _restored(words, self.quotes, bare=alone is not None).strip()


def time_to_take(instruction: str) -> tuple[str, float]:
    """The instruction without its line "take your time: N seconds", and the seconds. An aid for demos."""
    found = _TAKE_TIME.search(instruction)
    seconds = min(float(found[1]), TAKE_TIME_SECONDS) if found else 0.0
    return _TAKE_TIME.sub("", instruction), seconds


def sentences_of(instruction: str) -> list[Sentence]:
    """Cut a mail's text into requests. Greetings and thanks are no requests."""
    text = _UNFIT.sub("", instruction.replace("\r\n", "\n").replace("\r", "\n"))
    quotes: list[str] = []

    def set_aside(quotation: re.Match[str]) -> str:
        quotes.append(quotation[0])
        return f"\x02{len(quotes) - 1}\x03"

    hidden = _QUOTATIONS.sub(set_aside, text)
    pieces = [piece for piece in _CUT.split(_unwrapped(hidden)) if piece.strip()]
    return [_sentence(piece, tuple(quotes)) for piece in _without_noise(pieces)]


def _unwrapped(text: str) -> str:
    """Join lines that only the width of a mail has parted: those that start no request of their own."""
    lines: list[str] = []
    for written in (" ".join(line.split()) for line in text.split("\n")):
        line = re.sub(f"^{_BULLET}", "", written)
        follows = line == written and (
            bool(lines and lines[-1] and line) and not _STARTS.match(line) and not _NOISE.fullmatch(line)
        )
        if follows and _STARTS.match(lines[-1]):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _without_noise(pieces: list[str]) -> list[str]:
    kept, closed = [], False
    for piece in pieces:
        if closed and _NAME.fullmatch(piece.strip()) and not _STARTS.match(piece):
            continue
        if _NOISE.fullmatch(piece.strip()):
            closed = _CLOSING.fullmatch(piece.strip()) is not None
        else:
            kept.append(piece)
    return kept


def _sentence(piece: str, quotes: tuple[str, ...]) -> Sentence:
    words = piece.strip()
    bare = _LEADING.sub("", words)
    asked = bare != words and words.endswith("?")
    bare = _TRAILING.sub("", bare.rstrip("?") if asked else bare).strip()
    stop = "." if bare.endswith(".") and not bare.endswith("...") else ""
    bare = bare.removesuffix(stop).rstrip(" ,;")
    everywhere = _EVERYWHERE.search(bare)
    bare = _EVERYWHERE.sub("", bare)
    page = _ON_PAGE.search(bare) or _OF_PAGE.search(bare)
    name = _restored(page[1], quotes, bare=True) if page else ""
    if page:
        bare = bare[: page.start()] + bare[page.end() :]
    bare = _LEADING.sub("", " ".join(bare.split()).strip(" ,"))
    where = Where(name, everywhere is not None)
    return Sentence(bare, quotes, where, _restored(piece, quotes).strip(), stop)


def _restored(words: str, quotes: tuple[str, ...], *, bare: bool = False) -> str:
    def quotation(found: re.Match[str]) -> str:
        written = quotes[int(found[1])]
        return written[1:-1].strip() if bare else written

    return " ".join(re.sub("\x02(\\d+)\x03", quotation, words).split())
