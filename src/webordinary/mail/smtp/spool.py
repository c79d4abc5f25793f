"""Mails on their way in: small ones in memory, large ones in a nameless file, and a bound on all together."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self

IN_MEMORY_BYTES = 64 * 1024  # of each mail; the rest is on the disk until somebody reads it
SPOOL_BYTES = 512 * 1024 * 1024  # what all strangers together may have on the disk ...
SPOOL_BYTES_EACH = 128 * 1024 * 1024  # ... and each of them
READ_BYTES = 32 * 1024 * 1024  # of mails that are being received, in memory; one alone may be larger
SMALLEST_BYTES = 2 * 1024 * 1024  # what even a small mail counts for: so many are received at once, no more
TOO_LARGE = "552 5.3.4 The mail is larger than this server takes"
NO_ROOM = "452 4.3.1 There is no room for so large a mail now, try again later"


class SpoolRoom:
    """How much of the spool is taken, in all and by whom. Nobody in particular is bound by the whole only."""

    def __init__(self, folder: Path | None = None) -> None:
        """Spool into this folder; None is where this machine has temporary files."""
        self.folder = folder
        self._taken: Counter[str] = Counter()

    @property
    def taken_bytes(self) -> int:
        """What is on the disk now."""
        return self._taken.total()

    def has(self, who: str, size: int) -> bool:
        """Say whether a mail of this size could come in now."""
        return size <= IN_MEMORY_BYTES or self._fits(who, size)

    def take(self, who: str, size: int) -> bool:
        """Note that so much more comes onto the disk, if there is room for it."""
        if not self._fits(who, size):
            return False
        self._taken[who] += size
        return True

    def give_back(self, who: str, size: int) -> None:
        """Note that so much is gone from it."""
        self._taken[who] -= size
        if not self._taken[who]:
            del self._taken[who]

    def _fits(self, who: str, size: int) -> bool:
        fits_its_own = not who or self._taken[who] + size <= SPOOL_BYTES_EACH
        return fits_its_own and self.taken_bytes + size <= SPOOL_BYTES


class Spool:
    """One mail while it comes in. What does not fit is swallowed, and the refusal says why."""

    def __init__(self, room: SpoolRoom, who: str, most_bytes: int) -> None:
        """Keep up to so many bytes."""
        self._room, self._who, self._most_bytes = room, who, most_bytes
        self._pieces: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._on_disk = 0
        self.size = 0
        self.refusal = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    def write(self, piece: bytes) -> None:
        """Add a piece, as it came over the line."""
        if self.refusal:
            return
        self.size += len(piece)
        self._pieces.append(piece)
        if self.size > self._most_bytes:
            self._refuse(TOO_LARGE)
        elif self.size > IN_MEMORY_BYTES:
            self._move_to_disk()

    def _move_to_disk(self) -> None:
        added = self.size - self._on_disk
        if not self._room.take(self._who, added):
            self._refuse(NO_ROOM)
            return
        self._on_disk += added
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._room.folder)  # noqa: SIM115
            self._file.writelines(self._pieces)
            self._pieces.clear()
        except OSError:  # the disk is full
            self._refuse(NO_ROOM)

    def content(self) -> bytes:
        """Give what was written, once: then it is in memory only."""
        if self._file is not None:
            self._file.seek(0)
            self._pieces = [self._file.read()]
        text = b"".join(self._pieces)
        self._close()
        return text

    def read(self) -> bytes:
        """Give the mail, once. Dots that were doubled for the line are single."""
        text = self.content().replace(b"\r\n.", b"\r\n")
        return text[1:] if text.startswith(b".") else text

    def _refuse(self, why: str) -> None:
        self.refusal = why
        self._close()

    def _close(self) -> None:
        self._pieces.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._room.give_back(self._who, self._on_disk)
        self._on_disk = 0


class ReadingRoom:
    """Lets in as many bytes at once as there is memory for, first come, first served; one alone always."""

    def __init__(self) -> None:
        """Start empty."""
        self._turn = asyncio.Lock()
        self._left = asyncio.Condition()
        self.held_bytes = 0

    @asynccontextmanager
    async def entered(self, size: int) -> AsyncIterator[None]:
        """Wait for room for so many bytes."""
        weight = max(size, SMALLEST_BYTES)
        async with self._turn, self._left:
            await self._left.wait_for(lambda: not self.held_bytes or self.held_bytes + weight <= READ_BYTES)
            self.held_bytes += weight
        try:
            yield
        finally:
            self.held_bytes -= weight
            async with self._left:
                self._left.notify()
