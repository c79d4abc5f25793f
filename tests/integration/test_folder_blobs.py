"""Blobs in a folder: durable, whole, one per content."""

import asyncio
import errno
import hashlib
import os
import time
from pathlib import Path

import pytest

from webordinary.backends.folder_blobs import LEFTOVER_SECONDS, FolderBlobs
from webordinary.core.errors import BackendUnavailable, NotFound, StoreFull


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "blobs"


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 100, os.urandom(3_000_000)])
async def test_bytes_come_back_as_they_went_in(folder: Path, content: bytes) -> None:
    key = await FolderBlobs(folder).put(content)
    assert key == hashlib.sha256(content).hexdigest()
    assert await FolderBlobs(folder).get(key) == content
    assert files_in(folder) == [f"{key[:2]}/{key}"]


async def test_the_same_bytes_twice_are_one(folder: Path) -> None:
    """A mail that is delivered again must not fill the disk."""
    blobs = FolderBlobs(folder)
    assert await blobs.put(b"mail") == await blobs.put(b"mail")
    assert len(files_in(folder)) == 1


async def test_many_at_once_do_not_disturb_each_other(folder: Path) -> None:
    blobs = [FolderBlobs(folder), FolderBlobs(folder)]
    contents = [b"same"] * 20 + [str(number).encode() for number in range(20)]
    keys = await asyncio.gather(*(blobs[n % 2].put(content) for n, content in enumerate(contents)))
    assert [await blobs[0].get(key) for key in keys] == contents
    assert len(files_in(folder)) == 21


@pytest.mark.parametrize("key", ["0" * 64, "", "../../etc/passwd", "A" * 64, "0" * 63 + "\n", "0" * 65])
async def test_a_key_that_is_not_there_is_told_and_never_becomes_a_path(folder: Path, key: str) -> None:
    await FolderBlobs(folder).put(b"something")
    with pytest.raises(NotFound):
        await FolderBlobs(folder).get(key)


async def test_nothing_is_there_before_the_first_put(folder: Path) -> None:
    with pytest.raises(NotFound):
        await FolderBlobs(folder).get("0" * 64)


async def test_a_damaged_blob_is_never_given_out_and_mended_by_the_next_put(folder: Path) -> None:
    """A disk may lose what it promised; then the mail's second delivery puts it right."""
    blobs = FolderBlobs(folder)
    key = await blobs.put(b"mail")
    (folder / key[:2] / key).write_bytes(b"mali")
    with pytest.raises(BackendUnavailable, match="damaged"):
        await blobs.get(key)
    assert await blobs.put(b"mail") == key
    assert await blobs.get(key) == b"mail"


async def test_everything_is_synced_before_put_returns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A 250 is said after this: the file first, then its name, then the folders on the way to it."""
    events: list[str] = []
    real_fsync, real_rename = os.fsync, Path.rename

    def fsync(handle: int) -> None:
        events.append(f"fsync {Path(f'/proc/self/fd/{handle}').resolve().name}")
        real_fsync(handle)

    def rename(path: Path, target: Path) -> Path:
        events.append("rename")
        return real_rename(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", rename)
    blobs = FolderBlobs(folder)
    key = await blobs.put(b"mail")
    folders = [f"fsync {name}" for name in (key[:2], "blobs", "home")]
    assert events[1:] == ["rename", *folders]
    events.clear()
    await FolderBlobs(folder).put(b"mail")  # another process: it can't know how far the first one came
    assert events == folders
    events.clear()
    await blobs.put(beside(key))
    assert events[1:] == ["rename", f"fsync {key[:2]}"]
    assert len(events) == 3


def beside(key: str) -> bytes:
    """Bytes whose blob comes into the same folder as another one."""
    numbered = (str(number).encode() for number in range(10_000))
    return next(one for one in numbered if hashlib.sha256(one).hexdigest()[:2] == key[:2])


async def test_a_blob_of_an_earlier_layout_is_still_found(folder: Path) -> None:
    """Folders used to be two levels deep."""
    key = hashlib.sha256(b"mail").hexdigest()
    path = folder / key[:2] / key[2:4] / key
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mail")
    assert await FolderBlobs(folder).get(key) == b"mail"


async def test_a_full_disk_is_told_and_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFull, match="blobs"):
        await FolderBlobs(folder).put(b"mail")
    assert files_in(folder) == []


async def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BackendUnavailable, match="file"):
        await FolderBlobs(tmp_path / "file").put(b"mail")


async def test_what_a_killed_process_left_unfinished_is_removed(folder: Path) -> None:
    unfinished = folder / "unfinished"
    unfinished.mkdir(parents=True)
    old, fresh = unfinished / "old", unfinished / "fresh"
    for path in (old, fresh):
        path.write_bytes(b"half a m")
    long_ago = time.time() - LEFTOVER_SECONDS - 1
    os.utime(old, (long_ago, long_ago))
    key = await FolderBlobs(folder).put(b"mail")
    assert files_in(folder) == sorted([f"{key[:2]}/{key}", "unfinished/fresh"])


async def test_blobs_are_for_their_owner_only(folder: Path) -> None:
    """They hold people's mail."""
    key = await FolderBlobs(folder).put(b"mail")
    assert (folder / key[:2] / key).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
