"""Cut the power many times, start again each time with the real engine, and compare with the books."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.reliability.disk import Disk, Files
from tests.reliability.workload import DATABASE, Books, Recording, record
from webordinary.adapters.system_clock import SystemClock
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.errors import BackendUnavailable

LIVES = 3  # a life goes on from what a cut left of the one before


@dataclass(slots=True)
class Damage:
    """What a number of power cuts did."""

    cuts: int = 0
    lost: list[str] = field(default_factory=list)  # acknowledged, and not there any more
    broken: list[str] = field(default_factory=list)  # no state that a commit ever left behind
    last: tuple[Files, Books] = field(default_factory=lambda: ({}, Books()))


def power_cuts(folder: Path, *, seed: int, cuts: int, synchronous: str = "FULL") -> Damage:
    """Record some lives of a store and cut each at many points."""
    damage = Damage()
    for life in range(LIVES):
        number = seed * LIVES + life
        recording = record(folder / f"life{life}", *damage.last, seed=number, synchronous=synchronous)
        rng = random.Random(f"cuts {number}")
        for position, files in _cut(recording, cuts // LIVES, rng):
            _start_again(folder / "after", files, f"seed {seed}, life {life}, cut at {position}", recording, position, damage)
    return damage


def _cut(recording: Recording, cuts: int, rng: random.Random) -> Iterator[tuple[int, Files]]:
    disk, done = Disk(recording.files), 0
    for position in sorted(rng.randint(0, len(recording.log)) for _ in range(cuts)):
        for operation in recording.log[done:position]:
            disk.do(operation)
        done = position
        yield position, disk.after_cut(rng)
