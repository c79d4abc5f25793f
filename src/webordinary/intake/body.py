"""Which parts are the text, which are files, and which are mails that were forwarded whole."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webordinary.core.failure import MailProblem
from webordinary.core.mail import Stretch, StretchKind
from webordinary.intake.html import html_to_stretches
from webordinary.intake.limits import HTML_CHARACTERS, TEXT_CHARACTERS, CannotRead
from webordinary.intake.mime_parts import Part
from webordinary.intake.text_decoding import cleaned, decoded, unflowed

ENCRYPTED = "it is encrypted"
ONLY_A_PIECE = "it is only a piece of a mail that was cut up on its way"
TORN = "its parts can't be told apart"
TEXT_TOO_LONG = "its text is too long"

# What only the mail programs themselves need.
_MACHINERY = frozenset(
    {
        "application/pgp-signature",
        "application/pkcs7-signature",
        "application/x-pkcs7-signature",
        "application/pgp-keys",
        "text/x-delivery-status",
        "message/disposition-notification",
        "message/feedback-report",
        "message/external-body",
        "text/rfc822-headers",
        "text/x-amp-html",
        "text/watch-html",
        "text/enriched",
    }
)
_REACTION = "text/vnd.google.email-reaction+json"
_BETWEEN = Stretch(StretchKind.OWN, "")
_LETTER = frozenset({"text/plain", "text/html", "text/markdown"})
_ENCRYPTED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_WORD = re.compile(r"[^\W_]{2,}")
MISSING_WORDS = 5  # of the HTML, that plain text may lack and still be the same letter


@dataclass(slots=True)
class Contents:
    """What was found in a mail."""

    texts: list[Stretch] = field(default_factory=list)  # own, unless it is known to be something else
    files: list[Part] = field(default_factory=list)
    is_reaction: bool = False


def contents(root: Part) -> Contents:
    """Sort a mail's parts."""
    if root.is_torn:
        raise CannotRead(TORN)
    found = Contents()
    _Sorter().visit(root, found, wants_text=True)
    return found


class _Sorter:
    """Goes through the tree of parts; reads each text once, and only so much of it."""

    def __init__(self) -> None:
        self._stretches: dict[int, list[Stretch]] = {}  # by the identity of parts, which live as long as this
        self._text_left, self._html_left = TEXT_CHARACTERS, HTML_CHARACTERS

    def visit(self, part: Part, found: Contents, *, wants_text: bool) -> None:
        """Take a part in. `wants_text` is off in an alternative that was not chosen."""
        if part.kind in _ENCRYPTED and not found.texts:
            raise CannotRead(ENCRYPTED, MailProblem.ENCRYPTED)
        if part.kind == "message/partial":
            raise CannotRead(ONLY_A_PIECE)
        if part.kind == _REACTION and part.disposition != "attachment":
            found.is_reaction = True
            return
        if part.kind in _MACHINERY:
            return
        if part.parts:
            self._container(part, found, wants_text=wants_text)
        elif not is_body(part):
            found.files.append(part)
        elif wants_text and self._text(part).strip():
            found.texts += [*self._stretches[id(part)], _BETWEEN]

    def _container(self, part: Part, found: Contents, *, wants_text: bool) -> None:
        if part.kind == "multipart/alternative":
            chosen = self._chosen(part.parts)
            for child in part.parts:
                self.visit(child, found, wants_text=wants_text and child is chosen)
        elif part.kind == "multipart/related":
            self.visit(part.parts[0], found, wants_text=wants_text)
            found.files += [leaf for child in part.parts[1:] for leaf in _leaves(child)]
        elif part.kind.startswith("message/"):
            self._forwarded(part, found, wants_text=wants_text)
        else:
            for child in part.parts:
                self.visit(child, found, wants_text=wants_text)

    def _forwarded(self, part: Part, found: Contents, *, wants_text: bool) -> None:
        """A mail inside the mail: its text is quoted material, its files are files like any other."""
        inside = Contents()
        for child in part.parts:
            self.visit(child, inside, wants_text=wants_text)
        found.files += inside.files
        heading = "\n".join(f"{name}: {text}" for name, text in part.parts[0].heading)
        whole = "\n\n".join(text for text in (heading, *(one.text for one in inside.texts)) if text.strip())
        if whole:
            found.texts += [Stretch(StretchKind.FORWARDED, whole), _BETWEEN]

    def _chosen(self, alternatives: tuple[Part, ...]) -> Part | None:
        """Plain text, unless it says less than the HTML: a stub, or without what was struck out."""
        plain = html = None
        for part in alternatives:
            is_html = _first_kind(part) == "text/html"
            try:
                says_something = bool(self._all_text(part).strip())
            except CannotRead:
                if plain is None:
                    raise
                continue
            if says_something and is_html:
                html = part
            elif says_something and plain is None:
                plain = part
        if plain is None or html is None:
            return plain or html
        return html if _says_more(self._all_text(html), self._all_text(plain)) else plain

    def _all_text(self, part: Part) -> str:
        if part.parts:
            return "\n".join(self._all_text(child) for child in part.parts)
        return self._text(part) if is_body(part) else ""

    def _text(self, part: Part) -> str:
        """The visible text of a part."""
        if id(part) not in self._stretches:
            read = self._html if part.kind == "text/html" else self._plain
            self._stretches[id(part)] = read(part)
        return "\n".join(stretch.text for stretch in self._stretches[id(part)])

    def _html(self, part: Part) -> list[Stretch]:
        text = decoded(part.content, part.charset)
        self._html_left -= len(text)
        if self._html_left < 0:
            raise CannotRead(TEXT_TOO_LONG, MailProblem.TOO_LONG)
        return [Stretch(stretch.kind, cleaned(stretch.text)) for stretch in html_to_stretches(text)]

    def _plain(self, part: Part) -> list[Stretch]:
        text = decoded(part.content, part.charset)
        self._text_left -= len(text)
        if self._text_left < 0:
            raise CannotRead(TEXT_TOO_LONG, MailProblem.TOO_LONG)
        text = cleaned(text)
        if part.is_flowed:
            text = unflowed(text, joins_words=part.joins_words)
        return [Stretch(StretchKind.OWN, text)]


def is_body(part: Part) -> bool:
    """Text without a name of its own is part of the letter."""
    return part.kind in _LETTER and part.disposition != "attachment" and not part.file_name


def _says_more(html: str, plain: str) -> bool:
    if "~~" in html and "~~" not in plain:
        return True
    words, others = set(_WORD.findall(html.lower())), set(_WORD.findall(plain.lower()))
    lacks_words = len(words - others) > min(MISSING_WORDS, len(words) // 2)
    return lacks_words and 2 * len(words) >= len(others)  # else it is the HTML that is a stub


def _leaves(part: Part) -> list[Part]:
    return [leaf for child in part.parts for leaf in _leaves(child)] if part.parts else [part]


def _first_kind(part: Part) -> str:
    return _first_kind(part.parts[0]) if part.parts else part.kind
