"""What a mail wants, read without a model. What is not clearly one of a few wishes is an instruction.

Every word of the mail must be known (`vocabulary`): a command with a word beside it that tells something more
is an instruction, and one that is negated, conditional or asked about is a question of ours. Thanks and
praise are recognised the same way, so that no wish is taken for politeness.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.mail import ParsedMail, StretchKind
from webordinary.identify import vocabulary as words


class Wish(StrEnum):
    """What a mail wants."""

    EDIT = "edit"
    UNDO = "undo"
    REDO = "redo"
    PUBLISH = "publish"
    STOP = "stop"
    STATUS = "status"
    HELP = "help"
    COURTESY = "courtesy"  # thanks, praise: nothing
    UNCLEAR = "unclear"  # a command's word is there, and its meaning is not clear


CHARACTERS_MAX = 300
WORDS_MAX = 40
NAME_WORDS_MAX = 3
GREETED_WORDS_MAX = 2
TELLING_WORDS = 4
YOU = frozenset({"you", "du", "sie", "tu", "vous", "and", "und", "et", "y", "e", "en"})

_COMMANDS = {
    Wish.PUBLISH: words.PUBLISH,
    Wish.UNDO: words.UNDO,
    Wish.REDO: words.REDO,
    Wish.STOP: words.STOP,
    Wish.STATUS: words.STATUS,
    Wish.HELP: words.HELP,
}
_PATTERNS = {wish: re.compile(rf"\b(?:{'|'.join(forms)})\b") for wish, forms in _COMMANDS.items()}
_TURNING = frozenset({Wish.UNDO, Wish.REDO})
_MAY_FOLLOW_PRAISE = _TURNING | {Wish.PUBLISH}
_POLITE = words.THANKS | words.PRAISE | words.GREETINGS | words.SMALL
_AGREEING = words.YES | words.APPROVAL
_CLAUSE = re.compile(r"([^.,;:!?…\n]*)([.,;:!?…\n\s]*)")
_APOSTROPHES = re.compile("['`\N{ACUTE ACCENT}\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}]")
_QUOTED = re.compile(r"""["“”„«»]\s*([^"“”„«»]*\w[^"“”„«»]*)""")
# Unions are made once: they are looked into for every word of every mail.
_ASKING = words.ASKING | _AGREEING
_DOUBTING = _ASKING | words.DOUBT
_MENTIONING = _DOUBTING | words.MENTIONS
_NEGATIVE = words.NEGATIVE | words.THANKS | words.GREETINGS | words.REQUEST
_AROUND = words.AROUND | words.REQUEST
_NOT_A_WORD = re.compile(r"[^\w]+|_+")
_YES_WITH_ACCENT = re.compile(r"\bs[íì]\b|^\W*si(?=\s*(?:[,.;:!\n]|$))", re.IGNORECASE)
_SAID_IN_FRENCH = re.compile(r"\bpubliée?s?\b", re.IGNORECASE)  # done; "publie" is the command
_IN_PUBLIC = re.compile(r"\bpúblic[ao]s?\b", re.IGNORECASE)  # a word about pages; "publica" is the command
_SMILE = re.compile(r"(?<!\w)[:;]-?[)D]+(?!\w)")
_SAD = re.compile(r"[👎😡😠😞😟🙁☹😢😭❌⛔🛑✋🤔❓❔]|:-?\(")
_APPROVED = re.compile(r"[✅✔☑]")
_MINE = re.compile(words.MINE)
_WONDERS = re.compile(words.WONDERS)
_ASKS_US = re.compile(words.ASKS_US)
_KIND = re.compile(rf"\b(?:{'|'.join(words.KIND_PHRASES)})\b")
_GO_AHEAD = re.compile(rf"\b(?:{'|'.join(words.GO_AHEAD)})\b")
_THANKS_TO = re.compile(r"\bthanks? to (?!you\b)")
_THAT_WAS_ME = re.compile(rf"\b(?:{'|'.join(words.THAT_WAS_ME)})\b")
_REACTION = re.compile(r"\breacted (?:via gmail|to (?:your|this|the) (?:message|e-?mail))\b", re.IGNORECASE)
_POLICY = re.compile(r"\[(" + "|".join(Arrival) + r")\]", re.IGNORECASE)
_IN_REPLY = re.compile(r"\s*(?:re|aw|antw|sv|vs|fwd?|wg|tr|rv|rif|enc)\s*(?:\[\d+\])?\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A stretch between two marks: as written, and as its folded words."""

    written: str
    mark: str  # what follows it, such as "!" or ",\n"
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def wish_of(mail: ParsedMail, lane: Lane | None = None, *, is_new: bool = True) -> Wish:
    """What a mail wants. Thanks with a photo or a forwarded mail are more than thanks.

    "Please publish this" with one means the photo. In a conversation, where it may also be the logo of a
    signature, we ask; the one word that our letters offer stays a command.
    """
    if mail.is_reaction or is_reaction(mail.own_words):
        return Wish.COURTESY
    names = [*mail.from_address.partition("@")[0].replace("_", ".").split("."), lane.user if lane else ""]
    wish = read_wish(mail.own_words, mail.subject, names)
    is_new = is_new and not _IN_REPLY.match(mail.subject)
    kinds = {StretchKind.FORWARDED, StretchKind.QUOTED} if is_new else {StretchKind.FORWARDED}
    brings = mail.files or mail.skipped or any(one.kind in kinds for one in mail.stretches)
    if wish is Wish.PUBLISH and is_new and _tells(mail.subject) and not brings:
        return Wish.UNCLEAR
    if not brings or wish not in {Wish.COURTESY, Wish.PUBLISH}:
        return wish
    if wish is Wish.COURTESY or is_new:
        return Wish.EDIT
    return wish if len(said(mail.own_words, mail.subject).split()) == 1 else Wish.UNCLEAR


def _tells(subject: str) -> bool:
    """Whether a subject may be the text to put on the site: "Closed on Monday 4 May", and below "publish"."""
    is_long = len(subject.split()) >= TELLING_WORDS or any(map(str.isdigit, subject))
    return is_long and read_wish(subject) is Wish.EDIT


def read_wish(own_words: str, subject: str = "", names: Collection[str] = ()) -> Wish:
    """Tell the few wishes from an instruction.

    `names` are words by which the sender signs: of their address and their name.
    """
    text = said(own_words, subject)
    if len(text) > CHARACTERS_MAX:
        return Wish.EDIT
    clauses = _unsigned(_clauses(text), {folded(name) for name in names})
    if not clauses or sum(len(clause.words) for clause in clauses) > WORDS_MAX:
        return Wish.EDIT
    return _command(clauses) or _without_command(clauses)


def is_reaction(own_words: str) -> bool:
    """Whether a mail program wrote it for somebody who only clicked on an emoji."""
    return len(own_words) <= CHARACTERS_MAX and bool(_REACTION.search(own_words))


def said(own_words: str, subject: str) -> str:
    """The words of a mail: an empty one says it in its subject, unless that is of the mail it replies to."""
    return own_words.strip() or ("" if _IN_REPLY.match(subject) else _POLICY.sub("", subject).strip())


def says_yes(text: str) -> bool:
    """Read a confirmation. Only a clear yes is one: "that was not me" is an answer too."""
    if len(text) > CHARACTERS_MAX or "?" in text:
        return False
    found = [word for clause in _clauses(text) for word in clause.words if word not in words.GREETINGS]
    if any(word in words.REFUSALS for word in found):
        return False
    return bool(found) and (found[0] in words.YES | {"si"} or bool(_THAT_WAS_ME.search(" ".join(found))))


def read_arrival(subject: str) -> Arrival | None:
    """Let one mail choose its own arrival policy, by `[queue]` and the like in its subject."""
    named = _POLICY.search(subject)
    return Arrival(named.group(1).lower()) if named else None


def folded(text: str) -> str:
    """Words as the vocabulary has them: lower case, no accents, no apostrophes, one space between two."""
    plain = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", text).casefold())
    letters = "".join(
        " emoji " if unicodedata.category(one) == "So" else one
        for one in plain
        if not unicodedata.combining(one)
    )
    return _NOT_A_WORD.sub(" ", letters).strip()


def _clauses(text: str) -> list[_Clause]:
    """Cut at marks. "Sí" and "Si," are a yes; a bare "si" is an if."""
    composed = unicodedata.normalize("NFC", text)
    composed = _IN_PUBLIC.sub(" public ", _SAID_IN_FRENCH.sub(" published ", composed))
    composed = _SMILE.sub(" \N{SLIGHTLY SMILING FACE} ", composed)
    marked = _SAD.sub(" no ", _APPROVED.sub(" approved ", _YES_WITH_ACCENT.sub(" yes ", composed)))
    found = (
        _Clause(written.strip(), mark, tuple(word for word, _ in groupby(folded(written).split())))
        for written, mark in _CLAUSE.findall(marked)
    )
    return [clause for clause in found if clause.words or clause.mark.strip()]


def _unsigned(clauses: list[_Clause], names: Collection[str]) -> list[_Clause]:
    """Leave out "Hi Bob," before what is said and "Mary Smith" below it."""
    if len(clauses) > 1 and _is_salutation(clauses[0]):
        clauses = clauses[1:]
    if len(clauses) > 1 and _is_name(clauses[-1], clauses[-2].mark, names):
        clauses = clauses[:-1]
    return clauses


def _is_salutation(first: _Clause) -> bool:
    """Whether somebody is greeted by name. "Dear customers" begins a text for the site."""
    named = [word for word in first.written.split() if not set(folded(word).split()) <= words.GREETINGS]
    greets = first.words[:1] and first.words[0] in words.GREETINGS
    return bool(greets) and len(named) <= GREETED_WORDS_MAX and all(word[0].isupper() for word in named)


def _is_name(last: _Clause, before: str, names: Collection[str]) -> bool:
    written = last.written.split()
    if not 0 < len(written) <= NAME_WORDS_MAX or not all(word[0].isupper() for word in written):
        return False
    if any(word in _POLITE or word in _AGREEING for word in last.words) or _found(last):
        return False
    known = any(name == word or name[:1] == word for name in names for word in last.words if name)
    return known or ("," in before and "\n" in before)


# --- commands ---------------------------------------------------------------------------------------


def _found(clause: _Clause) -> list[tuple[Wish, re.Match[str]]]:
    return [(wish, match) for wish, pattern in _PATTERNS.items() for match in pattern.finditer(clause.text)]


def _command(clauses: Sequence[_Clause]) -> Wish | None:
    """The command that these clauses are; UNCLEAR if they cast doubt on it; None if they say more."""
    wishes: set[Wish] = set()
    doubts = stops = False
    for clause in clauses:
        wish, clear = _command_in(clause)
        if wish is not None:
            wishes.add(wish)
            stops |= clear and wish is Wish.STOP
        elif not _is_known(clause.words, _DOUBTING):
            return None
        else:
            doubts |= not _is_known(clause.words, _ASKING)
        doubts |= not clear
    if not wishes:
        return None
    if stops:  # the one that is urgent, and harmless
        return Wish.UNDO if Wish.UNDO in wishes else Wish.STOP
    return wishes.pop() if len(wishes) == 1 and not doubts else Wish.UNCLEAR


def _command_in(clause: _Clause) -> tuple[Wish | None, bool]:
    """The command of a clause, and whether that is clear. All the other words of it must be known."""
    unclear: Wish | None = None
    quoted = _QUOTED.search(clause.written)
    if quoted and not any(pattern.fullmatch(folded(quoted[1])) for pattern in _PATTERNS.values()):
        return None, True  # "publish 'Thank you'" says what
    for wish, match in _found(clause):
        before, after = clause.text[: match.start()].split(), clause.text[match.end() :].split()
        if _may_precede(wish, before) and _may_follow(wish, after):
            announces = ":" in clause.mark  # "publish this:", and what follows is the content
            if not (_is_question(wish, clause) or announces or _MINE.search(clause.text)):
                return wish, True
            unclear = unclear or wish
        elif wish not in (Wish.STATUS, Wish.HELP) and _is_doubted(wish, before, after):
            unclear = unclear or wish
    return unclear, unclear is None


def _may_precede(wish: Wish, before: Sequence[str]) -> bool:
    if wish in _MAY_FOLLOW_PRAISE:
        return _is_known(before, _ASKING | (words.LAST if wish in _TURNING else frozenset()))
    return all(word in _AROUND | words.GREETINGS | _AGREEING | YOU for word in before)


def _may_follow(wish: Wish, after: Sequence[str]) -> bool:
    """What a command is about, and then perhaps thanks. "Publish that we are happy" is none."""
    if wish in _TURNING:
        about = (words.ASKING - words.WHOLE) | words.LAST | words.PRAISE | _AGREEING
        if wish is Wish.REDO:  # "redo the site" means work
            about -= words.SITE
    elif wish is Wish.PUBLISH:
        about = words.ASKING | words.PRAISE | _AGREEING
    else:
        about = _AROUND
    for place, word in enumerate(after):
        if word in words.THANKS:
            return _is_known(after[place:])
        if word not in about:
            return False
    return True


def _is_doubted(wish: Wish, before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the words beside a command only cast doubt on it, or are another one."""
    if wish is Wish.STOP:
        return all(word in _AROUND | words.DOUBT for word in [*before, *after])
    doubtful = _DOUBTING | (words.LAST if wish in _TURNING else frozenset())
    if wish is Wish.REDO:
        doubtful -= words.SITE
    counted = wish is Wish.PUBLISH  # "undo change 3" is an instruction, "publish at 5" is ours to ask about
    return all(word in doubtful or word in _POLITE for word in _without_commands(before)) and all(
        word in doubtful or word in words.PRAISE or (counted and word[0].isdigit())
        for word in _without_commands(after)
    )


def _without_commands(found: Sequence[str]) -> list[str]:
    text = " ".join(found)
    for wish in _MAY_FOLLOW_PRAISE:
        text = _PATTERNS[wish].sub("", text)
    return text.split()


def _is_question(wish: Wish, clause: _Clause) -> bool:
    """Whether somebody wants to know. "Can you publish it?" is a request, "can it go live?" is not."""
    if wish in (Wish.STATUS, Wish.HELP) or _ASKS_US.search(clause.text):
        return False
    return "?" in clause.mark or _WONDERS.search(clause.text) is not None


# --- politeness -------------------------------------------------------------------------------------


def _without_command(clauses: Sequence[_Clause]) -> Wish:
    every = [word for clause in clauses for word in clause.words]
    asks = any("?" in clause.mark for clause in clauses)
    if not asks and all(_is_known(clause.words) for clause in clauses):
        if any(word in words.THANKS or word in words.PRAISE for word in every) or _KIND.search(
            " ".join(every)
        ):
            return Wish.COURTESY
        if any(word in words.GREETINGS for word in every):
            return Wish.HELP
    agrees = any(word in _AGREEING for word in every) or any(_GO_AHEAD.search(one.text) for one in clauses)
    if agrees and all(_is_known(clause.words, _ASKING) for clause in clauses):
        polite = any(word in words.THANKS or word in words.PRAISE for word in every)
        approves = any(word in words.APPROVAL for word in every)
        return (
            Wish.COURTESY if polite and not approves and not asks and _says_no_more(clauses) else Wish.UNCLEAR
        )
    if all(word in _NEGATIVE for word in every):
        return Wish.UNCLEAR
    mentions = any(word in words.MENTIONS for word in every)
    doubtful = _MENTIONING
    if mentions and all(_is_known(clause.words, doubtful) for clause in clauses):
        return Wish.UNCLEAR
    return Wish.EDIT


def _says_no_more(clauses: Sequence[_Clause]) -> bool:
    """Whether there is a yes and politeness, and nothing that goes ahead with anything."""
    return all(_is_known(clause.words, words.YES) for clause in clauses) and not any(
        _GO_AHEAD.search(clause.text) for clause in clauses
    )


def _is_known(found: Sequence[str], besides: Collection[str] = ()) -> bool:
    """Whether every word is polite, or one of those besides; "the photo is lovely" may name its subject."""
    text = " ".join(found)
    if _THANKS_TO.search(f"{text} "):
        return False
    rest = list(_KIND.sub("", _GO_AHEAD.sub("", text) if besides else text).split())
    praises = any(word in words.PRAISE for word in rest) and any(word in words.LINKING for word in rest)
    thanks = any(word in words.THANKS for word in rest) and any(word in words.FOR for word in rest)
    subjects: Collection[str] = words.SUBJECTS if praises or thanks else ()
    return all(word in _POLITE or word in besides or word in subjects for word in rest)
