"""What a worker costs that has nothing to do: a bare one, and one of two that holds idle lanes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import pool
from bench.effort import Effort
from bench.machine import cpu_seconds, resident_megabytes
from bench.processes import ROOT
from bench.report import Row, row

SECONDS = 25.0
SETTLE_SECONDS = 2.0
SHOWN_SECONDS_MAX = 60.0
LANES = 50
SLOTS = 64


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Watch both at the same time."""
    jobs = pool.make_jobs(2 * LANES, LANES)
    pool.submit_together(folder / "idle-pool", jobs)
    pool.open_store(folder / "idle-alone").close()
    with (
        _worker(folder / "idle-alone") as alone,
        _worker(folder / "idle-pool") as one,
        _worker(folder / "idle-pool") as two,
    ):
        for home, workers in ((folder / "idle-alone", 1), (folder / "idle-pool", 2)):
            _wait_until_shown(home, workers)
        time.sleep(effort.seconds(SETTLE_SECONDS))
        pids = (alone, one, two)
        before, began = [cpu_seconds(pid) for pid in pids], time.monotonic()
        time.sleep(effort.seconds(SECONDS))
        seconds = time.monotonic() - began
        shares = [(cpu_seconds(pid) - used) / seconds * 100 for pid, used in zip(pids, before, strict=True)]
        memory = [resident_megabytes(pid) for pid in pids]
    return [
        row("idle", "bare worker, CPU", "%", shares[:1], at_most=0.2),
        row("idle", "bare worker, memory", "MB", memory[:1], at_most=45.0),
        row("idle", f"holder of {LANES} idle lanes, CPU", "%", [max(shares[1:])], at_most=0.2),
        row("idle", f"holder of {LANES} idle lanes, memory", "MB", [max(memory[1:])], at_most=45.0),
    ]


def _wait_until_shown(home: Path, workers: int) -> None:
    deadline = time.monotonic() + SHOWN_SECONDS_MAX
    while pool.ask(home, "SELECT COUNT(*) FROM workers") != [(workers,)]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the workers of {home.name} were not up within {SHOWN_SECONDS_MAX:g} s")
        time.sleep(pool.LOOK_SECONDS)


@contextmanager
def _worker(home: Path) -> Iterator[int]:
    """Start the command that people start."""
    command = [sys.executable, "-m", "webordinary", "worker", "--home", str(home), "--slots", str(SLOTS)]
    command += ["--handler", "echo"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEBORDINARY_")}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process.pid
        if process.poll() is not None:
            raise RuntimeError(f"the worker ended by itself with code {process.returncode}")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
