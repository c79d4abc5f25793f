"""The peer: huey on SQLite, every change as durable as ours.

It promises less: no order within a lane, no exclusivity, and a task is deleted before it runs, in one
commit, so that a crash loses it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.processes import Held, held

INSTALLED = find_spec("huey") is not None  # only by `make bench`
DRAIN_SECONDS_MAX = 120.0
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Queue:
    """An open queue: huey, a task that only notes when it started, and the notes."""

    huey: Any
    task: Any
    notes: list[tuple[int, int]]


def open_queue(path: Path) -> Queue:
    """Open huey's file."""
    huey = import_module("huey").SqliteHuey("bench", filename=str(path), fsync=True, results=False)
    notes: list[tuple[int, int]] = []

    def note(number: int) -> None:
        notes.append((time.monotonic_ns(), number))

    return Queue(huey, huey.task()(note), notes)


def submit(path: Path, tasks: int) -> float:
    """Enqueue one task after the other, which is all huey offers; say how many a second."""
    queue = open_queue(path)
    began = time.perf_counter()
    for number in range(tasks):
        queue.task(number)
    seconds = time.perf_counter() - began
    queue.huey.storage.close()
    return tasks / seconds


def drain(path: Path, tasks: int, consumers: int) -> float:
    """Let consumer processes drain the queue; say how many a second from the word to go."""
    notes = [path.with_name(f"{path.name}-notes-{number}.json") for number in range(consumers)]
    with held("bench.huey_process", [[str(path), str(note)] for note in notes]) as processes:
        went = time.monotonic_ns()
        for process in processes:
            process.go()
        _wait_until_drained(path, processes)
        for process in processes:
            process.stop()
    ran = started_at(notes)
    if len(ran) != tasks:
        raise RuntimeError(f"huey ran {len(ran)} of {tasks} tasks")
    return tasks / ((ran[-1][0] - went) / 1e9)


def started_at(notes: Sequence[Path]) -> list[tuple[int, int]]:
    """Read which task started when (monotonic nanoseconds), in that order."""
    return sorted((at, number) for note in notes for at, number in json.loads(note.read_text("utf-8")))


def _wait_until_drained(path: Path, processes: Sequence[Held]) -> None:
    storage = open_queue(path).huey.storage
    deadline = time.monotonic() + DRAIN_SECONDS_MAX
    while storage.sql("select 1 from task limit 1", results=True):
        if time.monotonic() > deadline:
            raise RuntimeError(f"huey did not drain its queue within {DRAIN_SECONDS_MAX:g} s")
        for process in processes:
            process.check()
        time.sleep(LOOK_SECONDS)
    storage.close()
