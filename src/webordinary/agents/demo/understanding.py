"""Requests read from sentences. Whatever fits no form is not guessed at."""

from __future__ import annotations

import re
from collections.abc import Callable

from webordinary.agents.demo.bounds import (
    INSTRUCTION_CHARACTERS,
    REQUEST_CHARACTERS,
    REQUESTS_MAX,
    CannotDo,
    shown,
)
from webordinary.agents.demo.requests import (
    AddParagraph,
    DescribePicture,
    RemoveParagraph,
    ReplacePicture,
    ReplaceText,
    Request,
    SetHeading,
    SetLink,
    SetTitle,
    Side,
)
from webordinary.agents.demo.sentences import QUOTED, Sentence, sentences_of
from webordinary.core.failure import DemoObstacle

_SET = r"(?:change|set|update|make|rename|edit|switch|turn|replace)"
_THE = r"(?:the |my |our |its )?"
_TO = r"(?:to say|to read|to be|to|into|say|read|with|as)"
_HEADING = r"(?:sub-?heading|heading|headline|header)"
_PICTURE = r"(?:photograph|photo|picture|image|pic)"
_SEEN = rf"(?:{_PICTURE}|hero|banner|logo|portrait)"
_FILE = r"(?P<file>[\w. -]{1,80}?\.(?:jpe?g|png|gif|webp|avif))"
_ATTACHED = (
    rf"(?:(?:the |my |this |an? )?(?:(?:new |attached |enclosed )+(?:one|{_PICTURE}|file)|attached|"
    rf"attachment|(?:one|{_PICTURE}|file) (?:attached|enclosed|in the attachment|i (?:have )?attached))"
    rf"|this one|(?:the |my )?(?:attached |enclosed )?(?:{_PICTURE} |file )?{_FILE}"
    rf"|(?:the |my )?(?:attached |enclosed |{_PICTURE} |file )+(?P<quoted>{QUOTED}))"
)
_DESCRIBED = (
    r"(?:,? ?(?:and |with )*(?:give it |use |change |set |its )?(?:the |a |an )?"
    rf"(?:alt(?:ernative)?(?: text)?|description|described)(?: is| as| to|:)* (?P<described>{QUOTED}))?"
)
_NEW = rf"(?P<new>{QUOTED}|(?!\x02).+)"  # what is quoted is all of it: nothing may follow
_TEXT = _NEW.replace("new", "text")
_PARAGRAPH = r"(?:paragraph|text|sentence|line)"
_STARTING = (
    r"(?:that |which )?(?:starts|starting|begins|beginning|says|saying|reads|reading|with)(?: with)?:? ?"
)
_SIDE = rf"(?:right |just |directly )?(?P<side>after|below|under|beneath|before|above) {_THE}"
_BESIDE = rf"(?:{_HEADING}|paragraph|section|text) (?:{_STARTING}|called |named )?"
_ANCHOR = rf"{_SIDE}{_BESIDE}(?P<anchor>.+?)"
_QUOTED_ANCHOR = rf"{_SIDE}(?:{_BESIDE})?(?P<anchor>{QUOTED})"
_ADD = rf"(?:add|insert|put|write) (?:a |an |one |another |this )?(?:new )?{_PARAGRAPH}"
_ABOUT_ANY_PICTURE = re.compile(
    rf"\b{_PICTURE}\b|\b(?:of|called|named|with|the|my|our|a|in|section)\b", re.IGNORECASE
)
_BARE_OLD = r"(?!(?:the|my|our|your|all|its|a|an) ).+?"

_TWO_SENTENCES = re.compile(r"[.!?]\s+\S")

Found = re.Match[str]
Reader = Callable[[Sentence, Found], Request]


def understood(instruction: str) -> list[Request]:
    """Read a mail as requests, or say which part of it is none."""
    if len(instruction) > INSTRUCTION_CHARACTERS:
        raise CannotDo("your mail is too long for me", DemoObstacle.TOO_MUCH)
    sentences = sentences_of(instruction)
    if not sentences:
        raise CannotDo("I found no request in your mail", DemoObstacle.NO_REQUEST)
    if len(sentences) > REQUESTS_MAX:
        raise CannotDo(f"there are more than {REQUESTS_MAX} requests in your mail", DemoObstacle.TOO_MUCH)
    return [_request(sentence) for sentence in sentences]


def _request(sentence: Sentence) -> Request:
    if len(sentence.original) > REQUEST_CHARACTERS:
        raise CannotDo("one request in your mail is too long for me", DemoObstacle.TOO_MUCH)
    for form, read in _FORMS:
        found = form.fullmatch(sentence.words)
        if found is not None:
            return read(sentence, found)
    raise CannotDo(
        f"I don't understand {shown(sentence.original)}", DemoObstacle.NOT_UNDERSTOOD, sentence.original
    )


def _part(sentence: Sentence, found: Found, name: str) -> str:
    words = found[name] or ""
    if name == "new" and _TWO_SENTENCES.search(words):
        raise CannotDo(
            f"I can't tell where the new text ends in {shown(sentence.original)}. Put it in quotes",
            DemoObstacle.UNQUOTED,
            sentence.original,
        )
    return sentence.said(words)


def _picture(sentence: Sentence, found: Found) -> ReplacePicture:
    return ReplacePicture(
        _which(sentence, found["which"]),
        sentence.where,
        file=_part(sentence, found, "file") or _part(sentence, found, "quoted"),
        description=_part(sentence, found, "described"),
    )


def _which(sentence: Sentence, words: str) -> str:
    """What a person says about a picture, without the words that say it is one."""
    bare = _ABOUT_ANY_PICTURE.sub(" ", words)
    quoted = re.search(QUOTED, words)
    return sentence.said(quoted[0] if quoted else bare)


def _description(sentence: Sentence, found: Found) -> DescribePicture:
    return DescribePicture(
        _which(sentence, found["which"] or ""), _part(sentence, found, "new"), sentence.where
    )


def _title(sentence: Sentence, found: Found) -> SetTitle:
    return SetTitle(_part(sentence, found, "new"), sentence.where, old=_part(sentence, found, "old"))


def _heading(sentence: Sentence, found: Found) -> SetHeading:
    return SetHeading(_part(sentence, found, "new"), sentence.where, old=_part(sentence, found, "old"))


def _main_heading(sentence: Sentence, found: Found) -> SetHeading:
    return SetHeading(_part(sentence, found, "new"), sentence.where)


def _link(sentence: Sentence, found: Found) -> SetLink:
    return SetLink(_part(sentence, found, "label"), _part(sentence, found, "new"), sentence.where)


def _added(sentence: Sentence, found: Found) -> AddParagraph:
    side = Side.BEFORE if (found["side"] or "").lower() in {"before", "above"} else Side.AFTER
    return AddParagraph(
        _prose(sentence, found), sentence.where, anchor=_part(sentence, found, "anchor"), side=side
    )


def _added_last(sentence: Sentence, found: Found) -> AddParagraph:
    return AddParagraph(_prose(sentence, found), sentence.where)


def _prose(sentence: Sentence, found: Found) -> str:
    """A paragraph's text; a full stop at the end of the mail's sentence is its own."""
    last = found.end("text") == len(sentence.words) and "\x03" not in found["text"]
    return _part(sentence, found, "text") + (sentence.stop if last else "")


def _removed(sentence: Sentence, found: Found) -> RemoveParagraph:
    start = _part(sentence, found, "start")
    return RemoveParagraph(start.removesuffix("…").removesuffix("...").strip(), sentence.where)


def _text(sentence: Sentence, found: Found) -> ReplaceText:
    return ReplaceText(_part(sentence, found, "old"), _part(sentence, found, "new"), sentence.where)


def _form(pattern: str, read: Reader) -> tuple[re.Pattern[str], Reader]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL), read


# In this order: a form that is more exact comes first.
_FORMS = (
    _form(
        rf"{_SET} {_THE}(?:alt(?:ernative)?(?: text)?|description)"
        rf"(?: (?:of|for) {_THE}(?P<which>.+?))? {_TO} {_NEW}",
        _description,
    ),
    _form(
        rf"(?:replace|swap|change|exchange|update|switch) {_THE}"
        rf"(?P<which>(?:[^\x02]*\b)?{_SEEN}\b.*?|{QUOTED}) (?:with|by|to|for|against) "
        rf"{_ATTACHED}{_DESCRIBED}",
        _picture,
    ),
    _form(
        rf"(?:use|put|take|set|make) {_ATTACHED} (?:as|for|in place of|instead of) {_THE}(?:new )?"
        rf"(?P<which>(?:[^\x02]*\b)?{_SEEN}\b.*?|{QUOTED}){_DESCRIBED}",
        _picture,
    ),
    _form(
        rf"{_SET} {_THE}(?:(?:page|web ?site|site) )?title(?: from)?(?: (?P<old>{QUOTED}))? {_TO}:? "
        rf"{_NEW}",
        _title,
    ),
    _form(rf"{_SET} {_THE}(?:(?:main|top|page|first) )?(?:{_HEADING}|h1) {_TO}:? {_NEW}", _main_heading),
    _form(rf"{_SET} {_THE}{_HEADING}(?: from| called)? (?P<old>{QUOTED}) {_TO}:? {_NEW}", _heading),
    _form(rf"{_SET} {_THE}{_HEADING}(?: from| called)? (?P<old>.+?) (?:to|into):? {_NEW}", _heading),
    _form(rf"{_SET} {_THE}(?P<old>{QUOTED}) {_HEADING} {_TO}:? {_NEW}", _heading),
    _form(
        rf"(?:{_SET}|point|direct|send|let) {_THE}(?:(?:target|address|url) of {_THE})?link "
        rf"(?:called |named |to )?(?P<label>{QUOTED}|.+?) "
        rf"(?:(?:go|lead|point|link|goes|leads) )?(?:to|at|into):? {_NEW}",
        _link,
    ),
    _form(
        rf"(?:{_SET}|point|direct|send|let) {_THE}(?P<label>{QUOTED}) link "
        rf"(?:(?:go|lead|point|link) )?(?:to|at|into|with):? {_NEW}",
        _link,
    ),
    _form(rf"link {_THE}(?:words? |text )?(?P<label>{QUOTED}|.+?) (?:to|with):? {_NEW}", _link),
    _form(rf"{_ADD} {_QUOTED_ANCHOR},?:? (?:{_STARTING})?{_TEXT}", _added),
    _form(rf"{_ADD}:? ?(?:{_STARTING})?(?P<text>{QUOTED}|(?!\x02).+?),? {_QUOTED_ANCHOR}", _added),
    _form(rf"{_ADD}:? ?(?:{_STARTING})?(?P<text>{QUOTED}|(?!\x02).+?),? {_ANCHOR}", _added),
    _form(rf"{_QUOTED_ANCHOR},? (?:please )?{_ADD}:? ?(?:{_STARTING})?{_TEXT}", _added),
    _form(
        rf"{_ADD}:? ?(?:at the (?:end|bottom) )?(?:{_STARTING})?"
        rf"(?P<text>{QUOTED}|(?!\x02|(?:after|before|below|under|above)\b).+?)(?: at the (?:end|bottom))?",
        _added_last,
    ),
    _form(rf"(?:remove|delete|drop|take out) {_THE}paragraph:? ?(?:{_STARTING})?(?P<start>.+)", _removed),
    _form(
        rf"(?:replace|change|swap|update|correct|edit|switch) (?:all )?{_THE}"
        rf"(?:words? |text |phrase |sentence |price )?(?P<old>{QUOTED}) (?:with|by|to|into|for) {_NEW}",
        _text,
    ),
    _form(
        rf"(?:replace|swap) (?:{_THE}(?:words?|text|phrase) )?(?P<old>{_BARE_OLD}) (?:with|by) {_NEW}",
        _text,
    ),
)
