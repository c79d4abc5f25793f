"""What child processes write and how they end, kept within bounds and in words."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from webordinary.core.text import storable

TAIL_BYTES = 16_384
LINE_BYTES = 8_192  # a longer line is passed on in pieces
WORDS_LINES, WORDS_CHARACTERS = 12, 2_000


class OutputHead:
    """See `Output`: keeps the beginning. `cut` is set when there was more."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self.data, self.cut = bytearray(), asyncio.Event()

    def feed_data(self, data: bytes) -> None:
        room = self._limit - len(self.data)
        self.data += data[:room]
        if len(data) > room:
            self.cut.set()

    def feed_eof(self) -> None:
        """Nothing more comes."""


class OutputTail:
    """See `Output`: counts, passes lines on, keeps the end. Calls `too_much` when it is over the limit."""

    def __init__(
        self, limit_bytes: float = float("inf"), on_line: Callable[[str], None] | None = None
    ) -> None:
        self._limit, self._on_line = limit_bytes, on_line
        self._line, self._tail = bytearray(), bytearray()
        self.total_bytes = 0
        self.too_much: Callable[[], None] = lambda: None

    @property
    def text(self) -> str:
        """The end of it, in whole lines where there are any."""
        text = readable(bytes(self._tail[-TAIL_BYTES:]))
        if self.total_bytes > TAIL_BYTES:
            text = text.partition("\n")[2] or text
        return text.strip()

    def feed_data(self, data: bytes) -> None:
        if self.total_bytes <= self._limit:  # what comes later was in the pipe when it was killed
            self.total_bytes += len(data)
            self._tail += data
            del self._tail[: -2 * TAIL_BYTES]
            if self._on_line is not None:
                self._pass_on(data, self._on_line)
        if self.total_bytes > self._limit:
            self.too_much()

    def _pass_on(self, data: bytes, on_line: Callable[[str], None]) -> None:
        self._line += data
        while len(self._line) > LINE_BYTES or b"\n" in self._line:
            line, newline, _ = bytes(self._line[:LINE_BYTES]).partition(b"\n")
            del self._line[: len(line) + len(newline)]
            on_line(readable(line))

    def feed_eof(self) -> None:
        if self._on_line is not None and self._line:
            self._on_line(readable(bytes(self._line)))
            self._line.clear()


def readable(data: bytes) -> str:
    """Text without anything that a terminal would obey."""
    text = data.decode(errors="replace")
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def last_words(output: str) -> str:
    """The end of what a program wrote: whole lines, as many as a person reads."""
    lines = [line for line in storable(output).splitlines() if line.strip()][-WORDS_LINES:]
    while len(lines) > 1 and sum(map(len, lines)) > WORDS_CHARACTERS:
        lines.pop(0)
    return "\n".join(lines)[-WORDS_CHARACTERS:]


def exit_words(code: int) -> str:
    """Say what an exit code means."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
