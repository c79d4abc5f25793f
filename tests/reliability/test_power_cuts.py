"""What was acknowledged survives a power cut at any moment, also inside a checkpoint.

The writes are those of SQLite itself under the real verbs; what a cut leaves of them is drawn at random
(`disk.py`); the real engine starts again on it. WEBORDINARY_POWER_CUTS=100000 cuts more often.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.disk import Created, Deleted, Disk, Synced, Written
from tests.reliability.power import power_cuts
from tests.reliability.workload import CHECKPOINT_PAGES, DATABASE, Books, record

CUTS = int(os.environ.get("WEBORDINARY_POWER_CUTS", "3000"))
CUTS_A_PART = 750
CUTS_OF_A_WRONG_STORE = 300


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: the power cut is made up, so no real disk is needed."""
    in_memory = Path("/dev/shm")
    folder = Path(
        tempfile.mkdtemp(prefix="webordinary-power-", dir=in_memory if in_memory.is_dir() else None)
    )
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("part", range(-(-CUTS // CUTS_A_PART)))
def test_nothing_acknowledged_is_lost_in_a_power_cut(part: int, folder: Path) -> None:
    """A sender was told "accepted", an owner was told its fence: a cut must not make liars of us."""
    damage = power_cuts(folder, seed=1000 * part, cuts=CUTS_A_PART)
    assert damage.cuts == CUTS_A_PART
    assert not damage.broken
    assert not damage.lost
    assert not damage.other, (
        "a store must start with the last commit, or the one under way, and nothing between"
    )


def test_a_store_that_syncs_less_is_caught_losing_what_it_acknowledged(folder: Path) -> None:
    """With synchronous=NORMAL a commit is not durable: a harness that does not see that proves nothing."""
    damage = power_cuts(folder, seed=1, cuts=CUTS_OF_A_WRONG_STORE, synchronous="NORMAL")
    print(f"NORMAL lost acknowledged commits in {len(damage.lost)} of {damage.cuts} cuts")
    assert len(damage.lost) > damage.cuts // 10
    assert not damage.broken, "NORMAL forgets, but it does not corrupt: the made-up disk is too cruel"


def test_a_store_that_never_syncs_is_caught_broken(folder: Path) -> None:
    """With synchronous=OFF the order of writes is lost too, and the file with it."""
    damage = power_cuts(folder, seed=1, cuts=CUTS_OF_A_WRONG_STORE, synchronous="OFF")
    assert damage.broken


def test_the_recorded_lives_have_checkpoints_and_deletions(folder: Path) -> None:
    """Cuts during plain commits alone would miss where SQLite moves pages from its log to the file."""
    log = record(folder / "life", {}, Books(), seed=1, synchronous="FULL").log
    checkpoints = sum(isinstance(one, Synced) and one.name == DATABASE for one in log)
    inside = sum(isinstance(one, Written) and one.name == DATABASE for one in log)
    assert checkpoints > 5
    assert inside > CHECKPOINT_PAGES
    assert any(isinstance(one, Deleted) and one.name.endswith("-wal") for one in log)


def test_the_made_up_disk_keeps_what_was_synced_and_promises_nothing_beyond() -> None:
    """It decides what all the others here mean."""
    disk = Disk({})
    for operation in (Created("f"), Written("f", 0, b"a" * 700), Synced("f"), Written("f", 600, b"b" * 1000)):
        disk.do(operation)
    left = [disk.after_cut(random.Random(seed))["f"] for seed in range(300)]
    assert all(content.startswith(b"a" * 600) for content in left)
    assert any(content == b"a" * 700 for content in left)
    assert any(content == b"a" * 600 + b"b" * 1000 for content in left)
    assert any(content[600:700] == b"a" * 100 and content.endswith(b"b") for content in left), (
        "no order to rely on"
    )
    assert any(set(content[600:]) - set(b"ab\0") for content in left), "no garbage"


def test_the_made_up_disk_forgets_a_new_name_until_it_is_synced() -> None:
    """A log file whose name is lost is as lost as its contents."""
    disk = Disk({"old": b"x"})
    disk.do(Created("new"))
    disk.do(Deleted("old", durable=False))
    left = {tuple(sorted(disk.after_cut(random.Random(seed)))) for seed in range(100)}
    assert left == {("old",), ("new", "old"), ("new",)}
    disk.do(Synced("new"))
    assert all("new" in disk.after_cut(random.Random(seed)) for seed in range(100))
