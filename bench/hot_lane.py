"""One lane with many jobs: each starts when the one before it is settled, so each pays for a commit."""

from __future__ import annotations

from pathlib import Path

from bench import commits, pool
from bench.effort import Effort
from bench.report import Row, ratios, row

ROUNDS = 5
JOBS = 2_000
WORKERS, SLOTS = 2, 64
COMMIT_SECONDS = 0.5


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Drain one lane, and commit single rows right before and after."""
    rates, limits = [], []
    count, seconds = effort.size(JOBS, least=10), effort.seconds(COMMIT_SECONDS)
    for number in range(effort.times(ROUNDS)):
        home = folder / f"hot-{number}"
        jobs = pool.make_jobs(count, 1)
        pool.submit_together(home, jobs)
        before = commits.single(folder, seconds)
        rates.append(pool.drain(home, jobs, WORKERS, SLOTS).while_busy)
        limits.append((before + commits.single(folder, seconds)) / 2)
    return [
        row("hot lane", f"{count:,} jobs in one lane", "/s", rates),
        row("hot lane", "... as a share of single-row commits", "x", ratios(rates, limits), at_least=0.3),
    ]
