"""Ten thousand jobs over a hundred lanes, drained by two worker processes, with huey beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench import commits, huey_peer, pool
from bench.report import Row, ratios, row

ROUNDS = 5
JOBS, LANES = 10_000, 100
SINGLY = 2_000
WORKERS, SLOTS = 2, 64
COMMIT_SECONDS = 0.5


@dataclass(slots=True)
class Rounds:
    """What each round gave, in a second."""

    single: list[float] = field(default_factory=list)
    batched: list[float] = field(default_factory=list)
    submit: list[float] = field(default_factory=list)
    submit_singly: list[float] = field(default_factory=list)
    drain: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    huey_submit: list[float] = field(default_factory=list)
    huey_drain: list[float] = field(default_factory=list)


def measure(folder: Path) -> list[Row]:
    """Measure ours, the machine's limit and the peer back to back, a few times."""
    rounds = Rounds()
    for number in range(ROUNDS):
        _round(folder / f"drain-{number}", rounds)
    return [*_submitting(rounds), *_draining(rounds)]


def _round(folder: Path, rounds: Rounds) -> None:
    folder.mkdir()
    rounds.batched.append(commits.batched(folder, COMMIT_SECONDS))
    before = commits.single(folder, COMMIT_SECONDS)
    rounds.submit_singly.append(pool.submit_singly(folder / "singly", pool.make_jobs(SINGLY, LANES)))
    jobs = pool.make_jobs(JOBS, LANES)
    rounds.submit.append(pool.submit_together(folder / "home", jobs))
    drained = pool.drain(folder / "home", jobs, WORKERS, SLOTS)
    rounds.drain.append(drained.from_go)
    rounds.busy.append(drained.while_busy)
    rounds.single.append((before + commits.single(folder, COMMIT_SECONDS)) / 2)
    rounds.huey_submit.append(huey_peer.submit(folder / "huey-1.db", JOBS))
    alone = huey_peer.drain(folder / "huey-1.db", JOBS, 1)
    huey_peer.submit(folder / "huey-2.db", JOBS)
    paired = huey_peer.drain(folder / "huey-2.db", JOBS, 2)
    rounds.huey_drain.append(max(alone, paired))  # as many consumers as suit it best


def _submitting(rounds: Rounds) -> list[Row]:
    together, singly = ratios(rounds.submit, rounds.batched), ratios(rounds.submit_singly, rounds.single)
    return [
        row("submit", f"{JOBS:,} jobs, {pool.SUBMITS_AT_ONCE} at once", "/s", rounds.submit),
        row("submit", "... as a share of batched rows", "x", together),
        row("submit", "... as a share of single-row commits", "x", ratios(rounds.submit, rounds.single)),
        row("submit", f"{SINGLY:,} jobs, one after the other", "/s", rounds.submit_singly),
        row("submit", "... as a share of single-row commits", "x", singly),
        row("submit", "huey, one after the other", "/s", rounds.huey_submit),
    ]


def _draining(rounds: Rounds) -> list[Row]:
    over_commits, over_huey = ratios(rounds.drain, rounds.single), ratios(rounds.drain, rounds.huey_drain)
    return [
        row("drain", f"{JOBS:,} jobs, {LANES} lanes, {WORKERS} workers", "/s", rounds.drain),
        row("drain", "... from the first start to the last end", "/s", rounds.busy),
        row("drain", "... over single-row commits", "x", over_commits, at_least=3.0),
        row("drain", "... as a share of batched rows", "x", ratios(rounds.drain, rounds.batched)),
        row("drain", "huey, best of 1 and 2 consumers", "/s", rounds.huey_drain),
        row("drain", "... ours over huey", "x", over_huey, at_least=5.0),
    ]
