"""Cut the power many times, start again each time with the real engine, and compare with the books."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.reliability.disk import Disk, Files
from tests.reliability.workload import DATABASE, Books, Recording, record
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.errors import BackendUnavailable
from webordinary.system.clock import SystemClock

LIVES = 3  # each goes on from what a cut left in the middle of the one before


@dataclass(slots=True)
class Damage:
    """What a number of power cuts did."""

    cuts: int = 0
    broken: list[str] = field(default_factory=list)  # can't be opened, or fails the integrity check
    lost: list[str] = field(default_factory=list)  # cuts after which something acknowledged was gone
    other: list[str] = field(
        default_factory=list
    )  # neither the last commit's rows nor those of the one under way
    middle: tuple[Files, Books] = field(default_factory=lambda: ({}, Books()))  # left in the middle of a life


def power_cuts(folder: Path, *, seed: int, cuts: int, synchronous: str = "FULL") -> Damage:
    """Record some lives of a store and cut each at many points."""
    damage = Damage()
    for life in range(LIVES):
        recording = record(folder / f"life {life}", *damage.middle, seed=seed + life, synchronous=synchronous)
        rng = random.Random(seed + life)
        for position, files in _cut(recording, cuts // LIVES, rng):
            damage.cuts += 1
            where = f"seed {seed}, life {life}, cut at {position} of {len(recording.log)}"
            _start_again(folder / "after", files, recording, position, where, damage)
    return damage


def _cut(recording: Recording, cuts: int, rng: random.Random) -> Iterator[tuple[int, Files]]:
    disk, done = Disk(recording.files), 0
    for position in sorted(rng.randint(0, len(recording.log)) for _ in range(cuts)):
        for operation in recording.log[done:position]:
            disk.do(operation)
        done = position
        yield position, disk.after_cut(rng)


def _start_again(
    folder: Path, files: Files, recording: Recording, position: int, where: str, damage: Damage
) -> None:
    acknowledged, under_way = recording.around(position)
    try:
        found = _found(folder, files)
    except BackendUnavailable as error:
        damage.broken.append(f"{where}: {error}")
        return
    if 2 * position < len(recording.log):
        damage.middle = files, found
    missing = acknowledged.missing_from(found)
    if missing:
        damage.lost.append(f"{where}: {'; '.join(missing)}")
    if found.fingerprint not in (acknowledged.fingerprint, under_way.fingerprint):
        damage.other.append(where)


def _found(folder: Path, files: Files) -> Books:
    """Open what a cut left, as any process of ours would."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    engine = Engine(folder / DATABASE, SystemClock(), LocalWakeups())
    try:
        return engine.read(_checked)
    finally:
        engine.close()


def _checked(tx: Tx) -> Books:
    verdict = tx.all("PRAGMA integrity_check")
    if verdict != [("ok",)]:
        raise BackendUnavailable(f"integrity_check: {verdict[:3]}")
    return Books.read(tx)
