"""From submit to the start of the job, across processes, while hardly anything else happens.

Each tick does one thing: a job for a lane that a worker holds, a job for a lane that must be claimed first,
a bare datagram that wakes another process, a bare commit. So all four meet the same machine at the same pace.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import commits, huey_peer, pool
from bench.effort import Effort
from bench.processes import held
from bench.report import Row, percentile, row
from webordinary.core.job import Job
from webordinary.ports.backend import Backend

ROUNDS = 5
JOBS = 100
SLOTS = 2 * JOBS
TICK_SECONDS = 0.012  # with as much again at random
HUEY_TASKS = 60
WARM_UP_SECONDS = 0.5
COMMIT_SECONDS = 0.5
PERCENTS = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Sample:
    """One round, in milliseconds."""

    held: list[float]
    fresh: list[float]
    wake: list[float]
    commit: list[float]
    commit_in_a_row: float
    huey: list[float]

    def above_wake(self, latency: Sequence[float]) -> float:
        """Say how far the median is above the machine's wake-up."""
        return percentile(latency, 50) - percentile(self.wake, 50)

    def in_commits(self, latency: Sequence[float]) -> float:
        """Say the same in commits, made at the same pace."""
        return self.above_wake(latency) / percentile(self.commit, 50)


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Measure a few rounds."""
    samples = [_round(folder / f"latency-{number}", effort) for number in range(effort.times(ROUNDS))]
    held_commits = [one.in_commits(one.held) for one in samples]
    fresh_commits = [one.in_commits(one.fresh) for one in samples]
    in_a_row = [one.above_wake(one.held) / one.commit_in_a_row for one in samples]
    return [
        *_rows("a lane that a worker holds", [one.held for one in samples]),
        row("latency", "... p50 above the wake-up", "commits", held_commits, at_most=3.0),
        row("latency", "... the same, in commits made in a row", "commits", in_a_row),
        *_rows("a lane that must be claimed first", [one.fresh for one in samples]),
        row("latency", "... p50 above the wake-up", "commits", fresh_commits),
        row("latency", "wake-up by datagram, p50", "ms", [percentile(one.wake, 50) for one in samples]),
        row("latency", "commit at this pace, p50", "ms", [percentile(one.commit, 50) for one in samples]),
        row("latency", "commit in a row, mean", "ms", [one.commit_in_a_row for one in samples]),
        *(_rows("huey as it comes", [one.huey for one in samples]) if samples[0].huey else []),
    ]


def _rows(name: str, rounds: Sequence[Sequence[float]]) -> list[Row]:
    return [
        row("latency", f"{name}, p{percent}", "ms", [percentile(one, percent) for one in rounds])
        for percent in PERCENTS
    ]


def _round(folder: Path, effort: Effort) -> Sample:
    folder.mkdir()
    jobs, peers = effort.size(JOBS, least=5), huey_peer.INSTALLED and effort.peers
    home, notes, ear, heard = folder / "home", folder / "notes.json", folder / "ear", folder / "heard.json"
    to_held = pool.make_jobs(jobs + 1, 1)
    to_fresh = pool.make_jobs(2 * jobs, 2 * jobs)[jobs:]  # none of them the lane that is held
    with (
        held("bench.worker_process", [[str(home), str(SLOTS), str(notes)]]) as workers,
        held("bench.ear_process", [[str(ear), str(heard)]]) as ears,
        commits.durable_file(folder) as connection,
    ):
        for process in (*workers, *ears):
            process.go()
        submitted, commit = asyncio.run(_tick(home, to_held, to_fresh, str(ear), connection))
        for process in (*workers, *ears):
            process.stop()
    started = {job: at for at, job in pool.started_at([notes])}
    return Sample(
        held=[(started[job.id] - submitted[job.id]) / 1e6 for job in to_held[1:]],
        fresh=[(started[job.id] - submitted[job.id]) / 1e6 for job in to_fresh],
        wake=[took / 1e6 for took in json.loads(heard.read_text("utf-8"))],
        commit=commit,
        commit_in_a_row=1000 / commits.single(folder, effort.seconds(COMMIT_SECONDS)),
        huey=_huey(folder / "huey.db", effort.size(HUEY_TASKS, least=5)) if peers else [],
    )


async def _tick(
    home: Path, to_held: list[Job], to_fresh: list[Job], ear: str, connection: sqlite3.Connection
) -> tuple[dict[str, int], list[float]]:
    backend = pool.open_store(home)
    submitted: dict[str, int] = {}
    took: list[float] = []
    await _submit(backend, to_held[0], submitted)  # the worker takes the lane and keeps it
    await asyncio.sleep(WARM_UP_SECONDS)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth:
        for one, other in zip(to_held[1:], to_fresh, strict=True):
            await _submit(backend, one, submitted)
            await _pause()
            await _submit(backend, other, submitted)
            await _pause()
            mouth.sendto(str(time.monotonic_ns()).encode(), ear)
            await _pause()
            took.append(_commit(connection))
            await _pause()
    await asyncio.sleep(WARM_UP_SECONDS)
    backend.close()
    return submitted, took


async def _submit(backend: Backend, job: Job, submitted: dict[str, int]) -> None:
    submitted[job.id] = time.monotonic_ns()
    await backend.broker.submit(job)


def _commit(connection: sqlite3.Connection) -> float:
    began = time.monotonic_ns()
    commits.commit_rows(connection)
    return (time.monotonic_ns() - began) / 1e6


async def _pause() -> None:
    await asyncio.sleep(TICK_SECONDS * (1 + random.random()))


def _huey(path: Path, tasks: int) -> list[float]:
    queue = huey_peer.open_queue(path)
    notes = path.with_name("huey-notes.json")
    submitted: dict[int, int] = {}
    with held("bench.huey_process", [[str(path), str(notes)]]) as processes:
        processes[0].go()
        time.sleep(WARM_UP_SECONDS)
        for number in range(tasks):
            submitted[number] = time.monotonic_ns()
            queue.task(number)
            time.sleep(2 * TICK_SECONDS * (1 + random.random()))
        time.sleep(2 * WARM_UP_SECONDS)
        processes[0].stop()
    queue.huey.storage.close()
    return [(at - submitted[number]) / 1e6 for at, number in huey_peer.started_at([notes])]
