"""Our side: submit to a fresh store, let worker processes drain it, and check what they did."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.checkout import SystemClock
from bench.machine import busy_seconds
from bench.processes import Held, held
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend

SUBMITS_AT_ONCE = 100
DRAIN_SECONDS_MAX = 120.0
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Drained:
    """How fast jobs were drained: from the word to go, and from the first start to the last end."""

    from_go: float
    while_busy: float
    cpu_micros: float  # of the workers, a job


def open_store(home: Path) -> Backend:
    """Open a store with the limits of everyday use."""
    return open_sqlite(home, SystemClock(), Limits())


def make_jobs(count: int, lanes: int) -> list[Job]:
    """Make jobs that take turns among the lanes, as mails of many people do."""
    clock = SystemClock()
    names = [Lane(f"site{number}", "amelia") for number in range(lanes)]
    return [
        Job(
            JobId(clock.unique()),
            names[number % lanes],
            f"change the title to {number}",
            f"<{number}@bench>",
            Arrival.QUEUE,
        )
        for number in range(count)
    ]


def submit_together(home: Path, jobs: Sequence[Job]) -> float:
    """Submit from one process, many at a time; say how many a second."""
    return asyncio.run(_submit(home, jobs, SUBMITS_AT_ONCE))


def submit_singly(home: Path, jobs: Sequence[Job]) -> float:
    """Submit strictly one after the other; say how many a second."""
    return asyncio.run(_submit(home, jobs, 1))


async def _submit(home: Path, jobs: Sequence[Job], at_once: int) -> float:
    backend = open_store(home)
    began = time.perf_counter()
    for start in range(0, len(jobs), at_once):
        await asyncio.gather(*(backend.broker.submit(job) for job in jobs[start : start + at_once]))
    seconds = time.perf_counter() - began
    backend.close()
    return len(jobs) / seconds


def drain(home: Path, jobs: Sequence[Job], workers: int, slots: int) -> Drained:
    """Let worker processes drain what was submitted, and check order and exactly-once."""
    notes = [home / f"notes-{number}.json" for number in range(workers)]
    with held("bench.worker_process", [[str(home), str(slots), str(note)] for note in notes]) as processes:
        went, used = time.time(), sum(busy_seconds(process.pid) for process in processes)
        for process in processes:
            process.go()
        _wait_until_drained(home, processes)
        used = sum(busy_seconds(process.pid) for process in processes) - used
        for process in processes:
            process.stop()
    check(home, jobs, notes)
    ((first, last),) = ask(home, "SELECT MIN(started_at), MAX(finished_at) FROM jobs")
    return Drained(len(jobs) / (last - went), len(jobs) / (last - first), used / len(jobs) * 1e6)


def check(home: Path, jobs: Sequence[Job], notes: Sequence[Path]) -> None:
    """Fail unless every job ran exactly once, in its lane's order, and ended well at its first attempt."""
    ran = started_at(notes)
    ((done,),) = ask(home, "SELECT COUNT(*) FROM jobs WHERE state = 'done' AND attempt = 1")
    if not len(jobs) == len(ran) == len({job for _, job in ran}) == done:
        raise RuntimeError(f"of {len(jobs)} jobs, {len(ran)} were started and {done} are done")
    lane_of = {job.id: job.lane for job in jobs}
    asked: dict[Lane, list[str]] = {}
    served: dict[Lane, list[str]] = {}
    for job in jobs:
        asked.setdefault(job.lane, []).append(job.id)
    for _, name in ran:
        served.setdefault(lane_of[JobId(name)], []).append(name)
    if asked != served:
        raise RuntimeError("a lane was served out of order")


def started_at(notes: Sequence[Path]) -> list[tuple[int, str]]:
    """Read which job started when (monotonic nanoseconds, one clock for all processes), in that order."""
    return sorted((at, job) for note in notes for at, job in json.loads(note.read_text("utf-8")))


def ask(home: Path, sql: str) -> list[tuple[float, ...]]:
    """Look into a store from outside."""
    uri = f"{(home / STORE_NAME).as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(sql).fetchall()


def _wait_until_drained(home: Path, processes: Sequence[Held]) -> None:
    deadline = time.monotonic() + DRAIN_SECONDS_MAX
    left = "SELECT 1 FROM jobs WHERE state IN ('queued', 'running', 'retrying') LIMIT 1"
    while ask(home, left):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the jobs were not drained within {DRAIN_SECONDS_MAX:g} s")
        for process in processes:
            process.check()
        time.sleep(LOOK_SECONDS)
