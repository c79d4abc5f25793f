"""Workers frozen in the middle of a job, past their lease, and then woken: nobody may listen to them.

A drill whose stopped workers are killed before they wake proves nothing, so each one is woken while its
successor is at work on the same job. WEBORDINARY_STOPS=100 stops more often.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.reliability.audit import broken_promises
from tests.reliability.drill import Drill, Member, drill, until
from tests.reliability.drill_parts import lines

STOPS = int(os.environ.get("WEBORDINARY_STOPS", "6"))
STOPS_OF_A_WRONG_BUILD = 10  # at most; one or two are enough, as a rule
WORKERS, LANES, JOB_SECONDS = 4, 3, 0.3  # one worker is free to take over
LOOKS_FOR_A_SUCCESSOR = 1000  # a lease ends after 150; now and then a frozen worker holds a lock and all wait


@dataclass(frozen=True, slots=True)
class Frozen:
    """A job that its worker believes to be working on."""

    lane: str
    job: str
    fence: int


@pytest.mark.timeout(900 + 60 * STOPS)
def test_a_worker_that_slept_past_its_lease_is_refused_when_it_wakes(tmp_path: Path) -> None:
    """A suspended machine wakes up believing that it still owns its lane. Neither store nor site may."""
    with drill(tmp_path) as held:
        frozen = _stop_and_wake(held, "blocking", STOPS)
        refused = {tuple(line) for line in lines(tmp_path / "refused")}
        settles = sum(("settle", one.lane, one.job, str(one.fence)) in refused for one in frozen)
        publishes = sum(("publish", one.lane, one.job, str(one.fence)) in refused for one in frozen)
        print(f"{len(frozen)} workers woken too late: {settles} settles and {publishes} publishes refused")
        assert len(frozen) == STOPS
        assert min(settles, publishes) > 0, "nobody came as far as settling or publishing"
        assert not _broken(held)


def test_a_build_without_fencing_is_caught_by_the_same_drill(tmp_path: Path) -> None:
    """Without this, the drill above might be blind."""
    with drill(tmp_path) as held:
        _stop_and_wake(held, "unfenced", STOPS_OF_A_WRONG_BUILD, enough=lambda: _caught(held))
        print("\n".join(_broken(held)))
        assert _caught(held)


def _caught(held: Drill) -> bool:
    """Whether both the store and a site were seen to listen to a former owner."""
    broken = "\n".join(_broken(held))
    return "settled by a former owner" in broken and "was changed by fence" in broken


def _stop_and_wake(
    held: Drill, kind: str, stops: int, enough: Callable[[], bool] = lambda: False
) -> list[Frozen]:
    """Freeze workers at work until somebody else has begun their job again; wake them at that moment."""
    workers = [held.start_worker(kind, slots=1, job_seconds=JOB_SECONDS) for _ in range(WORKERS)]
    sender = held.start_submitter("sender", LANES)
    rng, frozen = random.Random(stops), []
    for _ in range(6 * stops):
        caught = _stop_and_wake_one(held, workers, rng)
        if caught is not None:
            frozen.append(caught)
        if len(frozen) == stops or enough():
            break
    assert held.leave([sender]) == [0]
    assert until(lambda: held.auditor.open_jobs() == 0, held.auditor.open_jobs), held.errors()
    assert held.leave(workers) == [0] * WORKERS
    return frozen


def _stop_and_wake_one(held: Drill, workers: list[Member], rng: random.Random) -> Frozen | None:
    """Freeze a worker between the start and the end of a job; None if it slipped out of it."""
    assert until(lambda: any(_at_work(held, worker) for worker in workers)), held.errors()
    victim = rng.choice([worker for worker in workers if _at_work(held, worker)] or workers)
    held.stop(victim)
    try:
        caught = _at_work(held, victim)
        if caught is None or not until(lambda: _begun_again(held, caught), most_looks=LOOKS_FOR_A_SUCCESSOR):
            return None
    finally:
        held.wake(victim)
    assert until(lambda: _ended(held, caught)), held.errors()
    return caught


def _at_work(held: Drill, member: Member) -> Frozen | None:
    """What a worker has begun and not ended."""
    mine = [line for line in lines(held.home / "effects") if line[5] == str(member.pid)]
    if not mine or mine[-1][0] == "end":
        return None
    return Frozen(mine[-1][1], mine[-1][2], int(mine[-1][3]))


def _begun_again(held: Drill, frozen: Frozen) -> bool:
    return any(
        what == "start" and job == frozen.job and int(fence) > frozen.fence
        for what, _, job, fence, *_ in lines(held.home / "effects")
    )


def _ended(held: Drill, frozen: Frozen) -> bool:
    return bool(held.auditor.rows("SELECT 1 FROM jobs WHERE id = ? AND state = 'done'", (frozen.job,)))


def _broken(held: Drill) -> list[str]:
    """Everything that the store's audit and the sites show and that must never be."""
    audit = held.auditor
    broken = broken_promises(audit.moves(), audit.claims(), audit.endings())
    for site in sorted((held.home / "sites").iterdir()):
        for (before, *_), (after, *what) in pairwise(lines(site)):
            if int(after) < int(before):
                broken.append(f"{site.name} was changed by fence {after} ({what}) after {before}")
    if audit.integrity() != "ok":
        broken.append(audit.integrity())
    return broken
