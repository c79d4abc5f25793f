"""A project's releases as folders, side by side, and a small file that says which one is where.

ROOT/PROJECT/places.json                     what is previewed, what is live, the fences of the lanes
ROOT/PROJECT/lock                            held for moments, by whoever changes places.json
ROOT/PROJECT/releases/ID/manifest.json       complete or not there at all, and never changed
ROOT/PROJECT/releases/ID/site/...
ROOT/PROJECT/unfinished/...                  copies under way, and what is being thrown away
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from webordinary.core.errors import BackendUnavailable, NotFound, StoreBusy
from webordinary.core.lane import Lane
from webordinary.core.release import Place, Release, ReleasedFile
from webordinary.system.durable_folder import make_durable

LOCK_SECONDS = 15.0  # nobody holds the lock for longer, unless its process was stopped
LEFTOVER_SECONDS = 3600.0  # what is unfinished for so long has nobody who works on it
_LOCK_LOOK_SECONDS = 0.01
_RELEASE = re.compile(r"[0-9a-f]{24}", re.ASCII)  # nothing else ever becomes a path
_FULL = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Standing:
    """A release in a place."""

    release: str
    commit: str


@dataclass(frozen=True, slots=True)
class Places:
    """Which release is in which place, and the highest fence that each lane has shown."""

    standing: Mapping[Place, Standing] = field(default_factory=lambda: MappingProxyType({}))
    fences: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def with_standing(self, place: Place, standing: Standing) -> Places:
        return Places({**self.standing, place: standing}, self.fences)

    def with_fence(self, user: str, fence: int) -> Places:
        return Places(self.standing, {**self.fences, user: fence})


class ProjectFolder:
    """The folder of one project. All methods wait for the disk; changing ones want the lock held."""

    def __init__(self, root: Path, project: str) -> None:
        """Only a name that can be a lane's becomes a path."""
        self.path = root / Lane(project, "a").project
        self.releases, self.unfinished = self.path / "releases", self.path / "unfinished"
        self._pointer = self.path / "places.json"

    def create(self) -> None:
        """Make the folders; their names survive a power cut, or all that is in them would not."""
        for folder in (self.path.parent, self.path, self.releases, self.unfinished):
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                make_durable(folder.parent)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the project's lock: against other processes and other threads alike."""
        give_up = time.monotonic() + LOCK_SECONDS
        with (self.path / "lock").open("a") as lock:  # given back when it is closed, or its process dies
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > give_up:
                        raise StoreBusy(f"another process holds {self.path / 'lock'} for too long") from None
                    time.sleep(_LOCK_LOOK_SECONDS)
            yield

    def places(self) -> Places:
        """Read the pointer: the one moment that decides what a request sees."""
        try:
            content = self._pointer.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return Places()
        try:
            return _places_from(json.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BackendUnavailable(f"{self._pointer} is damaged: {error}") from error

    def write(self, places: Places) -> None:
        """Replace the pointer: whoever reads it sees the former or the new one."""
        written = {
            **{
                place.value: {"release": at.release, "commit": at.commit}
                for place, at in places.standing.items()
            },
            "fences": dict(places.fences),
        }
        spare = self.unfinished / f"places-{secrets.token_hex(8)}"
        write_durably(spare, json.dumps(written, indent=1).encode())
        spare.rename(self._pointer)
        make_durable(self.path)

    def site(self, release: str) -> Path:
        return self.releases / release / "site"

    def has(self, release: str) -> bool:
        """Whether a release is kept, complete."""
        return bool(_RELEASE.fullmatch(release)) and (self.releases / release / "manifest.json").exists()

    def manifest(self, release: str) -> Release:
        """Read what is in a release."""
        if not _RELEASE.fullmatch(release):
            raise NotFound(f"{release!r} is no name of a release")
        path = self.releases / release / "manifest.json"
        try:
            listed = json.loads(path.read_bytes())
            return Release(
                tuple(ReleasedFile(str(p), int(size), str(sha)) for p, size, sha in listed["files"])
            )
        except FileNotFoundError as error:
            raise NotFound(f"there is no release {release} in {self.releases}") from error
        except (ValueError, TypeError, KeyError) as error:
            raise BackendUnavailable(f"{path} is damaged: {error}") from error

    def spare_folder(self) -> Path:
        """Make a folder that nobody else has, for a release that is not complete yet."""
        spare = self.unfinished / secrets.token_hex(8)
        spare.mkdir()
        return spare

    def throw_away(self, release: str) -> None:
        """Take a release out of sight at once, and delete it then."""
        grave = self.unfinished / secrets.token_hex(8)
        with contextlib.suppress(FileNotFoundError):
            (self.releases / release).rename(grave)
        shutil.rmtree(grave, ignore_errors=True)

    def clear_leftovers(self) -> None:
        """Remove what killed processes left unfinished."""
        long_ago = time.time() - LEFTOVER_SECONDS
        for leftover in self.unfinished.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if leftover.lstat().st_mtime >= long_ago:
                    continue
                if leftover.is_dir():
                    shutil.rmtree(leftover, ignore_errors=True)
                else:
                    leftover.unlink()


def _places_from(read: dict[str, dict[str, str]]) -> Places:
    standing = {}
    for place in Place:
        if at := read.get(place.value):
            if not _RELEASE.fullmatch(at["release"]):
                raise ValueError(f"{at['release']!r} is no name of a release")
            standing[place] = Standing(at["release"], str(at["commit"]))
    return Places(standing, {str(user): int(fence) for user, fence in read["fences"].items()})


def write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
