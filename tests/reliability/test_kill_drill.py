"""Real workers and real senders on one SQLite file, killed with kill -9 at random moments under load.

WEBORDINARY_KILLS=2000 kills more often.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.reliability.audit import Carried, broken_promises
from tests.reliability.drill import LOOK_SECONDS, Drill, drill, until
from tests.reliability.drill_parts import lines
from webordinary.core.job import JobState

KILLS = int(os.environ.get("WEBORDINARY_KILLS", "220"))
WORKERS, SUBMITTERS, LANES = 3, 2, 24
TRACES_BETWEEN_KILLS = 25  # at most; counted in work done, so that a slow machine is no gentler drill
LOOKS_BETWEEN_KILLS = 50
TRACE_BYTES = 32


@pytest.mark.timeout(900 + 5 * KILLS)
def test_every_accepted_job_ends_exactly_once_however_often_processes_are_killed(tmp_path: Path) -> None:
    """A worker or a gateway may die at any instruction; no mail may be lost, doubled or overtaken for it."""
    began = time.monotonic()
    with drill(tmp_path) as held:
        for _ in range(WORKERS):
            held.start_worker()
        for number in range(SUBMITTERS):
            held.start_submitter(f"sender{number}", LANES)
        killed = _kill_many(held, random.Random(KILLS))
        _finish(held)
        moves, claims, endings = held.auditor.moves(), held.auditor.claims(), held.auditor.endings()
        effects = Counter(tuple(line) for line in lines(tmp_path / "effects"))
        took = time.monotonic() - began
        print(f"{killed} kills, {len(endings)} jobs, {len(claims)} claims, {took:.0f} s")

        assert sum(killed.values()) >= KILLS
        assert min(killed.values()) > KILLS // 10
        assert held.auditor.integrity() == "ok"
        assert not broken_promises(moves, claims, endings)
        accepted = {tuple(line) for line in held.acknowledged()}
        assert accepted <= {(ending.job, ending.lane) for ending in endings}, "an acknowledged job is gone"
        assert len(accepted) > KILLS
        for move in moves:
            if move.became == JobState.DONE:
                done = Carried.parse(move.note)
                assert effects["end", move.lane, move.job, *str(done).split()] == 1, "settled, but not done"
        redelivered = sum(move.was == move.became == JobState.RUNNING for move in moves)
        assert redelivered > 0, "no kill hit a job at work: the drill was too gentle"
        assert "Traceback" not in held.errors()


def _kill_many(held: Drill, rng: random.Random) -> Counter[str]:
    """Kill processes that are at work, at random moments; each has a successor at once."""
    killed: Counter[str] = Counter()
    while sum(killed.values()) < KILLS:
        assert until(lambda: len(held.ready()) > 0), held.errors()
        _let_them_work(held, rng)
        victim = rng.choice(held.ready())
        killed["worker" if victim.is_worker else "submitter"] += 1
        held.replace(victim)
    return killed


def _let_them_work(held: Drill, rng: random.Random) -> None:
    enough = _traces(held) + rng.randrange(TRACES_BETWEEN_KILLS)
    until(lambda: _traces(held) >= enough, most_looks=LOOKS_BETWEEN_KILLS)
    time.sleep(rng.random() * LOOK_SECONDS)


def _traces(held: Drill) -> int:
    """How often a job was begun or ended, or a message acknowledged, so far; roughly."""
    files = [held.home / "effects", *held.home.glob("acknowledged-*")]
    return sum(path.stat().st_size for path in files if path.exists()) // TRACE_BYTES


def _finish(held: Drill) -> None:
    """No more mail, no more kills: all that was accepted must end."""
    assert until(lambda: len(held.ready()) == len(held.members)), held.errors()
    assert held.leave([member for member in held.members if not member.is_worker]) == [0] * SUBMITTERS
    assert until(lambda: held.auditor.open_jobs() == 0, held.auditor.open_jobs), held.errors()
    assert held.leave(list(held.members)) == [0] * WORKERS
