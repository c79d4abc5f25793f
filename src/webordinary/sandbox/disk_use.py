"""How much space folders take that a hostile program may be changing meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

BLOCK_BYTES = 512
ENTRY_BYTES = 4096  # the least that is counted for a file: empty ones use up the disk, too
ENTRIES_MAX = 200_000  # of one look


class CannotMeasure(Exception):
    """The folders are made so that nobody can tell their size: too many files, too deep, or unreadable."""


def disk_use(folders: Iterable[Path]) -> int:
    """Add up what is in the folders. Symbolic links are not followed; what vanishes meanwhile is skipped."""
    total, entries = 0, 0
    waiting = [str(folder) for folder in folders]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    entries += 1
                    total += _size(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise CannotMeasure(str(error)) from error
        if entries > ENTRIES_MAX:
            raise CannotMeasure(f"more than {ENTRIES_MAX} files")
    return total


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return max(entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES, ENTRY_BYTES)
    except FileNotFoundError:
        return 0
