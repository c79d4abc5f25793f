"""Publishing into a folder: releases lie side by side, and one small file decides which is served.

A switch is the replacement of that file, so a visitor sees the former release or the new one and never a
part of either. Every change of it happens under the project's lock, and there the fence is looked at: a
worker that lost its lane changes nothing, however late it wakes up.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from webordinary.core.claim import Claim
from webordinary.core.errors import BadInput, ClaimLost
from webordinary.core.release import Place, Release, ReleasedFile
from webordinary.publish.files import changed_since, open_plain_file
from webordinary.sites.folder_places import (
    Places,
    ProjectFolder,
    Standing,
    write_durably,
)
from webordinary.system.durable_folder import make_durable, translated

KEEP_RELEASES = 5
READER_SECONDS = 60.0  # a request that chose a release is answered by then
_CHUNK_BYTES = 1_000_000

_T = TypeVar("_T")


class FolderPublisher:
    """See `Publisher`. Several processes may publish into one folder."""

    def __init__(
        self, root: Path, *, address: Callable[[str, Place], str], keep: int = KEEP_RELEASES
    ) -> None:
        """Keep that many releases of each project, besides those that are in a place."""
        self._root, self._address, self._keep = root, address, keep

    async def enter(self, claim: Claim) -> None:
        """See `Publisher.enter`."""
        await self._in_thread(lambda _: self._enter(claim))

    async def publish(self, claim: Claim, release: Release, folder: Path, commit: str) -> None:
        """See `Publisher.publish`."""
        _check_paths(release)
        await self._in_thread(lambda stop: self._publish(claim, _Wanted(release, folder, commit), stop))

    async def promote(self, claim: Claim) -> str | None:
        """See `Publisher.promote`."""
        return await self._in_thread(lambda _: self._promote(claim))

    async def current(self, project: str, place: Place) -> tuple[Release, str] | None:
        """See `Publisher.current`."""
        return await self._in_thread(lambda _: self._current(ProjectFolder(self._root, project), place))

    async def read(self, project: str, place: Place, paths: Sequence[str]) -> dict[str, bytes]:
        """See `Publisher.read`."""
        return await self._in_thread(lambda _: _read(ProjectFolder(self._root, project), place, paths))

    def address(self, project: str, place: Place) -> str:
        """See `Publisher.address`."""
        return self._address(project, place)

    async def _in_thread(self, work: Callable[[threading.Event], _T]) -> _T:
        """Wait for the disk in a thread. It can't be cancelled, so it is told: it must not switch then."""
        stop = threading.Event()

        def translated_work() -> _T:
            with translated(self._root):
                return work(stop)

        try:
            return await asyncio.to_thread(translated_work)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _enter(self, claim: Claim) -> None:
        project = self._created(claim)
        with project.locked():
            _entered(project, claim)

    def _publish(self, claim: Claim, wanted: _Wanted, stop: threading.Event) -> None:
        project = self._created(claim)
        switched = False
        while not switched:
            with project.locked():
                places = _entered(project, claim)
            copy = None
            if not project.has(wanted.release.id):
                copy = _copied(project, wanted, _former(project, places), stop)
            try:
                with project.locked():
                    switched = _switched(project, claim, wanted, copy, stop)
            finally:
                if copy is not None:
                    shutil.rmtree(copy, ignore_errors=True)
        self._prune(project)

    def _promote(self, claim: Claim) -> str | None:
        project = self._created(claim)
        with project.locked():
            places = _entered(project, claim)
            previewed = places.standing.get(Place.PREVIEW)
            if previewed is None:
                return None
            _put_in_place(project, places, Place.LIVE, previewed)
        self._prune(project)
        return previewed.commit

    def _current(self, project: ProjectFolder, place: Place) -> tuple[Release, str] | None:
        standing = project.places().standing.get(place)
        return None if standing is None else (project.manifest(standing.release), standing.commit)

    def _prune(self, project: ProjectFolder) -> None:
        """Throw old releases away; never one that somebody may be reading."""
        found = []
        for kept in project.releases.iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.append(((kept / "manifest.json").stat().st_mtime, kept.name))
        long_ago = time.time() - READER_SECONDS
        for used_at, release in sorted(found, reverse=True)[self._keep :]:
            if used_at < long_ago:
                self._throw_away_unused(project, release)
        project.clear_leftovers()

    def _throw_away_unused(self, project: ProjectFolder, release: str) -> None:
        """Look again under the lock: another lane may have brought the release back into a place."""
        with project.locked():
            if all(at.release != release for at in project.places().standing.values()):
                project.throw_away(release)

    def _created(self, claim: Claim) -> ProjectFolder:
        project = ProjectFolder(self._root, claim.lane.project)
        project.create()
        return project


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What shall be previewed."""

    release: Release
    folder: Path
    commit: str


def _entered(project: ProjectFolder, claim: Claim) -> Places:
    """Look at the fence, under the lock, and leave ours there; a higher one means that we lost the lane."""
    places = project.places()
    known = places.fences.get(claim.lane.user, 0)
    if claim.fence < known:
        raise ClaimLost(f"{claim.lane} has fence {known} by now, this is the owner of fence {claim.fence}")
    if claim.fence > known:
        places = places.with_fence(claim.lane.user, claim.fence)
        project.write(places)
    return places


def _switched(
    project: ProjectFolder, claim: Claim, wanted: _Wanted, copy: Path | None, stop: threading.Event
) -> bool:
    """Put the release into its place; False if it was there before and is pruned by now. Under the lock."""
    places = _entered(project, claim)
    _go_on_unless(stop)
    if not project.has(wanted.release.id):
        if copy is None:
            return False
        copy.rename(project.releases / wanted.release.id)
        make_durable(project.releases)
    _put_in_place(project, places, Place.PREVIEW, Standing(wanted.release.id, wanted.commit))
    return True


def _go_on_unless(stop: threading.Event) -> None:
    if stop.is_set():
        raise ClaimLost("the call was cancelled; nothing was switched")


def _put_in_place(project: ProjectFolder, places: Places, place: Place, standing: Standing) -> None:
    """Replace the pointer. Both releases were in use until now: pruning goes by that time."""
    for at in filter(None, (places.standing.get(place), standing)):
        os.utime(project.releases / at.release / "manifest.json")
    if places.standing.get(place) != standing:
        project.write(places.with_standing(place, standing))


def _read(project: ProjectFolder, place: Place, paths: Sequence[str]) -> dict[str, bytes]:
    standing = project.places().standing.get(place)
    if standing is None or not project.has(standing.release):
        return {}
    listed = {file.path for file in project.manifest(standing.release).files}
    found = {}
    for path in listed.intersection(paths):
        with contextlib.suppress(OSError):
            found[path] = (project.site(standing.release) / path).read_bytes()
    return found


def _former(project: ProjectFolder, places: Places) -> dict[str, Path]:
    """Files of the release that is previewed now, by their hash."""
    standing = places.standing.get(Place.PREVIEW)
    if standing is None or not project.has(standing.release):
        return {}
    site = project.site(standing.release)
    return {file.sha256: site / file.path for file in project.manifest(standing.release).files}


def _copied(project: ProjectFolder, wanted: _Wanted, former: dict[str, Path], stop: threading.Event) -> Path:
    """Make a complete copy that survives a power cut, under a name that nobody serves."""
    copy = project.spare_folder()
    site = copy / "site"
    folders = {copy, site}
    try:
        site.mkdir()
        for file in wanted.release.files:
            _go_on_unless(stop)
            target = site / file.path
            if target.parent not in folders:
                target.parent.mkdir(parents=True, exist_ok=True)
                folders.update(parent for parent in target.parents if parent.is_relative_to(site))
            if not _linked(former.get(file.sha256), target, file.size):
                _copy(wanted.folder / file.path, target, file)
        listed = {"files": [[file.path, file.size, file.sha256] for file in wanted.release.files]}
        write_durably(copy / "manifest.json", json.dumps(listed).encode())
        for folder in folders:
            make_durable(folder)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    return copy


def _linked(former: Path | None, target: Path, size: int) -> bool:
    """Share the bytes of an unchanged file with the former release; False where that can't be."""
    try:
        if former is None or former.lstat().st_size != size:
            return False
        target.hardlink_to(former)
    except OSError:
        return False  # pruned by now, or the disk allows no more links: a copy does as well
    return True


def _copy(source: Path, target: Path, file: ReleasedFile) -> None:
    """Copy exactly the bytes of the manifest."""
    digest, size = hashlib.sha256(), 0
    try:
        handle = open_plain_file(source)
    except OSError as error:
        raise changed_since(file.path) from error
    with os.fdopen(handle, "rb") as given, target.open("xb") as taken:
        while size <= file.size and (chunk := given.read(_CHUNK_BYTES)):
            digest.update(chunk)
            size += len(chunk)
            taken.write(chunk)
        if digest.hexdigest() != file.sha256:
            raise changed_since(file.path)
        taken.flush()
        os.fsync(taken.fileno())


def _check_paths(release: Release) -> None:
    """The gate made these paths; a second look costs nothing, a path that leads out costs everything."""
    for file in release.files:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts or str(path) != file.path or "\0" in file.path:
            raise BadInput(f"{file.path!r} can't be the path of a published file")
