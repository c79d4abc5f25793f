"""A seat: the folder that one worker process has for itself, for as long as it lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from webordinary.core.errors import BackendUnavailable
from webordinary.sites.git.sanitize_tree import remove, size_of

SEATS_MAX = 10_000  # far more processes than a machine runs
# With a dot: a project can't be called so.
LOCK, TRASH, STAMP = ".lock", ".trash", ".used"


@dataclass(frozen=True, slots=True)
class Cold:
    """Something that could make room: the longer it was not used, the sooner."""

    used_at: float
    path: Path
    size: int


class Seat:
    """A locked folder. A process that is stopped keeps it: nobody else gets into the trees of a zombie."""

    def __init__(self, folder: Path, lock: int) -> None:
        """Made by `take` and `take_this`."""
        self.folder, self.lock = folder, lock
        remove(folder / TRASH)

    @classmethod
    def take(cls, root: Path) -> Seat:
        """Take the first free seat."""
        for number in range(SEATS_MAX):
            seat = cls.take_this(root / str(number))
            if seat is not None:
                return seat
        raise BackendUnavailable(f"all {SEATS_MAX:,} seats in {root} are taken")

    @classmethod
    def take_this(cls, folder: Path) -> Seat | None:
        """Take this seat unless somebody has it."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BackendUnavailable(f"can't use {folder}: {error.strerror or error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return cls(folder, lock)

    def leave(self) -> None:
        """Give the seat to whoever comes next."""
        os.close(self.lock)

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
            yield from _folders(project / "sessions")

    def projects(self) -> Iterator[Path]:
        """All projects that have a folder."""
        return (folder for folder in _folders(self.folder) if folder.name != TRASH)

    def throw_away(self, path: Path) -> Path:
        """Put something where it is removed, at once: half of it never stays behind in its place."""
        (self.folder / TRASH).mkdir(mode=0o700, exist_ok=True)
        gone = self.folder / TRASH / f"{time.monotonic_ns()}-{path.name}"
        path.rename(gone)
        return gone


def other_seats(root: Path, own: Path) -> list[Path]:
    """All seats but one's own, taken or not."""
    return [folder for folder in _folders(root) if folder != own and folder.name.isdigit()]


def stamp(folder: Path, now: float) -> None:
    """Note that a folder is used."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / STAMP).touch(mode=0o600)
    os.utime(folder / STAMP, (now, now))


def cold(folder: Path) -> Cold:
    """See how much room a folder would make, and when it was used."""
    used_at = 0.0  # never, or made by a process that was killed at once
    with contextlib.suppress(OSError):
        used_at = (folder / STAMP).stat().st_mtime
    return Cold(used_at, folder, size_of(folder))


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return []
