"""Folders whose content survives a power cut, and what a disk's trouble is called here."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from webordinary.core.errors import BackendUnavailable, StoreFull

_FULL = {errno.ENOSPC, errno.EDQUOT}


def make_durable(folder: Path) -> None:
    """Have the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn what the disk says into our own errors."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull(f"there is no room left in {folder}: free some space and try again") from error
        raise BackendUnavailable(f"can't use {folder}: {error.strerror or error}") from error
