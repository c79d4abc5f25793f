"""An auditor inside the store: triggers write down every claim and every move of a job, in commit order.

The workers run the released code; the auditor sees only what was really committed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.waiting import HANG_SECONDS
from webordinary.backends.sqlite.ledger import REPLIES_OWED
from webordinary.backends.sqlite.tx import Row
from webordinary.core.job import ENDED, MOVES, JobState

AUDITOR = """
    CREATE TABLE audit (
        entry INTEGER PRIMARY KEY, lane TEXT, fence INTEGER, worker TEXT, waited_since REAL,
        job TEXT, was TEXT, became TEXT, note TEXT);
    CREATE TRIGGER audit_claims AFTER UPDATE OF fence ON lanes BEGIN
        INSERT INTO audit (lane, fence, worker, waited_since)
        VALUES (NEW.lane, NEW.fence, NEW.worker, OLD.wanted_since);
    END;
    CREATE TRIGGER audit_moves AFTER UPDATE OF state, attempt ON jobs BEGIN
        INSERT INTO audit (lane, fence, worker, job, was, became, note)
        SELECT lane, fence, worker, NEW.id, OLD.state, NEW.state, NEW.note FROM lanes WHERE lane = NEW.lane;
    END;
"""


@dataclass(frozen=True, slots=True)
class Carried:
    """What the drill's handler says of a job it carried out: under which fence, at which attempt, where."""

    fence: int
    attempt: int
    pid: int

    def __str__(self) -> str:
        return f"{self.fence} {self.attempt} {self.pid}"

    @classmethod
    def parse(cls, note: str) -> Carried:
        return cls(*(int(number) for number in note.split()))


@dataclass(frozen=True, slots=True)
class Claiming:
    """A lane got an owner."""

    entry: int
    lane: str
    fence: int
    worker: str
    waited_since: float | None


@dataclass(frozen=True, slots=True)
class Move:
    """A job changed its state while this fence was its lane's."""

    entry: int
    lane: str
    fence: int
    job: str
    note: str
    was: str
    became: str


@dataclass(frozen=True, slots=True)
class Ending:
    """A job as the store has it at the end."""

    job: str
    lane: str
    replies: int
    state: str


class Auditor:
    """Reads the store behind the workers' backs."""

    def __init__(self, store: Path) -> None:
        """Install the auditor in a store that exists and that nobody works on yet."""
        self._store = store
        with closing(self._connect()) as connection:
            connection.executescript(AUDITOR)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._store, isolation_level=None, timeout=HANG_SECONDS)

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Row]:
        with closing(self._connect()) as connection:
            return connection.execute(sql, values).fetchall()

    def open_jobs(self) -> int:
        rows = self.rows("SELECT COUNT(*) FROM jobs WHERE state IN ('queued', 'running', 'retrying')")
        return int(rows[0][0])

    def integrity(self) -> str:
        return str(self.rows("PRAGMA integrity_check")[0][0])

    def claims(self) -> list[Claiming]:
        rows = self.rows(
            "SELECT entry, lane, fence, worker, waited_since FROM audit WHERE job IS NULL ORDER BY entry"
        )
        return [Claiming(*row) for row in rows]

    def moves(self) -> list[Move]:
        rows = self.rows(
            "SELECT entry, lane, fence, job, note, was, became FROM audit"
            " WHERE job IS NOT NULL ORDER BY entry"
        )
        return [Move(*row) for row in rows]

    def endings(self) -> list[Ending]:
        """All jobs in the order of submission."""
        rows = self.rows(f"SELECT id, lane, {REPLIES_OWED}, state FROM jobs ORDER BY seq")
        return [Ending(*row) for row in rows]


def broken_promises(moves: list[Move], claims: list[Claiming], endings: list[Ending]) -> list[str]:
    """Say what an audit shows that must never be."""
    return [*_forbidden(moves), *_disordered(moves, claims, endings), *_unfinished(endings)]


def _forbidden(moves: list[Move]) -> Iterator[str]:
    for move in moves:
        if move.became not in MOVES[JobState(move.was)]:
            yield f"{move.job} moved from {move.was} to {move.became}"
        if move.became == JobState.DONE and Carried.parse(move.note).fence != move.fence:
            yield f"{move.job} was settled by a former owner: {move.note}, when {move.lane} had {move.fence}"
    for job, times in Counter(move.job for move in moves if move.became in ENDED).items():
        if times != 1:
            yield f"{job} ended {times} times"


def _disordered(moves: list[Move], claims: list[Claiming], endings: list[Ending]) -> Iterator[str]:
    for lane in {claim.lane for claim in claims}:
        fences = [claim.fence for claim in claims if claim.lane == lane]
        if any(later <= earlier for earlier, later in pairwise(fences)):
            yield f"the fence of {lane} did not grow: {fences}"
        ended = [move.job for move in moves if move.lane == lane and move.became in ENDED]
        if ended != [ending.job for ending in endings if ending.lane == lane and ending.state in ENDED]:
            yield f"{lane} ended its jobs in another order than they came"


def _unfinished(endings: list[Ending]) -> Iterator[str]:
    for ending in endings:
        if ending.state != JobState.DONE or ending.replies != 1:
            yield f"{ending.job} is {ending.state} and owes {ending.replies} replies"
