"""How lanes spread over workers: a burst comes to a pool that is idle, with room for more than the burst."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import pool
from bench.effort import Effort
from bench.processes import Held, held
from bench.report import Row, row

ROUNDS = 3
WORKERS = (2, 4, 8, 16)
SLOTS = 4
LANES_EACH = 2  # of the burst, if it spread evenly
JOB_SECONDS = 2.0  # so that no lane is given back before all are taken
SECONDS_MAX = 60.0
LOOK_SECONDS = 0.05

_HELD = "SELECT COUNT(*) FROM lanes WHERE worker IS NOT NULL GROUP BY worker"
_SHOWN = "SELECT COUNT(*) FROM workers"


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Count the lanes that each worker has in hand once all are taken."""
    rows = []
    for workers in WORKERS if effort.share >= 1 else WORKERS[:1]:
        rounds = [
            _round(folder / f"spread-{workers}-{number}", workers, effort.seconds(JOB_SECONDS))
            for number in range(effort.times(ROUNDS))
        ]
        name = f"{workers * LANES_EACH} lanes, {workers} workers of {SLOTS} slots"
        rows += [
            row("spread", f"{name}: most in one hand", "lanes", [most for most, _, _ in rounds], at_most=3.0),
            row("spread", "... workers with none", "", [idle for _, idle, _ in rounds]),
            row("spread", "... until all were taken", "ms", [seconds * 1000 for _, _, seconds in rounds]),
        ]
    return rows


def _round(home: Path, workers: int, job_seconds: float) -> tuple[int, int, float]:
    """The most lanes that one worker took, how many took none, and how long it took all of them."""
    home.mkdir(parents=True)
    lanes = workers * LANES_EACH
    pool.open_store(home).close()
    arguments = [
        [str(home), str(SLOTS), str(home / f"notes-{number}.json"), str(max(job_seconds, 1.0))]
        for number in range(workers)
    ]
    with held("bench.worker_process", arguments) as processes:
        for process in processes:
            process.go()
        _wait(home, processes, lambda: pool.ask(home, _SHOWN)[0][0] == workers, "show themselves")
        began = time.monotonic()
        pool.submit_together(home, pool.make_jobs(lanes, lanes))
        _wait(home, processes, lambda: _taken(home) == lanes, "take all lanes")
        seconds = time.monotonic() - began
        hands = [int(count) for (count,) in pool.ask(home, _HELD)]
        for process in processes:
            process.stop()
    return max(hands), workers - len(hands), seconds


def _taken(home: Path) -> int:
    return int(sum(count for (count,) in pool.ask(home, _HELD)))


def _wait(home: Path, processes: Sequence[Held], done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not done():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the workers of {home.name} did not {what} within {SECONDS_MAX:g} s")
        for process in processes:
            process.check()
        time.sleep(LOOK_SECONDS)
