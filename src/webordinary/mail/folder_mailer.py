"""Letters into a folder: the only way out of a try-out, and a copy of what left by another way."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import os
import re
import time
from contextlib import suppress
from pathlib import Path

from webordinary.ports.mailer import Mailer, Rejected, Sent, SentLetters, TryLater
from webordinary.system.durable_folder import make_durable

NAME_CHARACTERS = 80
HASH_DIGITS = 12
LEFTOVER_SECONDS = 3600.0  # an unfinished file this old has nobody who writes it
_UNFIT = re.compile(r"[^a-z0-9.]+", re.ASCII)
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}


class FolderMailer:
    """See `Mailer` and `SentLetters`: nothing leaves the machine, and any mail program opens the files."""

    def __init__(self, folder: Path) -> None:
        """Put letters into this folder; it is made when the first one comes."""
        self._folder = folder
        self._cleared = False

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater:
        """See `Mailer.send`. A letter whose file is there already is left as it is."""
        del recipient, return_path  # the message says it; a folder returns nothing
        try:
            await asyncio.to_thread(self._put, message, file_name(key))
        except OSError as error:
            return TryLater(f"the folder {self._folder} can't be written to: {error.strerror or error}")
        return Sent()

    async def copy(self, key: str) -> bytes | None:
        """See `SentLetters.copy`."""
        try:
            return await asyncio.to_thread((self._folder / file_name(key)).read_bytes)
        except FileNotFoundError:
            return None

    def _put(self, message: bytes, name: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self._folder / name
        if not target.exists():
            unfinished = self._folder / f".{name}.{os.getpid()}.{time.monotonic_ns()}.part"
            try:
                _write_durably(unfinished, message)
                _name_once(unfinished, target)
            finally:
                unfinished.unlink(missing_ok=True)
        if not self._cleared:
            self._clear_leftovers()
            self._cleared = True
        make_durable(self._folder)  # also for one that is there: whoever wrote it may not have come this far

    def _clear_leftovers(self) -> None:
        """Remove what crashed senders left unfinished."""
        long_ago = time.time() - LEFTOVER_SECONDS
        for unfinished in self._folder.glob(".*.part"):
            with suppress(FileNotFoundError):
                if unfinished.stat().st_mtime < long_ago:
                    unfinished.unlink()


def file_name(key: str) -> str:
    """Make a file name of any key: readable, safe, and different for every key."""
    readable = _UNFIT.sub("-", key.lower()).strip("-.")[:NAME_CHARACTERS]
    digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:HASH_DIGITS]
    return f"{readable or 'letter'}-{digest}.eml"


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _name_once(unfinished: Path, target: Path) -> None:
    """Give a finished file its name, unless somebody else was first."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        unfinished.replace(target)  # a file system without hard links: the same content under the same key


COPY_SECONDS = 5.0  # a letter waits for its copy no longer
log = logging.getLogger(__name__)


class KeepingMailer:
    """See `Mailer`."""

    def __init__(self, mailer: Mailer, copies: SentLetters) -> None:
        """Send by the one, keep in the other."""
        self._mailer, self._copies = mailer, copies

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater | Rejected:
        """See `Mailer.send`. The copy comes first: nothing may make a letter that is out look unsent."""
        why_not = await self._keep(message, recipient, key)
        if why_not:
            log.warning("letter %s goes out, but no copy of it is kept: %s", key, why_not)
        return await self._mailer.send(message, recipient=recipient, key=key, return_path=return_path)

    async def _keep(self, message: bytes, recipient: str, key: str) -> str:
        try:
            async with asyncio.timeout(COPY_SECONDS):
                kept = await self._copies.send(message, recipient=recipient, key=key)
        except TimeoutError:
            return f"that takes longer than {COPY_SECONDS:g} s"
        return "" if isinstance(kept, Sent) else kept.reason
