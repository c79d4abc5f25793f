"""The verbs of the protocol as calls: what each has to see, and the rule that it runs.

A store loads what the calls of one transaction need, in one read for all of them, runs their rules in order,
and saves the difference in one write.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from webordinary.claim.rows import Nothing
from webordinary.claim.rules import Rules
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import Arrival, Duplicate, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.core.outcome import Outcome

T = TypeVar("T")

HEAD, NEXT, ALL = 1, 2, 1_000_000_000  # how many of a lane's open jobs, from its head on


@dataclass(slots=True)
class SweepCursor:
    """How far the sweeps of a store have come: each looks at the next few lanes with work."""

    after: str = ""
    looked_to: str = ""


@dataclass(slots=True)
class Needs:
    """What a call has to see."""

    lanes: Sequence[Lane] = ()
    open_jobs: int = 0  # so many of each lane's, from its head on
    jobs: Sequence[JobId] = ()  # these, too
    in_hand: Job | None = None  # of that one, what never changes is known
    message: str = ""  # and the job that the first lane has for this message id
    counted: bool = False  # and how many open jobs the lanes have
    sweep: SweepCursor | None = None  # where a sweep goes on


@dataclass(slots=True)
class Call(Generic[T]):
    """One call of a verb."""

    needs: Needs
    rule: Callable[[Rules], T]


class RuleStore:
    """See `Store` and `Control`: every verb is a call, and a backend knows how to run calls."""

    @abstractmethod
    async def run(self, call: Call[T]) -> T:
        """Run a call in a transaction, possibly together with others. What it raises leaves no trace."""

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """See `Broker.submit`."""
        return await self.run(submission(job))

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`."""
        return await self.run(Call(Needs([lane]), lambda rules: rules.owner(lane)))

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Broker.claim`."""
        needs = Needs([] if room else [claim.lane for claim in idle], HEAD)
        return await self.run(Call(needs, lambda rules: rules.claim(worker, room, idle, only)))

    async def next_job(self, claim: Claim) -> Delivery | Nothing:
        """See `Broker.next_job`."""
        return await self.run(Call(Needs([claim.lane], NEXT), lambda rules: rules.next_job(claim)))

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Broker.keep`."""
        needs = Needs([claim.lane for claim in claims], HEAD)
        return await self.run(Call(needs, lambda rules: rules.keep(presence, claims)))

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """See `Broker.settle`."""
        needs = Needs([delivery.claim.lane], NEXT, [delivery.job.id], delivery.job)
        return await self.run(Call(needs, lambda rules: rules.settle(delivery, outcome, more=more)))

    async def release(self, claim: Claim) -> None:
        """See `Broker.release`."""
        await self.run(Call(Needs([claim.lane], HEAD), lambda rules: rules.release(claim)))

    async def sweep(self) -> int:
        """See `Broker.sweep`."""
        return await self.run(Call(Needs(), lambda rules: rules.sweep()))

    async def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        """See `Control.interrupt`."""
        needs = Needs([lane], NEXT, [job] if job else [])
        return await self.run(Call(needs, lambda rules: rules.interrupt(lane, job)))

    async def evict(self, lane: Lane) -> bool:
        """See `Control.evict`."""
        return await self.run(Call(Needs([lane], HEAD), lambda rules: rules.evict(lane)))

    async def bury(self, lane: Lane, worker: WorkerId) -> bool:
        """See `Control.bury`."""
        return await self.run(Call(Needs([lane], HEAD), lambda rules: rules.bury(lane, worker)))

    async def redrive(self, job: JobId) -> None:
        """See `Control.redrive`."""
        await self.run(Call(Needs(jobs=[job]), lambda rules: rules.redrive(job)))

    async def drop(self, job: JobId) -> None:
        """See `Control.drop`."""
        await self.run(Call(Needs(jobs=[job]), lambda rules: rules.drop(job)))


def submission(job: Job) -> Call[Submitted | Duplicate]:
    """Submit a job: see its lane, those of the jobs before it that its arrival concerns, and its message."""
    seen = ALL if job.arrival is Arrival.REPLACE_PENDING else HEAD
    needs = Needs([job.lane], seen, message=job.message_id, counted=True)
    return Call(needs, lambda rules: rules.submit(job))
