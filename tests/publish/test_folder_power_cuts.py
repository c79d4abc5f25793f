"""Publishing into a folder through a power cut: whatever reached the disk, what is pointed at is whole.

A disk may keep a new name at once; bytes, and the names in a folder, it keeps for certain only when synced.
So the moment that counts is the giving of a name: all that hangs on it must be certain by then.
"""

import json
import os
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.publish.site_files import PROJECT, claim, site
from webordinary.core.release import Place
from webordinary.sites.folder_publisher import FolderPublisher

POINTER = "places.json"
Content = bytes | dict[str, int]  # of a file, or the names in a folder and what they lead to


class Disk:
    """What is certain to be found after a power cut: the contents that were synced, by inode."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._synced: dict[int, Content] = {root.parent.stat().st_ino: self._names(root.parent)}
        self.pointed: list[str] = []  # releases, at each moment that a pointer was given its name
        self.lost = ""  # syncs of such paths do nothing

    def _names(self, folder: Path) -> dict[str, int]:
        return {entry.name: entry.inode() for entry in os.scandir(folder)}

    def sync(self, handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").resolve()
        if not fnmatch(str(path), self.lost):
            self._synced[os.fstat(handle).st_ino] = self._names(path) if path.is_dir() else path.read_bytes()

    def rename(self, source: Path, target: Path) -> None:
        """Look before the name is given: it may be on the disk a moment later, and all else may not."""
        if target.name == POINTER:
            content = self._synced.get(source.stat().st_ino)
            assert isinstance(content, bytes), "the pointer's own bytes are not certain"
            self._pointer(content)
        elif target.parent.name == "releases":
            self._release(self._synced.get(source.stat().st_ino))

    def after_a_power_cut(self) -> dict[str, str]:
        """Which release is where, found from the root on by what is certain."""
        content = self._found(self._root / PROJECT / POINTER)
        assert isinstance(content, bytes)
        return self._pointer(content)

    def _pointer(self, content: bytes) -> dict[str, str]:
        places = json.loads(content)
        standing = {place.value: places[place.value]["release"] for place in Place if place.value in places}
        for release in standing.values():
            self._release(self._found(self._root / PROJECT / "releases" / release))
        self.pointed += standing.values()
        return standing

    def _release(self, folder: Content | None) -> None:
        """Every file of the manifest is there, with its size."""
        manifest = self._inside(folder, Path("manifest.json"))
        assert isinstance(manifest, bytes), "the manifest is not certain"
        for path, size, _ in json.loads(manifest)["files"]:
            content = self._inside(folder, Path("site", path))
            assert isinstance(content, bytes), f"{path} is not certain"
            assert len(content) == size

    def _found(self, path: Path) -> Content | None:
        top = self._synced.get(self._root.parent.stat().st_ino)
        return self._inside(top, path.relative_to(self._root.parent))

    def _inside(self, folder: Content | None, path: Path) -> Content | None:
        content = folder
        for name in path.parts:
            assert isinstance(content, dict), f"the folder above {name!r} in {path} is not certain"
            assert name in content, f"the name {name!r} in {path} is not certain"
            content = self._synced.get(content[name])
        return content


@pytest.fixture
def disk(root: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(root)
    fsync, rename = os.fsync, os.rename

    def synced(handle: int) -> None:
        fsync(handle)
        disk.sync(handle)

    def renamed(source: Path, target: Path) -> None:
        disk.rename(Path(source), Path(target))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    return disk


async def published(publisher: FolderPublisher, folder: Path) -> list[str]:
    """A life of a site: two releases, the first of them live, then the second, then the first again."""
    first, second = site(folder / "a", "one"), site(folder / "b", "two", **{"deep/er/page.html": "new"})
    await publisher.enter(claim(1))
    await publisher.publish(claim(1), *first, "c1")
    await publisher.promote(claim(1))
    await publisher.publish(claim(1), *second, "c2")
    await publisher.promote(claim(2))
    await publisher.publish(claim(2), *first, "c3")
    return [first[0].id, second[0].id]


async def test_a_power_cut_at_any_moment_leaves_a_whole_site(
    publisher: FolderPublisher, disk: Disk, tmp_path: Path
) -> None:
    first, second = await published(publisher, tmp_path)
    assert set(disk.pointed) == {first, second}
    assert disk.after_a_power_cut() == {"preview": first, "live": second}


async def test_what_was_published_is_certain_when_it_is_said_to_be(
    publisher: FolderPublisher, disk: Disk, tmp_path: Path
) -> None:
    """The owner is told "done" after this."""
    release, folder = site(tmp_path / "a", "one")
    await publisher.publish(claim(1), release, folder, "c1")
    assert disk.after_a_power_cut() == {"preview": release.id}


@pytest.mark.parametrize(
    "lost",
    [
        "*/releases",
        "*/amelia",
        "*/sites",
        "*/site",
        "*/site/css",
        "*/index.html",
        "*/manifest.json",
        "*/places-*",
    ],
)
async def test_a_sync_that_is_left_out_or_comes_too_late_is_noticed(
    publisher: FolderPublisher, disk: Disk, tmp_path: Path, lost: str
) -> None:
    """Else the tests above would say nothing."""
    disk.lost = lost
    with pytest.raises(AssertionError, match="certain"):  # noqa: PT012 - either may be the one
        await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
        disk.after_a_power_cut()
