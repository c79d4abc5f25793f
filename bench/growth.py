"""What must not grow: everyday calls, commands and pages on stores with more and more behind them.

In CPU time, for that is what grows: waiting for the disk or for others does not depend on the store's size.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx

from bench import growth_store
from bench.checkout import FolderBlobs, SystemClock, webordinary
from bench.effort import Effort
from bench.growth_store import HOT, LIMITS, WORKER, Past, Sample
from bench.plot import Plot
from bench.report import Row, percentile, row
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done
from webordinary.dashboard.app import create_app
from webordinary.dashboard.parts import Parts
from webordinary.ports.backend import Backend

TIMES = 15
FINISHED = (1_000, 10_000, 100_000, 1_000_000)
WAITING = (100, 1_000, 10_000, 50_000)
GROWTH_AT_MOST = 2.0
HOST = "http://127.0.0.1:8025"
OK = 200

Timed = dict[str, list[float]]  # milliseconds of CPU of each thing that was done


def measure(folder: Path, effort: Effort) -> list[Row | Plot]:
    """Do the same on stores with more finished jobs, and on stores with more lanes that wait."""
    times = effort.size(TIMES, least=2)
    few_finished, few_waiting = effort.size(FINISHED[0], least=40), effort.size(WAITING[0], least=10)
    by_finished = {
        count: _timed(folder, Past(count, few_waiting), times) for count in _sizes(FINISHED, effort, least=40)
    }
    by_waiting = {
        count: _timed(folder, Past(few_finished, count), times) for count in _sizes(WAITING, effort, least=10)
    }
    return [
        *_compared("finished jobs", by_finished),
        *_compared("waiting lanes", by_waiting),
    ]


def _sizes(usual: Sequence[int], effort: Effort, *, least: int) -> list[int]:
    """The first and the last are enough to see that it runs."""
    sizes = usual if effort.share >= 1 else (usual[0], usual[-1])
    return [effort.size(one, least=least) for one in sizes]


def _compared(what: str, timed: dict[int, Timed]) -> list[Row | Plot]:
    first, last = min(timed), max(timed)
    rows = []
    for name in timed[first]:
        few, many = percentile(timed[first][name], 50), percentile(timed[last][name], 50)
        rows.append(row(what, f"{name}, {last:,}", "ms", [many]))
        rows.append(row(what, f"... over {first:,}", "x", [many / few], at_most=GROWTH_AT_MOST))
    lines = {
        name: [(float(count), percentile(timed[count][name], 50)) for count in sorted(timed)]
        for name in timed[first]
    }
    file = f"growth-{what.replace(' ', '-')}"
    return [*rows, Plot(file, f"Cost against {what}", what, "ms of CPU", lines)]


def _timed(folder: Path, past: Past, times: int) -> Timed:
    home = folder / f"growth-{past.finished}-{past.waiting}"
    try:
        sample = growth_store.fill(home, past)
        return {**asyncio.run(_calls_and_pages(home, sample, times)), **_commands(home, sample, times)}
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _calls_and_pages(home: Path, sample: Sample, times: int) -> Timed:
    clock = SystemClock()
    backend = open_sqlite(home, clock, LIMITS)
    app = create_app(Parts(backend, FolderBlobs(home / "blobs"), clock, LIMITS), token="a-token-of-the-bench")
    hot = f"{HOT.project}/{HOT.user}"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST) as client:

        def page(address: str) -> Callable[[], Awaitable[None]]:
            async def ask() -> None:
                answer = await client.get(address)
                if answer.status_code != OK:
                    raise RuntimeError(f"{address} answered {answer.status_code}")

            return ask

        timed = {
            "claim, deliver, settle, release": await _each(times, lambda: _one_job(backend)),
            "sweep": await _each(times, backend.broker.sweep),
            "page /": await _each(times, page("/")),
            "page of a lane": await _each(times, page(f"/lanes/{hot}")),
            "page of an old job": await _each(times, page(f"/jobs/{sample.old_job}")),
            "list of jobs": await _each(times, page("/jobs")),
            "list of a lane's failed jobs": await _each(times, page(f"/jobs?lane={hot}&state=failed")),
            "list of queued jobs": await _each(times, page("/jobs?state=queued")),
            "API: status": await _each(times, page("/api/status")),
            "API: an old job": await _each(times, page(f"/api/jobs/{sample.old_job}")),
        }
    backend.close()
    return timed


async def _one_job(backend: Backend) -> None:
    """A job that nobody has to wait for, of a lane that nobody else asks for."""
    name, lane = os.urandom(8).hex(), Lane("alone", "amelia")
    await backend.broker.submit(Job(JobId(name), lane, "x", f"<{name}@bench>", Arrival.QUEUE))
    (claim,) = (await backend.broker.claim(WORKER, room=1, wait=0)).claims
    delivery = await backend.broker.next_job(claim, wait=0)
    assert delivery is not None
    await backend.broker.settle(delivery, Done("x"), more=False)
    await backend.broker.release(claim)


async def _each(times: int, do: Callable[[], Awaitable[object]]) -> list[float]:
    await do()  # templates and statements are read once
    taken = []
    for _ in range(times):
        began = time.process_time()
        await do()
        taken.append((time.process_time() - began) * 1000)
    return taken


def _commands(home: Path, sample: Sample, times: int) -> Timed:
    """What people type, in a process that is already there."""
    waiting = f"{sample.waiting.project}/{sample.waiting.user}"
    commands = {
        "webordinary status": ["status"],
        "webordinary why LANE": ["why", waiting],
        "webordinary job JOB": ["job", sample.old_job],
    }
    return {name: [_command(home, words) for _ in range(times)] for name, words in commands.items()}


def _command(home: Path, words: list[str]) -> float:
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = webordinary([*words, "--home", str(home)])
    if code:
        raise RuntimeError(f"webordinary {words[0]} ended with {code}: {said.getvalue()}")
    return (time.process_time() - began) * 1000
