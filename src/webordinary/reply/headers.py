"""Header lines as they go over the wire. Whatever comes in, one header stays one header.

The standard library's own folding turns a long Message-ID into an encoded word, which breaks threads, and
raises for some addresses; what is needed here is small enough to be exact.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence

from webordinary.core.text import one_line

LINE_CHARACTERS = 76
WORD_BYTES = 39  # of UTF-8 in one encoded word: 64 characters with its frame; "Subject: " fits beside it
SUBJECT_CHARACTERS = 500
ID_CHARACTERS = 500  # an id can't be folded, and a line may have 998
REFERENCES_MAX = 20  # the first, which names the thread, and the latest
ADDRESS_CHARACTERS = 254

# How mail programs of the world say "Re:", with a count or without.
_ANSWER = re.compile(
    r"\s*(?:re|aw|sv|antw|vs|odp|ynt|res|rif|r|回复|回覆|答复|返信)\s*(?:\[\d+\]|\(\d+\))?\s*[:\uff1a]\s*",
    re.IGNORECASE,
)
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*", re.ASCII)
_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*",
    re.ASCII,
)
_ID = re.compile(r"[\x21-\x3b\x3d\x3f-\x7e]+", re.ASCII)  # visible, and no angle bracket


def header(name: str, value: str) -> str:
    """Write a header of free text; what is not plain ASCII becomes encoded words."""
    return _folded(name, _plain_words(value) or _encoded_words(value))


def id_header(name: str, ids: Sequence[str]) -> str:
    """Write a header of Message-IDs, each left exactly as it is."""
    return _folded(name, ids)


def mailbox_header(name: str, display: str, address: str) -> str:
    """Write a header of one mailbox. The address must be one that `sendable` gave."""
    if not display:
        return _folded(name, [address])
    plain = _plain_words(display) if _ATOMS.fullmatch(display) else []
    return _folded(name, [*(plain or _encoded_words(display)), f"<{address}>"])


def answered_subject(subject: str) -> str:
    """The same subject with one "Re:": mail programs hold a thread together by it."""
    bare = one_line(subject, SUBJECT_CHARACTERS)
    while (answer := _ANSWER.match(bare)) is not None:
        bare = bare[answer.end() :]
    return f"Re: {bare}".rstrip()


def message_ids(ids: Iterable[str]) -> list[str]:
    """Keep what can stand in a header as an id, each once and in angle brackets."""
    bare = [text.strip().removeprefix("<").removesuffix(">") for text in ids]
    fit = [f"<{text}>" for text in bare if len(text) <= ID_CHARACTERS and _ID.fullmatch(text)]
    return list(dict.fromkeys(fit))


def references(earlier: Iterable[str], answered: Sequence[str]) -> list[str]:
    """The thread so far, with the answered mail last; of a long one its beginning and its end."""
    thread = [text for text in message_ids(earlier) if text not in answered] + list(answered)
    return thread if len(thread) <= REFERENCES_MAX else thread[:1] + thread[1 - REFERENCES_MAX :]


def sendable(address: str) -> str:
    """Give an address as the wire needs it, or "" if no mail could be sent there."""
    local, at, domain = address.strip().rpartition("@")
    try:
        plain = f"{local}{at}{domain.encode('idna').decode()}"
    except UnicodeError:
        return ""
    return plain if len(plain) <= ADDRESS_CHARACTERS and _ADDRESS.fullmatch(plain) else ""


def _plain_words(text: str) -> list[str]:
    """The words of a text that needs no encoding; none if it does."""
    words = text.split()
    is_plain = text.isascii() and "=?" not in text and all(len(word) < LINE_CHARACTERS for word in words)
    return words if is_plain and text.isprintable() else []


def _encoded_words(text: str) -> list[str]:
    """Cut a text between characters into encoded words; programs join them again without a gap."""
    pieces, piece = [], b""
    for character in text.encode(errors="replace").decode():
        encoded = character.encode()
        if len(piece) + len(encoded) > WORD_BYTES:
            pieces.append(piece)
            piece = b""
        piece += encoded
    pieces.append(piece)
    return [f"=?utf-8?b?{base64.b64encode(piece).decode()}?=" for piece in pieces if piece]


def _folded(name: str, words: Sequence[str]) -> str:
    """Join words by spaces, and break the line at one of them where it grows too long."""
    lines, line = [], f"{name}:"
    for word in words:
        if len(line) + 1 + len(word) > LINE_CHARACTERS and line.strip() and line != f"{name}:":
            lines.append(line)
            line = ""
        line = f"{line} {word}"
    return "\r\n".join([*lines, line])
