"""Letters and callbacks as items of the outbox."""

from __future__ import annotations

import hashlib

from webordinary.backends.aws.rows import kept_facts
from webordinary.backends.aws.values import Item, lengthened
from webordinary.backends.facts_json import letter_facts_from_json
from webordinary.core.mail import Letter, LetterKind, MailId, SessionId
from webordinary.ports.outbox import LetterState

LETTER, CALLBACK = "letter", "callback"  # what can be owed
KEY_BYTES = 1024


def letter_key(about: str, kind: str) -> dict[str, str]:
    """The key of a letter, whatever it is about."""
    raw = about.encode()
    fits = 0 < len(raw) <= KEY_BYTES
    return {"about": about if fits else f"sha256 {hashlib.sha256(raw).hexdigest()}", "kind": kind}


def letter_item(letter: Letter, order: str, due_at: float) -> Item:
    """Write a letter that is owed from now on and may be sent from then on."""
    key = letter_key(letter.about, letter.kind.value)
    return {
        **key,
        "aboutText": letter.about if key["about"] != letter.about else None,
        "all": LETTER,
        "order": order,
        "mail": letter.mail,
        "session": letter.session,
        "facts": kept_facts(letter.facts),
        "state": LetterState.OWED.value,
        "owedAt": letter.owed_at,
        "owed": LETTER,
        "due": due(due_at, order),
        "dueAt": due_at,
        "attempts": 0,
    }


def letter_of(item: Item) -> Letter:
    """Read a letter."""
    return Letter(
        about=str(item.get("aboutText", item["about"])),
        kind=LetterKind(item["kind"]),
        mail=MailId(item["mail"]) if "mail" in item else None,
        facts=letter_facts_from_json(LetterKind(item["kind"]), lengthened(item["facts"])),
        owed_at=float(item["owedAt"]),
        attempts=item["attempts"],
        session=SessionId(item["session"]) if "session" in item else None,
    )


def due(moment: float, order: str) -> str:
    """Write a moment so that earlier ones sort first; of the same moment, those that were owed first."""
    return f"{due_before(moment)} {order}"


def due_before(moment: float) -> str:
    """Write a moment so that earlier ones sort first."""
    return f"{moment:017.6f}"


def due_of(text: str) -> float:
    """Read the moment that `due` wrote."""
    return float(text.split(maxsplit=1)[0])
