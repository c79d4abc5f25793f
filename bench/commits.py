"""The machine's own limit: durable commits a second on the filesystem that everything else here uses."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.effort import Effort
from bench.report import Row, row

ROUNDS = 5
SECONDS = 1.0
BATCH_ROWS = 100
COMMITS_MAX = 1_000_000  # where a commit costs nothing, the loop still ends
BODY = "change the title of the first page to something that people like to read"


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Commit one row at a time, and a hundred at a time."""
    singles, batches = [], []
    for _ in range(effort.times(ROUNDS)):
        singles.append(single(folder, effort.seconds(SECONDS)))
        batches.append(batched(folder, effort.seconds(SECONDS)))
    return [
        row("commits", "single-row, durable", "/s", singles),
        row("commits", f"batches of {BATCH_ROWS}, durable", "rows/s", batches),
    ]


def single(folder: Path, seconds: float) -> float:
    """Say how many durable single-row commits a second there are."""
    return _commits(folder, seconds, 1)


def batched(folder: Path, seconds: float) -> float:
    """Say how many rows a second there are, a hundred in a durable commit."""
    return _commits(folder, seconds, BATCH_ROWS)


@contextmanager
def durable_file(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open a new file as durable as the store: WAL, synchronous FULL. Gone afterwards."""
    path = folder / "commits.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        yield connection
    path.unlink()


def commit_rows(connection: sqlite3.Connection, rows: int = 1) -> None:
    """Insert rows in one durable commit."""
    connection.execute("BEGIN IMMEDIATE")
    for _ in range(rows):
        connection.execute("INSERT INTO rows (body) VALUES (?)", (BODY,))
    connection.execute("COMMIT")


def _commits(folder: Path, seconds: float, rows: int) -> float:
    with durable_file(folder) as connection:
        began = time.perf_counter()
        done = 0
        while done < COMMITS_MAX and time.perf_counter() - began < seconds:
            commit_rows(connection, rows)
            done += 1
        return done * rows / (time.perf_counter() - began)
