"""Blobs as files in a folder: named by their content, complete or not there at all, and never changed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import tempfile
import time
from pathlib import Path

from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.ports.blobs import blob_key
from webordinary.system.durable_folder import make_durable, translated

UNFINISHED_FOLDER = "unfinished"
LEFTOVER_SECONDS = 3600.0  # an unfinished file this old has nobody who writes it
_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)  # nothing else ever becomes a path
_FULL = {errno.ENOSPC, errno.EDQUOT}


class FolderBlobs:
    """See `Blobs`. Waiting for the disk happens in threads, never in the event loop."""

    def __init__(self, folder: Path) -> None:
        """Keep blobs in this folder; it is created with the first one."""
        self._folder, self._unfinished = folder, folder / UNFINISHED_FOLDER
        self._durable: set[Path] = set()  # folders whose own names survive a power cut
        self._cleared = False

    async def put(self, content: bytes) -> str:
        """See `Blobs.put`."""
        return await asyncio.to_thread(self._put, content)

    async def get(self, key: str) -> bytes:
        """See `Blobs.get`. A blob that was damaged on the disk is never given out."""
        if not _KEY.fullmatch(key):
            raise NotFound(f"{key!r} is no name of a blob")
        return await asyncio.to_thread(self._get, key)

    def _put(self, content: bytes) -> str:
        """Two syncs: the file, and its name. Few folders, so that they are there already, mostly."""
        key = blob_key(content)
        path = self._folder / key[:2] / key
        with translated(self._folder):
            if not _is_whole(path, content):
                for folder in (self._folder, self._unfinished, path.parent):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._clear_leftovers()
                self._write(path, content)
            # Also where it was there before: whoever put it there may not have got this far.
            make_durable(path.parent)
            if path.parent not in self._durable:
                make_durable(self._folder)
                make_durable(self._folder.parent)
                self._durable.add(path.parent)
        return key

    def _write(self, path: Path, content: bytes) -> None:
        """Write beside it and rename: at no moment is there a part of a blob under its name."""
        handle, name = tempfile.mkstemp(dir=self._unfinished)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

    def _clear_leftovers(self) -> None:
        """Remove, once, what a killed process left unfinished."""
        if self._cleared:
            return
        self._cleared = True
        long_ago = time.time() - LEFTOVER_SECONDS
        for leftover in self._unfinished.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if leftover.stat().st_mtime < long_ago:
                    leftover.unlink()

    def _get(self, key: str) -> bytes:
        for path in (self._folder / key[:2] / key, self._folder / key[:2] / key[2:4] / key):  # as it was once
            with translated(self._folder), contextlib.suppress(FileNotFoundError):
                content = path.read_bytes()
                if blob_key(content) != key:
                    raise BackendUnavailable(f"{path} is damaged: its content is not what was written")
                return content
        raise NotFound(f"there is no blob {key}")


def _is_whole(path: Path, content: bytes) -> bool:
    """Whether these very bytes are there: a disk may have lost some of what it promised to keep."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False
