"""Several processes publish into one folder, and some of them die."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.publish import publishing_process
from tests.publish.site_files import PROJECT, claim, grow_old, put, released, served, site
from tests.waiting import HANG_SECONDS
from webordinary.core.release import Release
from webordinary.sites.folder_places import LEFTOVER_SECONDS
from webordinary.sites.folder_publisher import FolderPublisher

REPOSITORY = Path(__file__).parents[2]
FILES = 150


@contextmanager
def process(root: Path, tmp_path: Path, fence: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.publish.publishing_process",
            root,
            tmp_path / "a",
            tmp_path / "b",
            str(fence),
        ],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


async def test_a_process_with_a_stale_fence_stops_publishing_at_once(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    site(tmp_path / "a", "one"), site(tmp_path / "b", "two")
    mine = site(tmp_path / "c", "three")
    with process(root, tmp_path, fence=1) as child:
        assert child.stdout is not None
        while child.stdout.readline().strip() != b"3":
            pass
        await publisher.enter(claim(2))
        await publisher.publish(claim(2), *mine, "c")
        for _ in range(100):
            assert served(root)["index.html"] == b"<p>three</p>"
        assert child.wait(HANG_SECONDS) == publishing_process.LOST
    assert served(root)["index.html"] == b"<p>three</p>"


async def test_a_process_that_is_killed_at_any_moment_leaves_a_whole_release_served(
    publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    """Many files, so that most kills come in the middle of a copy. What it leaves is cleared away later."""
    for folder, word in (("a", "one"), ("b", "two")):
        put(
            site(tmp_path / folder, word)[1],
            {f"many/{number}.txt": f"{word}{number}" for number in range(150)},
        )
    paths = {file.path for file in put_stamp(tmp_path / "a").files}
    chance = random.Random(7)
    left = 0
    for _ in range(8):
        with process(root, tmp_path, fence=1) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.random() * 0.25)
            child.send_signal(signal.SIGKILL)
            child.wait()
        if seen := served(root):
            assert set(seen) == paths
            many = {content[:3] for path, content in seen.items() if path.startswith("many/")}
            assert many == {seen["css/site.css"]}
        unfinished = root / PROJECT / "unfinished"  # some are killed before they make it
        left += len(list(unfinished.iterdir())) if unfinished.exists() else 0
    assert left > 0, "no kill came in the middle of a copy: the test shows nothing"
    grow_old(root, LEFTOVER_SECONDS + 60)
    await publisher.publish(claim(1), *site(tmp_path / "c", "three"), "c")
    assert list((root / PROJECT / "unfinished").iterdir()) == []
    assert served(root)["index.html"] == b"<p>three</p>"


def put_stamp(folder: Path) -> Release:
    return released(put(folder, {"stamp.txt": ""}))
