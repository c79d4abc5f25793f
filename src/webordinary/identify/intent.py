"""What a mail wants, read without a model. Everything that is not one of a few words is an instruction."""

from __future__ import annotations

import re
from enum import StrEnum

from webordinary.core.job import Arrival


class Wish(StrEnum):
    """What a mail wants."""

    EDIT = "edit"
    UNDO = "undo"
    REDO = "redo"
    PUBLISH = "publish"
    STOP = "stop"
    STATUS = "status"
    HELP = "help"


_COURTESY = re.compile(r"\b(please|thanks|thank you|now|that|it|this|the site|hi|hello)\b")
_NOT_A_WORD = re.compile(r"[^a-z]+")
_WORDS = {
    "undo": Wish.UNDO,
    "revert": Wish.UNDO,
    "redo": Wish.REDO,
    "publish": Wish.PUBLISH,
    "go live": Wish.PUBLISH,
    "stop": Wish.STOP,
    "cancel": Wish.STOP,
    "status": Wish.STATUS,
    "help": Wish.HELP,
}
_YES = ("yes", "y", "ok", "okay", "confirm", "confirmed", "ja", "oui", "si")
SHORT_CHARACTERS = 60
_POLICY = re.compile(r"\[(interrupt|queue|replace-pending)\]", re.IGNORECASE)


def read_wish(instruction: str) -> Wish:
    """Tell the few commands from an instruction: the whole mail is the command, give or take a courtesy."""
    if len(instruction) > SHORT_CHARACTERS:
        return Wish.EDIT
    bare = _NOT_A_WORD.sub(" ", _COURTESY.sub(" ", instruction.lower())).strip()
    return _WORDS.get(bare, Wish.EDIT)


def says_yes(text: str) -> bool:
    """Read a confirmation. Only a clear yes is one: "that was not me" is an answer too."""
    first = _NOT_A_WORD.sub(" ", text.lower()).split()[:1]
    return len(text) <= SHORT_CHARACTERS and first in ([word] for word in _YES)


def read_arrival(subject: str, default: Arrival) -> Arrival:
    """Let one mail choose its own arrival policy, by `[queue]` and the like in its subject."""
    named = _POLICY.search(subject)
    return Arrival(named.group(1).lower()) if named else default
