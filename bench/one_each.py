"""A thousand lanes with one job each, 64 slots: what claiming costs when nothing but claiming is to be done.

huey knows no lanes. procrastinate has them as locks: of the jobs with one lock, one runs at a time, in order.
"""

from __future__ import annotations

from pathlib import Path

from bench import huey_peer, pool, procrastinate_peer
from bench.effort import Effort
from bench.report import Row, ratios, row

ROUNDS = 3
LANES, SLOTS = 1_000, 64


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Let one worker of each drain as many lanes as jobs, turn by turn."""
    lanes = effort.size(LANES, least=50)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    with procrastinate_peer.database(folder / "postgres" if effort.peers else None) as address:
        for number in range(effort.times(ROUNDS)):
            home, jobs = folder / f"one-each-{number}", pool.make_jobs(lanes, lanes)
            pool.submit_together(home, jobs)
            ours.append(pool.drain(home, jobs, 1, SLOTS).from_go)
            if address:
                rate = procrastinate_peer.drain(address, home / "procrastinate.json", lanes, SLOTS)
                theirs.setdefault("procrastinate, a lock a lane", []).append(rate)
            if huey_peer.INSTALLED and effort.peers:
                queue = home / "huey.db"
                huey_peer.submit(queue, lanes)
                theirs.setdefault("huey, without lanes", []).append(huey_peer.drain(queue, lanes, 1))
    rows = [row("one each", f"{lanes:,} lanes of one job, {SLOTS} slots", "/s", ours)]
    for name, rates in theirs.items():
        rows.append(row("one each", name, "/s", rates))
        rows.append(row("one each", "... ours over it", "x", ratios(ours, rates), at_least=1.0))
    return rows
