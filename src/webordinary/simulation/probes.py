"""Looking into a store from outside the protocol, for the checkers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from webordinary.backends.loading import Call, Needs
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.ledger import REPLIES_OWED
from webordinary.backends.sqlite.store import rules_on
from webordinary.backends.sqlite.tx import Tx
from webordinary.claim.fairness import Seats, WaitingLane
from webordinary.claim.rules import Rules
from webordinary.core.claim import WorkerId
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What the checkers want to know of a job."""

    state: JobState
    attempt: int
    fence: int
    replies_owed: int


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What the checkers want to know before and after a worker takes lanes."""

    waiting: dict[Lane, WaitingLane]
    held: int
    others: list[Seats]  # of workers with a free slot

    @classmethod
    def seen(cls, rules: Rules, worker: WorkerId) -> PoolFacts:
        """Look at what a claim looks at."""
        waiting = rules.rows.index().waiting(None)
        lanes = {one.lane: one for one in waiting.longest(rules.rows.now)}
        return cls(lanes, waiting.held(worker), list(waiting.others_with_room(worker)))


class Probe(Protocol):
    """Looks without asking the protocol."""

    def jobs_of(self, lane: Lane) -> dict[JobId, JobFacts]:
        """All jobs of a lane in the order of submission."""
        ...

    def fingerprint(self) -> Hashable:
        """Something that differs whenever ownership or claim requests differ."""
        ...

    def longest_wait(self) -> float:
        """For how many seconds the lane that waits longest has waited for an owner."""
        ...

    def pool(self, worker: WorkerId) -> PoolFacts:
        """Which lanes wait, how many a worker holds, and who else has room."""
        ...


class MemoryProbe:
    """Looks into a memory store."""

    def __init__(self, store: MemoryStore) -> None:
        """Look into this store."""
        self._store, self._rows = store, store.rows

    def jobs_of(self, lane: Lane) -> dict[JobId, JobFacts]:
        """See `Probe.jobs_of`."""
        return {
            job: JobFacts(row.state, row.attempt, row.fence, len(row.replies_owed))
            for job, row in self._rows.jobs.items()
            if row.job.lane == lane
        }

    def fingerprint(self) -> Hashable:
        """See `Probe.fingerprint`."""
        return tuple(
            (row.lane, row.worker, row.fence, row.lease_until, row.wanted_since, len(row.open))
            for row in self._rows.lanes.values()
        )

    def longest_wait(self) -> float:
        """See `Probe.longest_wait`."""
        return self._store.run_now(Call(Needs(), lambda rules: rules.rows.index().pressure()))[1]

    def pool(self, worker: WorkerId) -> PoolFacts:
        """See `Probe.pool`."""
        return self._store.run_now(Call(Needs(), lambda rules: PoolFacts.seen(rules, worker)))


class SqliteProbe:
    """Looks into a SQLite file."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        """Look into this file."""
        self._engine, self._limits = engine, limits

    def jobs_of(self, lane: Lane) -> dict[JobId, JobFacts]:
        """See `Probe.jobs_of`."""

        def look(tx: Tx) -> dict[JobId, JobFacts]:
            rows = tx.all(
                f"SELECT id, state, attempt, fence, {REPLIES_OWED} FROM jobs"  # noqa: S608 - a constant of ours
                " WHERE lane = ? ORDER BY seq",
                (lane.key,),
            )
            return {JobId(row[0]): JobFacts(JobState(row[1]), *row[2:]) for row in rows}

        return self._engine.read(look)

    def fingerprint(self) -> Hashable:
        """See `Probe.fingerprint`."""
        return tuple(
            self._engine.read(
                lambda tx: tx.all(
                    "SELECT lane, worker, fence, lease_until, wanted_since FROM lanes ORDER BY lane"
                )
            )
        )

    def longest_wait(self) -> float:
        """See `Probe.longest_wait`."""
        return self._engine.read(lambda tx: rules_on(tx, self._limits).rows.index().pressure())[1]

    def pool(self, worker: WorkerId) -> PoolFacts:
        """See `Probe.pool`."""
        return self._engine.read(lambda tx: PoolFacts.seen(rules_on(tx, self._limits), worker))
