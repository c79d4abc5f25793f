"""Text whose lines were wrapped by the sender's program (RFC 3676), with its paragraphs whole again."""

from __future__ import annotations

SIGNATURE = "-- "


def unflowed(text: str, *, joins_words: bool) -> str:
    """Join lines that end in a space with the next, where both are quoted equally deep."""
    paragraphs: list[list[str]] = []
    open_depth = -1  # quote depth of the line that goes on; -1 if none does
    for raw in text.split("\n"):
        depth = len(raw) - len(raw.lstrip(">"))
        line = raw[depth:].removeprefix(" ")  # one space is stuffing
        goes_on = line.endswith(" ") and line != SIGNATURE
        if depth != open_depth or line == SIGNATURE:
            paragraphs.append(["> " * depth])
        paragraphs[-1].append(line[:-1] if goes_on and joins_words else line)
        open_depth = depth if goes_on else -1
    return "\n".join("".join(pieces) for pieces in paragraphs)
