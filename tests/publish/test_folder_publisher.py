"""Publishing into a folder: whole, fenced, and safe when the process dies."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.publish.site_files import PROJECT, claim, grow_old, put, released, releases, served, site
from webordinary.core.errors import (
    BackendUnavailable,
    BadInput,
    BadLane,
    ClaimLost,
    StoreBusy,
    WebordinaryError,
)
from webordinary.core.release import Place, Release, ReleasedFile
from webordinary.sites.folder_places import ProjectFolder
from webordinary.sites.folder_publisher import FolderPublisher, _switched, _Wanted


async def test_what_is_published_is_previewed_and_nothing_is_live(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    assert await publisher.current(PROJECT, Place.PREVIEW) is None
    release, folder = site(tmp_path / "a", "one")
    await publisher.publish(claim(1), release, folder, "c1")
    assert await publisher.current(PROJECT, Place.PREVIEW) == (release, "c1")
    assert await publisher.current(PROJECT, Place.LIVE) is None
    assert served(root)["index.html"] == b"<p>one</p>"
    assert set(served(root)) == {file.path for file in release.files}
    assert publisher.address(PROJECT, Place.LIVE) == "http://sites.example/live/amelia/"


async def test_promoting_makes_the_previewed_bytes_live_whatever_became_of_the_folder(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    assert await publisher.promote(claim(1)) is None
    release, folder = site(tmp_path / "a", "one")
    await publisher.publish(claim(1), release, folder, "c1")
    put(folder, {"index.html": "changed since"})
    assert await publisher.promote(claim(1)) == "c1"
    assert await publisher.current(PROJECT, Place.LIVE) == (release, "c1")
    await publisher.publish(claim(1), *site(tmp_path / "b", "two"), "c2")
    assert served(root, Place.LIVE)["index.html"] == b"<p>one</p>"
    assert served(root)["index.html"] == b"<p>two</p>"


async def test_what_is_in_a_place_can_be_read(publisher: FolderPublisher, tmp_path: Path) -> None:
    """What a letter tells is found by comparing with it; what is not in the release is not there."""
    assert await publisher.read(PROJECT, Place.PREVIEW, ["index.html"]) == {}
    await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    wanted = ["index.html", "nowhere.html", "../../places.json"]
    assert await publisher.read(PROJECT, Place.PREVIEW, wanted) == {"index.html": b"<p>one</p>"}
    assert await publisher.read(PROJECT, Place.LIVE, wanted) == {}


async def test_the_same_release_again_is_no_work_but_its_commit_is_kept(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    release, folder = site(tmp_path / "a", "one")
    await publisher.publish(claim(1), release, folder, "c1")
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    await publisher.publish(claim(1), release, folder, "c2")
    assert await publisher.current(PROJECT, Place.PREVIEW) == (release, "c2")


async def test_unchanged_files_share_their_bytes_with_the_former_release(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    first, second = site(tmp_path / "a", "one"), site(tmp_path / "b", "two")
    await publisher.publish(claim(1), *first, "c1")
    await publisher.publish(claim(1), *second, "c2")
    project = ProjectFolder(root, PROJECT)
    old, new = project.site(first[0].id), project.site(second[0].id)
    assert (old / "logo.svg").samefile(new / "logo.svg")
    assert not (new / "logo.svg").samefile(second[1] / "logo.svg")
    assert not (old / "index.html").samefile(new / "index.html")


@pytest.mark.parametrize("trick", ["other bytes", "more bytes", "link", "pipe", "gone"])
async def test_bytes_that_are_not_those_of_the_manifest_are_refused_and_the_former_release_stays(
    publisher: FolderPublisher, root: Path, tmp_path: Path, trick: str
) -> None:
    await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    release, folder = site(tmp_path / "b", "two")
    page = folder / "index.html"
    match trick:
        case "other bytes":
            page.write_bytes(b"<p>too</p>")
        case "more bytes":
            page.write_bytes(b"<p>two</p>" * 1000)
        case "link":
            page.rename(tmp_path / "elsewhere")
            page.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            page.unlink()
            os.mkfifo(page)
        case _:
            page.unlink()
    with pytest.raises(BadInput, match=r"index\.html was changed after it was checked"):
        await publisher.publish(claim(1), release, folder, "c2")
    assert served(root)["index.html"] == b"<p>one</p>"
    assert list((root / PROJECT / "unfinished").iterdir()) == []


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "../x", "a/../../x", "a//b", "./a", "a\0b"])
async def test_a_path_that_leads_out_is_refused(
    publisher: FolderPublisher, root: Path, tmp_path: Path, path: str
) -> None:
    """The gate makes no such path; the publisher does not rely on it."""
    with pytest.raises(BadInput):
        await publisher.publish(claim(1), Release((ReleasedFile(path, 1, "0" * 64),)), tmp_path, "c1")
    with pytest.raises(BadLane):
        await publisher.current(path, Place.PREVIEW)


async def test_a_stale_fence_can_neither_enter_nor_publish_nor_promote(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    await publisher.publish(claim(4), *site(tmp_path / "a", "one"), "c1")
    await publisher.enter(claim(5))
    other = site(tmp_path / "b", "two")
    for late in (
        publisher.publish(claim(4), *other, "c2"),
        publisher.promote(claim(4)),
        publisher.enter(claim(4)),
    ):
        with pytest.raises(ClaimLost):
            await late
    assert await publisher.current(PROJECT, Place.LIVE) is None
    assert served(root)["index.html"] == b"<p>one</p>"
    await publisher.publish(claim(5), *other, "c2")
    await publisher.publish(claim(1, user="anna"), *other, "c3")  # every lane has a fence of its own


async def test_a_fence_that_grows_while_files_are_copied_stops_the_switch(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    folder = put(tmp_path / "b", {f"{number}.txt": f"two {number}" for number in range(300)})
    waiting = asyncio.create_task(publisher.publish(claim(1), released(folder), folder, "c2"))
    while not any(path.is_dir() for path in (root / PROJECT / "unfinished").iterdir()):
        await asyncio.sleep(0)
    await publisher.enter(claim(2))
    with pytest.raises(ClaimLost):
        await waiting
    assert served(root)["index.html"] == b"<p>one</p>"


@contextmanager
def held_lock(root: Path) -> Iterator[None]:
    with ProjectFolder(root, PROJECT).locked():
        yield


@pytest.mark.parametrize("there_already", [False, True])
async def test_a_cancelled_publication_does_not_switch_later(
    publisher: FolderPublisher, root: Path, tmp_path: Path, there_already: bool
) -> None:
    """Its thread goes on for a moment; whoever cancelled it relies on nothing becoming visible."""
    release, folder = site(tmp_path / "b", "two")
    if there_already:  # then there is nothing to copy, and only the switch itself can be stopped
        await publisher.publish(claim(1), release, folder, "c0")
    await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    with held_lock(root):
        waiting = asyncio.create_task(publisher.publish(claim(1), release, folder, "c2"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    for _ in range(50):
        assert served(root)["index.html"] == b"<p>one</p>"
        await asyncio.sleep(0.01)


async def test_entering_with_the_same_fence_writes_nothing(publisher: FolderPublisher, root: Path) -> None:
    await publisher.enter(claim(3))
    pointer = root / PROJECT / "places.json"
    before = pointer.stat().st_ino
    await publisher.enter(claim(3))
    assert pointer.stat().st_ino == before
    assert json.loads(pointer.read_bytes()) == {"fences": {"scott": 3}}


async def test_old_releases_are_pruned_but_none_that_is_in_a_place_or_may_be_read(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    made = [site(tmp_path / word, word) for word in ("live", "b", "c", "d", "e", "f")]
    await publisher.publish(claim(1), *made[0], "c0")
    await publisher.promote(claim(1))
    for release, folder in made[1:4]:
        await publisher.publish(claim(1), release, folder, "c")
    assert releases(root) == {release.id for release, _ in made[:4]}  # all were in use a moment ago
    grow_old(root)
    await publisher.publish(claim(1), *made[4], "c")
    # The last two in use, and the one that is live.
    assert releases(root) == {made[n][0].id for n in (0, 3, 4)}
    assert served(root, Place.LIVE)["index.html"] == b"<p>live</p>"


async def test_a_release_that_was_pruned_meanwhile_is_never_pointed_at(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    """It was there, so nothing was copied; under the lock it is looked for once more."""
    first, second = site(tmp_path / "a", "one"), site(tmp_path / "b", "two")
    await publisher.publish(claim(1), *first, "c1")
    await publisher.publish(claim(1), *second, "c2")
    project = ProjectFolder(root, PROJECT)
    project.throw_away(first[0].id)
    with held_lock(root):
        assert not _switched(project, claim(1), _Wanted(*first, "c3"), None, threading.Event())
    await publisher.publish(claim(1), *first, "c3")
    assert served(root)["index.html"] == b"<p>one</p>"


async def test_a_damaged_pointer_and_a_full_disk_are_told_in_our_own_words(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    pointer = root / PROJECT / "places.json"
    whole = pointer.read_text()
    for damaged in (whole[:-5], "[]", "{}", whole.replace('"release": "', '"release": "../'), ""):
        pointer.write_text(damaged)
        with pytest.raises(BackendUnavailable, match="is damaged"):
            await publisher.current(PROJECT, Place.PREVIEW)
    (root / "file").write_text("in the way")
    with pytest.raises(BackendUnavailable, match="can't use"):
        await FolderPublisher(root / "file", address=lambda *_: "").enter(claim(1))


async def test_a_stopped_process_that_holds_the_lock_is_told_about(
    publisher: FolderPublisher, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webordinary.sites.folder_places.LOCK_SECONDS", 0.05)
    await publisher.enter(claim(1))
    with held_lock(root), pytest.raises(StoreBusy):
        await publisher.enter(claim(2))


async def test_readers_never_see_a_mixture_while_releases_are_switched(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    sites = [site(tmp_path / str(number), f"word{number}") for number in range(8)]
    await publisher.publish(claim(1), *sites[0], "c")
    over, troubles, looks = threading.Event(), [], [0]

    def read_all_the_time() -> None:
        while not over.is_set():
            try:
                seen = served(root)
                words = {seen["index.html"][3:-4], seen["about/index.html"], seen["css/site.css"]}
                if len(words) != 1:
                    troubles.append(words)
            except (OSError, WebordinaryError) as error:
                troubles.append({repr(error).encode()})
            looks[0] += 1

    readers = [threading.Thread(target=read_all_the_time) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(60):
        await publisher.publish(claim(1), *sites[number % 8], "c")
    over.set()
    for reader in readers:
        reader.join()
    assert troubles == []
    assert looks[0] > 60


async def test_a_claim_is_compared_by_its_own_lane(publisher: FolderPublisher, root: Path) -> None:
    await publisher.enter(replace(claim(9), worker=claim(1).worker))
    await publisher.enter(claim(1, user="anna"))
    assert ProjectFolder(root, PROJECT).places().fences == {"scott": 9, "anna": 1}
