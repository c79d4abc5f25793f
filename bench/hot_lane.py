"""One lane with many jobs: each starts when the one before it is settled, so each pays for a commit."""

from __future__ import annotations

from pathlib import Path

from bench import commits, pool
from bench.report import Row, ratios, row

ROUNDS = 5
JOBS = 2_000
WORKERS, SLOTS = 2, 64
COMMIT_SECONDS = 0.5


def measure(folder: Path) -> list[Row]:
    """Drain one lane, and commit single rows right before and after."""
    rates, limits = [], []
    for number in range(ROUNDS):
        home = folder / f"hot-{number}"
        jobs = pool.make_jobs(JOBS, 1)
        pool.submit_together(home, jobs)
        before = commits.single(folder, COMMIT_SECONDS)
        rates.append(pool.drain(home, jobs, WORKERS, SLOTS).while_busy)
        limits.append((before + commits.single(folder, COMMIT_SECONDS)) / 2)
    return [
        row("hot lane", f"{JOBS:,} jobs in one lane", "/s", rates),
        row("hot lane", "... as a share of single-row commits", "x", ratios(rates, limits), at_least=0.3),
    ]
