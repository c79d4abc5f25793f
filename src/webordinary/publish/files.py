"""Opening files that repository code made: no link is followed, nothing but plain files is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from webordinary.core.errors import BadInput

# O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_folder(name: str | Path, within: int | None = None) -> int:
    """Open a folder, which must not be a link. The caller closes what is given."""
    return os.open(name, _READ | os.O_DIRECTORY, dir_fd=within)


def open_folder_beneath(top: Path, folder: Path) -> int:
    """Open a folder somewhere in another one; no step of the way down may be a link."""
    handle = open_folder(top)
    for step in folder.relative_to(top).parts:
        outer, handle = handle, -1
        try:
            if step == os.pardir:
                raise OSError(f"{folder} leads out of {top}")
            handle = open_folder(step, outer)
        finally:
            os.close(outer)
    return handle


def open_plain_file(name: str | Path, within: int | None = None) -> int:
    """Open a regular file; raises OSError for anything else. The caller closes what is given."""
    handle = os.open(name, _READ, dir_fd=within)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{name} is not a plain file")
    return handle


def read_plain_file(path: Path, most: int = -1) -> bytes | None:
    """Read a regular file, or so many bytes of it; None if there is none any more."""
    try:
        with os.fdopen(open_plain_file(path), "rb") as file:
            return file.read(most)
    except OSError:
        return None


def changed_since(path: str) -> BadInput:
    """What to say of a file whose bytes are not those that passed the gate."""
    return BadInput(
        f"{path} was changed after it was checked, so nothing was published; "
        "what was there before is still there. Sending the request again builds the site anew"
    )
