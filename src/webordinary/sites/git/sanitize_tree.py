"""Trees after somebody else worked in them: nothing in them may steer git or lead out of them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

FOLDERS_DEEP_MAX = 100  # deeper ones than any site has; git and we could not name what is in them
PATH_BYTES_MAX = 3_000  # the kernel takes 4,096
# What git takes for a git directory on any system: such a name is refused in a commit.
_GIT_DIRECTORY = re.compile(r"(\.git|git~1)[ .]*([:\\].*)?", re.IGNORECASE | re.DOTALL)
_MODULES = ".gitmodules"


def scrub(tree: Path) -> None:
    """Remove everything named `.git`, at any depth, and what git can't keep. Follows no symlink."""
    folders = [(os.fsencode(tree), 0)]
    while folders:
        folder, depth = folders.pop()
        for entry in _entries(folder):
            if _is_unwanted(entry, depth):
                remove(Path(os.fsdecode(entry.path)))
            elif entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, depth + 1))


def _entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    """What is in a folder, also in one that was made unreadable."""
    if os.path.islink(folder):  # noqa: PTH114 - names of any bytes
        return []
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        os.chmod(folder, 0o700)  # noqa: PTH101 - names of any bytes
        with os.scandir(folder) as entries:
            return list(entries)


def _is_unwanted(entry: os.DirEntry[bytes], depth: int) -> bool:
    name = os.fsdecode(entry.name)
    if _GIT_DIRECTORY.fullmatch(name):
        return True
    if entry.is_symlink():
        return name.lower() == _MODULES  # git refuses it
    if entry.is_dir(follow_symlinks=False):
        return depth >= FOLDERS_DEEP_MAX or len(entry.path) > PATH_BYTES_MAX
    return not entry.is_file(follow_symlinks=False)  # a pipe, a socket, a device


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, however it was left. Follows no symlink."""
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path)
    except (OSError, RecursionError):
        make_accessible(path)
        _run("rm", "-rf", "--", str(path))


def make_accessible(path: Path) -> None:
    """Take back what somebody did to the permissions of our own files."""
    _run("chmod", "-R", "u+rwX", "--", str(path))


def _run(*command: str) -> None:
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)  # noqa: S603 - ours


def empty(folder: Path) -> None:
    """Make a folder that nobody else can look into, or empty the one that is there."""
    if folder.is_symlink() or not folder.is_dir():
        remove(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in _entries(os.fsencode(folder)):
        remove(Path(os.fsdecode(entry.path)))


def size_of(path: Path) -> int:
    """How many bytes of the disk a folder takes. Files may come and go meanwhile."""
    return sum(_sizes(os.fsencode(path)))


def _sizes(top: bytes) -> Iterator[int]:
    folders = [top]
    while folders:
        folder = folders.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
