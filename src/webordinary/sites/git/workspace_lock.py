"""The lock on the folder that one worker process has for itself, for as long as it lives."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from webordinary.core.errors import BackendUnavailable
from webordinary.sites.git.sanitize_tree import remove

FOLDERS_MAX = 10_000  # one for each process: far more than a machine runs
# With a dot: a project can't be called so.
LOCK, TRASH, USED = ".lock", ".trash", ".used"


class LockedFolder:
    """A locked folder. A process that is stopped keeps it: nobody else gets into the trees of a zombie."""

    def __init__(self, folder: Path, handle: int) -> None:
        """Made by `acquire` and `acquire_any`."""
        self.folder, self.handle = folder, handle
        remove(folder / TRASH)

    @classmethod
    def acquire_any(cls, root: Path) -> LockedFolder:
        """Lock the first free folder."""
        for number in range(FOLDERS_MAX):
            locked = cls.acquire(root / str(number))
            if locked is not None:
                return locked
        raise BackendUnavailable(f"all {FOLDERS_MAX:,} folders in {root} are locked by other processes")

    @classmethod
    def acquire(cls, folder: Path) -> LockedFolder | None:
        """Lock this folder unless somebody else does."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BackendUnavailable(f"can't use {folder}: {error.strerror or error}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return cls(folder, handle)

    def release(self) -> None:
        """Leave the folder to whoever comes next."""
        os.close(self.handle)

    def project(self, name: str) -> Path:
        """The folder of a project."""
        return self.folder / name

    def mirror(self, project: str) -> Path:
        """The mirror of a project."""
        return self.project(project) / "mirror.git"

    def session(self, project: str, conversation: str) -> Path:
        """The folder of a conversation."""
        return self.project(project) / "sessions" / conversation

    def sessions(self) -> Iterator[Path]:
        """All conversations that have a folder."""
        for project in self.projects():
            yield from folders_in(project / "sessions")

    def projects(self) -> Iterator[Path]:
        """All projects that have a folder."""
        return (folder for folder in folders_in(self.folder) if folder.name != TRASH)

    def throw_away(self, path: Path) -> Path:
        """Put something where it is removed, at once: half of it never stays behind in its place."""
        (self.folder / TRASH).mkdir(mode=0o700, exist_ok=True)
        gone = self.folder / TRASH / f"{time.monotonic_ns()}-{path.name}"
        path.rename(gone)
        return gone


def mark_used(folder: Path, now: float) -> None:
    """Note that a folder is used."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / USED).touch(mode=0o600)
    os.utime(folder / USED, (now, now))


def folders_in(path: Path) -> list[Path]:
    try:
        return sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return []
