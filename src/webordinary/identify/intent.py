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


_COURTESY = re.compile(
    r"\b(please|thanks|thank you|(?:can|could|would) you|now|again|that|it|this|the site|hi|hello)\b"
)
_NOT_A_WORD = re.compile(r"[^a-z]+")
# One change as a whole. "undo the bold in the heading" names a part of one: that is an instruction.
_LAST = r"(?:(?:the|my|your) )?(?:(?:very )?(?:last|latest|previous|most recent) )?(?:change|edit|update|one)"
_ALL = r"(?:everything|(?:all )?(?:(?:the|my|your) )?(?:website|changes?|preview))"
_COMMANDS = {
    Wish.UNDO: rf"(?:undo|revert|take back|roll back)(?: {_LAST})?|take {_LAST} back",
    Wish.REDO: rf"(?:redo|bring back)(?: {_LAST})?|bring {_LAST} back",
    Wish.PUBLISH: rf"publish(?: {_ALL})?|go live|make live",
    Wish.STOP: "stop|cancel",
    Wish.STATUS: "status",
    Wish.HELP: "help",
}
_YES = ("yes", "y", "ok", "okay", "confirm", "confirmed", "ja", "oui", "si")
SHORT_CHARACTERS = 60
_POLICY = re.compile(r"\[(" + "|".join(Arrival) + r")\]", re.IGNORECASE)


def read_wish(instruction: str) -> Wish:
    """Tell the few commands from an instruction: the whole mail is the command, give or take a courtesy."""
    if len(instruction) > SHORT_CHARACTERS:
        return Wish.EDIT
    if any((letter.isalnum() and not letter.isascii()) or letter.isdigit() for letter in instruction):
        return Wish.EDIT  # "undo change 3" is not about the last one
    bare = _NOT_A_WORD.sub(" ", _COURTESY.sub(" ", instruction.lower())).strip()
    return next((wish for wish, words in _COMMANDS.items() if re.fullmatch(words, bare)), Wish.EDIT)


def says_yes(text: str) -> bool:
    """Read a confirmation. Only a clear yes is one: "that was not me" is an answer too."""
    first = _NOT_A_WORD.sub(" ", text.lower()).split()[:1]
    return len(text) <= SHORT_CHARACTERS and first in ([word] for word in _YES)


def read_arrival(subject: str, default: Arrival) -> Arrival:
    """Let one mail choose its own arrival policy, by `[queue]` and the like in its subject."""
    named = _POLICY.search(subject)
    return Arrival(named.group(1).lower()) if named else default
