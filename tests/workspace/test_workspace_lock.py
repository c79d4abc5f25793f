"""Where mirrors and trees live: a folder for each process, and room on the disk."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.conformance.world import ManualClock
from tests.workspace.conftest import NewWorker
from tests.workspace.site import MAYA, Site, delivery, signed
from webordinary.core.errors import BackendUnavailable
from webordinary.core.lane import Lane
from webordinary.sites.git.workspaces import IN_USE_SECONDS, GitWorkspaces

DAY = 86_400.0
PHOTO = os.urandom(400_000)


def sessions(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.glob("*/*/sessions/*")}


async def test_every_process_has_a_folder_of_its_own(
    site: Site, new_worker: NewWorker, tmp_path: Path
) -> None:
    """A stopped one keeps its own: its agent may write on when it wakes up."""
    root = tmp_path / "root"
    zombie, successor, third = new_worker(root), new_worker(root), new_worker(root)
    trees = [
        (await worker.open(delivery("j1", fence=fence), site.project)).room.tree
        for fence, worker in enumerate((zombie, successor), 1)
    ]
    assert [tree.relative_to(root).parts[0] for tree in trees] == ["0", "1"]
    zombie.close()
    assert (await third.open(delivery("j2", fence=3), site.project)).room.tree == trees[0]


async def test_a_folder_is_locked_for_other_processes(site: Site, worker: GitWorkspaces) -> None:
    await worker.open(delivery("j1"), site.project)
    with (worker._root / "0" / ".lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


async def test_a_root_that_cannot_be_used_is_told(site: Site, new_worker: NewWorker, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BackendUnavailable, match="can't use"):
        await new_worker(tmp_path / "file").open(delivery("j1"), site.project)


async def test_the_coldest_trees_make_room_and_those_in_use_do_not(
    site: Site, new_worker: NewWorker, clock: ManualClock, tmp_path: Path
) -> None:
    site.develop({"photo.jpg": PHOTO})
    worker = new_worker(tmp_path / "root", cap=2_200_000)
    for session in ("cold", "cool", "warm"):
        await worker.open(delivery(f"j-{session}", session=session), site.project)
        clock.advance(IN_USE_SECONDS + DAY)
    busy = await worker.open(delivery("m1", lane=MAYA, session="busy"), site.project)
    clock.advance(3_600)
    await worker.open(delivery("j9", session="new"), site.project)
    clock.advance(3_600)
    await worker.open(delivery("j10", session="new"), site.project)
    left = {path.rpartition("/")[2] for path in sessions(tmp_path / "root")}
    assert {"busy", "new"} <= left
    assert "cold" not in left
    assert "warm" in left
    assert (busy.room.tree / "photo.jpg").read_bytes() == PHOTO
    again = await worker.open(delivery("j11", session="cold"), site.project)
    assert (again.room.tree / "photo.jpg").read_bytes() == PHOTO


async def test_what_a_job_works_in_stays_however_little_room_there_is(
    site: Site, new_worker: NewWorker, clock: ManualClock
) -> None:
    worker = new_worker(cap=1)
    busy = await worker.open(delivery("m1", lane=MAYA, session="busy"), site.project)
    (busy.room.tree / "index.html").write_text("half done")
    clock.advance(3_600)
    await worker.open(delivery("j1", session="one"), site.project)
    clock.advance(3_600)
    await worker.open(delivery("j2", session="two"), site.project)
    assert (busy.room.tree / "index.html").read_text() == "half done"
    assert {path.rpartition("/")[2] for path in sessions(worker._root)} == {"busy", "two"}
    assert isinstance(await worker.commit(busy, signed()), str)


async def test_mirrors_go_after_trees_and_come_back(
    site: Site, new_worker: NewWorker, clock: ManualClock, tmp_path: Path
) -> None:
    other = Site(site.folder, clock, "zora")
    other.create({"photo.jpg": PHOTO})
    worker = new_worker(tmp_path / "root", cap=100_000)
    zora = Lane("zora", "scott")
    await worker.open(delivery("z1", lane=zora), other.project)
    clock.advance(IN_USE_SECONDS + DAY)
    await worker.open(delivery("j1"), site.project)
    assert not (tmp_path / "root" / "0" / "zora").exists()
    assert (tmp_path / "root" / "0" / "amelia" / "mirror.git").exists()
    again = await worker.open(delivery("z2", lane=zora), other.project)
    assert (again.room.tree / "photo.jpg").read_bytes() == PHOTO


async def test_what_a_process_left_that_is_gone_makes_room(
    site: Site, new_worker: NewWorker, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    former = [new_worker(root), new_worker(root)]
    for fence, worker in enumerate(former, 1):
        await worker.open(delivery("j1", fence=fence), site.project)
    assert sessions(root) == {f"{folder}/amelia/sessions/talk" for folder in (0, 1)}
    for worker in former:
        worker.close()
    await new_worker(root, cap=1).open(delivery("m1", lane=MAYA, session="hers"), site.project)
    assert sessions(root) == {"0/amelia/sessions/hers"}
    assert not (root / "1" / "amelia").exists()


async def test_what_a_living_process_has_is_left_alone(
    site: Site, new_worker: NewWorker, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    await new_worker(root).open(delivery("j1"), site.project)
    await new_worker(root, cap=1).open(delivery("m1", lane=MAYA, session="hers"), site.project)
    assert sessions(root) == {"0/amelia/sessions/talk", "1/amelia/sessions/hers"}
