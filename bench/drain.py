"""Ten thousand jobs over a hundred lanes, drained by two worker processes, with huey beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench import commits, huey_peer, pool
from bench.effort import Effort
from bench.report import Row, ratios, row

ROUNDS = 5
JOBS, LANES = 10_000, 100
SINGLY = 2_000
WORKERS, SLOTS = 2, 64
COMMIT_SECONDS = 0.5
CPU_MICROS_AT_MOST = 100.0


@dataclass(slots=True)
class Rounds:
    """What each round gave, in a second."""

    jobs: int
    singly: int
    single: list[float] = field(default_factory=list)
    batched: list[float] = field(default_factory=list)
    submit: list[float] = field(default_factory=list)
    submit_singly: list[float] = field(default_factory=list)
    drained: list[pool.Drained] = field(default_factory=list)
    huey_submit: list[float] = field(default_factory=list)
    huey_drain: list[float] = field(default_factory=list)


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Measure ours, the machine's limit and the peer back to back, a few times."""
    rounds = Rounds(effort.size(JOBS, least=LANES), effort.size(SINGLY, least=10))
    for number in range(effort.times(ROUNDS)):
        _round(folder / f"drain-{number}", rounds, effort)
    return [*_submitting(rounds), *_draining(rounds)]


def _round(folder: Path, rounds: Rounds, effort: Effort) -> None:
    folder.mkdir()
    seconds = effort.seconds(COMMIT_SECONDS)
    rounds.batched.append(commits.batched(folder, seconds))
    before = commits.single(folder, seconds)
    rounds.submit_singly.append(pool.submit_singly(folder / "singly", pool.make_jobs(rounds.singly, LANES)))
    jobs = pool.make_jobs(rounds.jobs, LANES)
    rounds.submit.append(pool.submit_together(folder / "home", jobs))
    rounds.drained.append(pool.drain(folder / "home", jobs, WORKERS, SLOTS))
    rounds.single.append((before + commits.single(folder, seconds)) / 2)
    if huey_peer.INSTALLED and effort.peers:
        rounds.huey_submit.append(huey_peer.submit(folder / "huey-1.db", rounds.jobs))
        alone = huey_peer.drain(folder / "huey-1.db", rounds.jobs, 1)
        huey_peer.submit(folder / "huey-2.db", rounds.jobs)
        paired = huey_peer.drain(folder / "huey-2.db", rounds.jobs, 2)
        rounds.huey_drain.append(max(alone, paired))  # as many consumers as suit it best


def _submitting(rounds: Rounds) -> list[Row]:
    together, singly = ratios(rounds.submit, rounds.batched), ratios(rounds.submit_singly, rounds.single)
    rows = [
        row("submit", f"{rounds.jobs:,} jobs, {pool.SUBMITS_AT_ONCE} at once", "/s", rounds.submit),
        row("submit", "... as a share of batched rows", "x", together),
        row("submit", "... as a share of single-row commits", "x", ratios(rounds.submit, rounds.single)),
        row("submit", f"{rounds.singly:,} jobs, one after the other", "/s", rounds.submit_singly),
        row("submit", "... as a share of single-row commits", "x", singly),
    ]
    if rounds.huey_submit:
        rows.append(row("submit", "huey, one after the other", "/s", rounds.huey_submit))
    return rows


def _draining(rounds: Rounds) -> list[Row]:
    rates = [one.from_go for one in rounds.drained]
    cpu = [one.cpu_micros for one in rounds.drained]
    rows = [
        row("drain", f"{rounds.jobs:,} jobs, {LANES} lanes, {WORKERS} workers", "/s", rates),
        row(
            "drain",
            "... from the first start to the last end",
            "/s",
            [one.while_busy for one in rounds.drained],
        ),
        row("drain", "... CPU a job, both workers", "us", cpu, at_most=CPU_MICROS_AT_MOST),
        row("drain", "... over single-row commits", "x", ratios(rates, rounds.single), at_least=3.0),
        row("drain", "... as a share of batched rows", "x", ratios(rates, rounds.batched)),
    ]
    if rounds.huey_drain:
        over_huey = ratios(rates, rounds.huey_drain)
        rows.append(row("drain", "huey, best of 1 and 2 consumers", "/s", rounds.huey_drain))
        rows.append(row("drain", "... ours over huey", "x", over_huey, at_least=5.0))
    return rows
