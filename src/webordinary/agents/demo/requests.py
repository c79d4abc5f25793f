"""What the demo agent understands: the kinds of sentence in `EXAMPLES`, one or several to a mail.

"Please", greetings and thanks may stand around them, and most may name a page: "on the about page", "of the
homepage", "in about.html". New words need quotes where it is not clear where they end. Whatever is none of
this is refused, and the whole mail with it: nothing is guessed, and nothing is done by half.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from webordinary.core.failure import DemoObstacle
from webordinary.core.text import one_line

EXAMPLES = (
    "Change the homepage title to Spring Sale",
    'Change the heading "Team" to "The bakers"',
    'Replace "Monday" with "Tuesday" on the contact page',
    "Change the phone number to 555 0100",
    'Add a paragraph "We are closed in May" after the heading "Opening hours"',
    'Add a heading "News" to the about page',
    'Remove the paragraph that starts with "We are two"',
    "Replace the hero photo with the attached one",
    "Add the attached photo to the about page",
)
INSTRUCTION_CHARACTERS, REQUEST_CHARACTERS = 8_000, 2_500
REQUESTS_MAX = 20
TAKE_TIME_SECONDS = 600  # the most that "take your time" waits
SHOWN_CHARACTERS = 70  # of a text that is quoted back


class CannotDo(Exception):
    """Why a mail is refused: the reason for the operator, the obstacle for who asked, what it is about."""

    def __init__(self, reason: str, obstacle: DemoObstacle = DemoObstacle.NOT_SAFE, about: str = "") -> None:
        """Raised from deep inside a search and caught in one place."""
        super().__init__(reason)
        self.obstacle, self.about = obstacle, about


class RequestKind(Enum):
    """What to do."""

    TITLE = "change a title"
    HEADING = "change a heading"
    TEXT = "put words in the place of others"
    CONTACT = "change the phone number or the e-mail address"
    ADD = "add a paragraph or a heading"
    REMOVE = "remove a paragraph, a heading or words"
    REPLACE_PICTURE = "show a mailed picture instead of another"
    ADD_PICTURE = "show a mailed picture as well"


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """One sentence. What it does not say is ""."""

    kind: RequestKind
    page: str = ""
    everywhere: bool = False
    what: str = ""  # a paragraph, a heading, a phone number
    old: str = ""  # the words that are there; for a picture, what is said about it
    new: str = ""
    beside: str = ""  # the heading or paragraph that it goes after ...
    is_before: bool = False  # ... or before
    file: str = ""  # the name of the mailed picture
    described: str = ""


def shown(text: str) -> str:
    """A text as it is quoted back."""
    return f"“{one_line(text, SHOWN_CHARACTERS)}”"


# --- forms ----------------------------------------------------------------------------------------------

_Q = "\x02\\d+\x03"  # stands for something quoted
_CHANGE = r"(?:change|set|update|make|rename|edit|replace|swap|correct)"
_PUT = r"(?:add|insert|put|write|show|use)"
_THE = r"(?:the |my |our |its )?"
_ARTICLE = r"(?:the|my|our|your|all|its|a|an) "
_TO = r"(?:to say|to read|to be|to|into|say|read|with|by|for|as):?"
_OLD = rf"(?P<old>{_Q})"
_NEW = rf"(?P<new>{_Q}|[^\x02]+)"  # what is quoted is all of it: nothing may follow
_HEADING = r"(?:sub-?heading|heading|headline|header)"
_PIECE = r"(?:text|sentence|phrase|words?|line|item|price)"
_ELEMENT = rf"(?P<what>paragraph|{_HEADING})"
_CONTACT = r"(?P<what>(?:tele)?phone(?: number)?|e-?mail(?: address)?)"
_SAYING = r"(?:(?:that |which )?(?:says|saying|reads|reading)|with the (?:text|words)):?"
_STARTING = rf"(?:(?:that |which )?(?:starts|starting|begins|beginning)(?: with)?:?|{_SAYING})"
_BESIDE = (
    rf"(?P<side>after|below|under|before|above) (?:the )?(?:(?:{_HEADING}|paragraph|section)"
    rf"(?: {_STARTING}| called)? )?(?P<beside>{_Q})"
)
_AT_THE_END = r"(?:at the (?:end|bottom) ?)?"
_ADD = rf"{_PUT} (?:the |an? |another |this )?(?:new )?(?:(?:{_ELEMENT}|{_PIECE}) ?)?{_AT_THE_END}"
_WORDS = rf"(?:,? ?(?:{_SAYING}|:) ?(?P<new>[^\x02]+?)|(?:,? ?(?:{_SAYING}|:))? ?(?P<quote>{_Q}))"
_PICTURE = r"(?:photograph|photo|picture|image)"
_ATTACHED = (
    rf"(?:(?:the |my |this |an? )?(?:(?:new |attached |enclosed )*(?:{_PICTURE}|file)(?: attached)?|"
    r"(?:new |attached |enclosed )+one|attachment)|this one|"
    rf"(?:the |my )?(?:attached |enclosed |{_PICTURE} |file )*"
    r"(?P<file>[\w. -]{1,80}?\.(?:jpe?g|png|gif|webp|avif))|"
    rf"(?:the |my )?(?:attached |enclosed |{_PICTURE} |file )+(?P<named>{_Q}))"
)
_DESCRIBED = (
    rf"(?:,? ?(?:and |with |use )*(?:the )?(?:alt text|description|described)(?: as|:)* (?P<described>{_Q}))?"
)
_SHOWN = rf"(?P<old>(?:[^\x02]*\b)?(?:{_PICTURE}|hero|banner|logo|portrait)\b.*?|{_Q})"
_OF_ANY_PICTURE = re.compile(rf"\b(?:{_PICTURE}|of|called|with|the|my|our|a|in)\b", re.IGNORECASE)

# In this order: a form that is more exact comes first.
_FORMS = [
    (kind, re.compile(form, re.IGNORECASE | re.DOTALL))
    for kind, form in (
        (
            RequestKind.REPLACE_PICTURE,
            rf"{_CHANGE} {_THE}{_SHOWN} (?:with|by|to|for) {_ATTACHED}{_DESCRIBED}",
        ),
        (
            RequestKind.REPLACE_PICTURE,
            rf"{_PUT} {_ATTACHED} (?:as|instead of) {_THE}(?:new )?{_SHOWN}{_DESCRIBED}",
        ),
        (RequestKind.TITLE, rf"{_CHANGE} {_THE}(?:(?:page|web ?site|site) )?title {_TO} {_NEW}"),
        (RequestKind.HEADING, rf"{_CHANGE} {_THE}(?:(?:main|top|page|first) )?{_HEADING} {_TO} {_NEW}"),
        (RequestKind.HEADING, rf"{_CHANGE} {_THE}{_HEADING}(?: from| called)? {_OLD} {_TO} {_NEW}"),
        (RequestKind.HEADING, rf"{_CHANGE} {_THE}{_OLD} {_HEADING} {_TO} {_NEW}"),
        (RequestKind.CONTACT, rf"{_CHANGE} {_THE}{_CONTACT} {_TO} {_NEW}"),
        (RequestKind.ADD, rf"{_ADD}{_BESIDE}{_WORDS}"),
        (RequestKind.ADD, rf"{_ADD}{_WORDS},? {_BESIDE}"),
        (RequestKind.ADD, rf"{_BESIDE},? (?:please )?{_ADD}{_WORDS}"),
        (RequestKind.ADD, rf"{_ADD}{_WORDS} ?{_AT_THE_END}"),
        (RequestKind.ADD_PICTURE, rf"{_PUT} {_ATTACHED}(?: {_BESIDE})?{_DESCRIBED}"),
        (RequestKind.REMOVE, rf"(?:remove|delete) {_THE}(?:{_PIECE} |{_ELEMENT}(?: {_STARTING})? )?{_OLD}"),
        (RequestKind.TEXT, rf"{_CHANGE} {_THE}(?:{_PIECE} )?{_OLD} {_TO} {_NEW}"),
        (RequestKind.TEXT, rf"(?:replace|swap) (?P<old>(?!{_ARTICLE})[^\x02]+?) (?:with|by) {_NEW}"),
        (RequestKind.TEXT, rf"{_CHANGE} (?P<old>(?!{_ARTICLE})[^\x02]*?[\d@][^\x02]*?) {_TO} {_NEW}"),
    )
]
_LIST = "I understand sentences like these: " + "; ".join(EXAMPLES)

# --- sentences ------------------------------------------------------------------------------------------

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_TAKE_TIME = re.compile(
    r"^[ \t]*take your time:?[ \t]*(\d{1,4})[ \t]*s(?:ec(?:ond)?s?)?[ \t]*\.?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# A single quote ends where nothing follows, or a word that leads on does: else it is an apostrophe.
_QUOTATION = re.compile(
    r"\"[^\"]+\"|[“”„][^“”\"]+[“”\"]|«[^»]+»|(?<!\w)[\u2018'][^\n]+?[\u2019']"
    r"(?=\s*(?:$|\n|[.,;:!?)\x02]|\s(?:to|into|with|by|for|as|after|before|below|under|above|on|in|of|at|and|"
    r"from|everywhere|says?|please|page|photo|picture|image|heading|headline)\b))",
    re.IGNORECASE,
)
_VERB = rf"(?:{_CHANGE}|{_PUT}|remove|delete)\b"
_POLITE = (
    r"(?:(?:please|kindly|then|and|also|now|next|finally|hi|hello|hey)\b[ ,:]*|"
    r"(?:could|can|would|will) you(?: please| kindly| also)*\s+|"
    r"i(?:'d| would|\u2019d)? (?:like|want|need) (?:you )?to\s+)*"
)
_START = re.compile(
    rf"{_POLITE}(?:(?:on|in) the [\w ]{{1,30}}page,? {_POLITE})?(?:{_VERB}|(?:after|before) the heading\b)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[-*•\u2013]|\(?\d{1,2}[.)])\s+")
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day))(?: [\w'\u2019 -]{1,40})?[,!.]*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:(?:(?:many )?(?:thanks|thank you)|cheers|(?:kind |best |warm )?(?:regards|wishes)|best|sincerely|"
    r"yours|love)(?: (?:a lot|so much|in advance|again|all))?(?:,? [\w'\u2019-]{1,20}){0,2}[,!.]* ?)+",
    re.IGNORECASE,
)
_CUT = re.compile(
    rf"(?<=[.!?;])\s+(?=(?:{_START.pattern})|(?:many )?thank|cheers\b|(?:kind |best )?regards\b)|"
    rf"(?<=\x03),?\s+and\s+(?={_POLITE}{_VERB})|\n",
    re.IGNORECASE,
)
_GOES_ON = re.compile(rf"[.!?]\s+\S|\b(?:and|then) {_POLITE}{_VERB}", re.IGNORECASE)
_NAME = re.compile(r"[\w.'\u2019-]+(?: [\w.'\u2019-]+){0,2}")
_TRAILING = re.compile(r"(?:[ ,]*\b(?:please|thanks|thank you)\b[ !.]*)+$", re.IGNORECASE)
_PAGE_NAME = (
    r"home ?page|(?:(?!(?:on|in|of|for|from|to|the|with|at|after|before|page|every|all|each|this|a)\b)"
    rf"[\w&'\u2019-]+ ){{1,3}}page|{_Q} page|[\w./-]+\.html?"
)
_PAGE = re.compile(
    rf",?\s*\b(?P<by>on|in|of|for|from|to|at) (?:the |my |our )?(?P<name>{_PAGE_NAME})(?!\w),?|"
    rf"\b(?P<own>{_PAGE_NAME})(?:'s|\u2019s)?(?= (?:title|(?:main )?heading|headline|hero|{_PICTURE})\b)",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r",?\s*\b(?:everywhere(?: on the (?:web)?site)?|(?:on|in) (?:all(?: the)?|every|each) pages?)\b",
    re.IGNORECASE,
)
_NEW_WORDS_BEGIN = re.compile(
    r"\b(?:to|into|with|by|say\w*|reads?|reading)\s+(?!\x02)\S|:\s*[^\s\x02]", re.IGNORECASE
)


def time_to_take(instruction: str) -> tuple[str, float]:
    """The instruction without its line "take your time: N seconds", and the seconds. An aid for demos."""
    found = _TAKE_TIME.search(instruction)
    seconds = min(float(found[1]), TAKE_TIME_SECONDS) if found else 0.0
    return _TAKE_TIME.sub("", instruction), seconds


def understood(instruction: str) -> list[DemoRequest]:
    """Read a mail as requests, or say which part of it is none."""
    if len(instruction) > INSTRUCTION_CHARACTERS:
        raise CannotDo("your mail is too long for me", DemoObstacle.TOO_MUCH)
    quotes: list[str] = []

    def set_aside(quotation: re.Match[str]) -> str:
        if not one_line(quotation[0][1:-1]):
            return quotation[0]
        quotes.append(quotation[0])
        return f"\x02{len(quotes) - 1}\x03"

    text = _UNFIT.sub("", instruction.replace("\r\n", "\n").replace("\r", "\n"))
    pieces = _requests_in(_unwrapped(_QUOTATION.sub(set_aside, text)))
    if not pieces:
        raise CannotDo(f"I found no request in your mail. {_LIST}", DemoObstacle.NO_REQUEST)
    if len(pieces) > REQUESTS_MAX or any(len(piece) > REQUEST_CHARACTERS for piece in (*pieces, *quotes)):
        raise CannotDo("there is more in your mail than I do at once", DemoObstacle.TOO_MUCH)
    return [_request(piece, quotes) for piece in pieces]


def _unwrapped(text: str) -> str:
    """Join lines that only the width of a mail has parted: those that start no request of their own."""
    lines: list[str] = []
    for written in (" ".join(line.split()) for line in text.split("\n")):
        line = written[found.end() :] if (found := _BULLET.match(written)) else written
        goes_on = line and line == written and lines and _START.match(lines[-1])
        if goes_on and not any(sort.match(line) for sort in (_START, _GREETING, _CLOSING)):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _requests_in(text: str) -> list[str]:
    """The pieces that are neither a greeting nor the end of a letter."""
    kept, closed = [], False
    for piece in filter(None, map(str.strip, _CUT.split(text))):
        if closed and _NAME.fullmatch(piece) and not _START.match(piece):
            continue
        closed = _CLOSING.fullmatch(piece) is not None
        if not closed and not _GREETING.fullmatch(piece):
            kept.append(piece)
    return kept


def _request(piece: str, quotes: list[str]) -> DemoRequest:
    original = _restored(piece, quotes)
    words = _without_politeness(piece)
    stop = "." if words.endswith(".") and not words.endswith("...") else ""
    words = words.removesuffix(stop).rstrip()
    bare = _EVERYWHERE.sub("", words)
    named = _PAGE.search(bare)
    page = _restored(named["name"] or named["own"], quotes, bare=True) if named else ""
    rest = bare[: named.start()] + bare[named.end() :] if named else bare
    rest = _without_politeness(" ".join(rest.split()).strip(" ,"))
    found, kind = next(
        ((found, kind) for kind, form in _FORMS if (found := form.fullmatch(rest))), (None, None)
    )
    if found is None or kind is None:
        reason = f"I don't understand {shown(original)}. {_LIST}"
        raise CannotDo(reason, DemoObstacle.NOT_UNDERSTOOD, original)
    given = {name: part for name, part in found.groupdict().items() if part}
    new, old = given.get("new", ""), given.get("old", "")
    if (named and _is_in_new_words(bare, named)) or (kind is not RequestKind.ADD and _GOES_ON.search(new)):
        reason = f"I can't tell where the new text ends in {shown(original)}. Put it in quotes"
        raise CannotDo(reason, DemoObstacle.UNQUOTED, original)
    if kind is RequestKind.REPLACE_PICTURE:
        quoted = re.search(_Q, old)
        old = quoted[0] if quoted else _OF_ANY_PICTURE.sub(" ", old)
    said = {name: _restored(part, quotes, bare=part.strip()[:1] == "\x02") for name, part in given.items()}
    return DemoRequest(
        kind,
        page,
        everywhere=bare != words,
        what=given.get("what", "").lower(),
        old=_restored(old, quotes, bare=old[:1] == "\x02"),
        new=said.get("new", said.get("quote", ""))
        + (stop if kind is RequestKind.ADD and rest.endswith(new or ".") else ""),
        beside=said.get("beside", ""),
        is_before=given.get("side", "").lower() in {"before", "above"},
        file=said.get("file", said.get("named", "")),
        described=said.get("described", ""),
    )


def _is_in_new_words(words: str, page: re.Match[str]) -> bool:
    """Whether a page's name may belong to new words, as in "Change the title to Welcome to our home page"."""
    is_at_the_end = (page["by"] or "").lower() == "on" and page.end() == len(words)
    return not is_at_the_end and _NEW_WORDS_BEGIN.search(words[: page.start()]) is not None


def _without_politeness(words: str) -> str:
    bare = re.sub(f"^{_POLITE}", "", words, flags=re.IGNORECASE)
    return _TRAILING.sub("", bare.rstrip("?") if bare != words else bare).rstrip(" ,;")


def _restored(words: str, quotes: list[str], *, bare: bool = False) -> str:
    """Words with what they quote put back; if bare, without the quotation marks."""

    def quotation(found: re.Match[str]) -> str:
        written = quotes[int(found[1])]
        return written[1:-1] if bare else written

    return " ".join(re.sub("\x02(\\d+)\x03", quotation, words).split())
