"""Wrong protocols. Each is one fault of the first build, or a near miss of ours; the checkers must catch all.

A mutant with the sweep off must be caught under faults that the right protocol survives without its
sweep; `control` is that run, and it must stay clean, or being caught would mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webordinary.backends.memory.rows import JobRow, LaneRow
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.polling import Nothing
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.lane_runner import LaneServer
from webordinary.claim.release_reasons import LetGo
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, WorkerId
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Outcome, Preempted
from webordinary.core.views import Happening
from webordinary.ports.clock import Clock
from webordinary.simulation.faults import EVERY_FAULT, Fault

GENTLE = frozenset({Fault.HINTS, Fault.DUPLICATES, Fault.SKEW, Fault.BEFORE})


class Stepwise(MemoryStore):
    """A store without transactions: time passes between two steps of a verb, and a step may fail."""

    async def between_steps(self) -> None:
        """Let others act; now and then the next step never comes."""
        await self._clock.sleep(self._clock.chance() * 2)
        if self._clock.chance() < 0.1:  # noqa: PLR2004
            raise BackendUnavailable("the second step failed")


class GatekeeperClaims(MemoryStore):
    """The check claims the lane for a container that does not exist."""

    async def owner(self, lane: Lane) -> Ownership | None:
        """Write where only reading was asked."""
        row = self._lane(lane)
        if not row.owned(self._clock.now()):
            self._take(row, WorkerId("container-made-up"))
        return await super().owner(lane)


class RowAbsenceOnly(MemoryStore):
    """A claim succeeds only if there is no owner at all; an expired lease counts for nothing."""

    def _ready(
        self, worker: WorkerId, most: int, only: Lane | None, *, exchange: bool
    ) -> tuple[list[LaneRow], float]:
        ready, retry_in = super()._ready(worker, most, only, exchange=exchange)
        return [row for row in ready if row.worker is None], retry_in


class CheckThenSend(Stepwise):
    """Ownership is checked first, the job is sent afterwards."""

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """Trust an old look at the owner."""
        known = self._by_message.get((job.lane, job.message_id))
        if known is not None:
            return Duplicate(known)
        owned = self._lane(job.lane).owned(self._clock.now())
        await self._clock.sleep(self._clock.chance() * 2)
        row = self._lane(job.lane)
        wanted = row.wanted_since
        answer = await super().submit(job)
        if owned:
            row.wanted_since = wanted
        return answer


class ReleaseWithoutSecondLook(Stepwise):
    """The owner looks at its queue, sees nothing, and lets go a little later without looking again."""

    async def release(self, claim: Claim) -> None:
        """Trust an old look at the queue."""
        row = self.lanes[claim.lane]
        empty = not row.open
        await self._clock.sleep(self._clock.chance() * 2)
        wanted = row.wanted_since
        await super().release(claim)
        if empty:
            row.wanted_since = wanted

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Exchange by two steps: release, then claim."""
        if room:
            return await super().claim(worker, room, idle, only)
        ready, retry_in = self._ready(worker, 1, only, exchange=True)
        spare = next((claim for claim in idle if self._spare(claim)), None)
        if not ready or spare is None:
            return Nothing(retry_in)
        await self.release(spare)
        claimed = await super().claim(worker, 1, (), only)
        claims = claimed.claims if isinstance(claimed, Claimed) else ()
        return Claimed(claims, (spare,))


class NoSweep(MemoryStore):
    """Nothing ever looks for stranded lanes."""


class RequestBounced(MemoryStore):
    """A claim request for an owned lane goes back to its queue, and after three times to the dead letters."""

    dead_requests = 0

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """Ask for an owner whether there is one or not."""
        answer = await super().submit(job)
        self._want(self._lane(job.lane))
        return answer

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Bounce requests of owned lanes."""
        for row in self.lanes.values():
            if row.wanted_since is not None and row.owned(self._clock.now()):
                row.wanted_from += 1e-6
                if row.wanted_from >= 3e-6:  # noqa: PLR2004
                    row.wanted_since = None
                    self.dead_requests += 1
        return await super().claim(worker, room, idle, only)


class NoFencing(MemoryStore):
    """Whoever once was given a job may settle it."""

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Believe a former owner."""
        row, job = self.lanes[delivery.claim.lane], self.jobs[delivery.job.id]
        if job.state is JobState.RUNNING:
            self._settle(row, job, outcome)
        return self._next(row, delivery.claim) if more and row.held_by(delivery.claim) else Nothing()


class InterruptLeavesHead(MemoryStore):
    """An interrupted job is not settled: its message stays in flight and blocks the lane."""

    def __init__(self, limits: Limits, clock: Clock, wakeups: Wakeups) -> None:
        """Start with no message in flight."""
        super().__init__(limits, clock, wakeups)
        self._in_flight: set[tuple[JobId, int]] = set()

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Forget to settle what was interrupted."""
        if isinstance(outcome, Preempted):
            self._held(delivery.claim)
            self._in_flight.add((delivery.job.id, delivery.claim.fence))
            return Nothing()
        return await super().settle(delivery, outcome, more=more)

    def _next(self, row: LaneRow, claim: Claim) -> Delivery | Nothing:
        if row.head is not None and (row.head.job.id, claim.fence) in self._in_flight:
            return Nothing()
        return super()._next(row, claim)


class NeverGivesWay(MemoryStore):
    """An idle owner keeps its lane for the full thirty minutes, whoever waits."""

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Offer nothing in exchange."""
        del idle
        return await super().claim(worker, room, (), only)


class FenceRestarts(MemoryStore):
    """Releasing deletes the row, and the fence with it."""

    def _let_go(self, row: LaneRow, why: Happening) -> None:
        super()._let_go(row, why)
        row.fence = 0


class PrefetchTwo(MemoryStore):
    """The owner is given the head and the job behind it."""

    def _next(self, row: LaneRow, claim: Claim) -> Delivery | Nothing:
        answer = super()._next(row, claim)
        if isinstance(answer, Delivery) and len(row.open) > 1 and row.open[1].state is JobState.QUEUED:
            row.open[1].state, row.open[1].fence = JobState.RUNNING, claim.fence
        return answer


class CommitNotIdempotent(MemoryStore):
    """Settling twice does it twice: a repeated call after a lost answer owes a second reply."""

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Owe again on every call."""
        job = self.jobs[delivery.job.id]
        settled_before = job.state is not JobState.RUNNING
        answer = await super().settle(delivery, outcome, more=more)
        if settled_before and job.replies_owed:
            job.replies_owed.add(f"again {len(job.replies_owed)}")
        return answer


class RequestConsumedFirst(Stepwise):
    """The claim request is consumed, and only then is the claim written."""

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Consume, pause, claim."""
        ready, retry_in = self._ready(worker, 1, only, exchange=not room)
        if not ready:
            return Nothing(retry_in)
        wanted, ready[0].wanted_since = ready[0].wanted_since, None
        await self.between_steps()
        if ready[0].wanted_since is None:
            ready[0].wanted_since = wanted
        return await super().claim(worker, room, idle, only)


class SideTaskBeats(LaneServer):
    """The beat vouches for every lane the worker knows, whether its loop lives or is stuck."""

    def trusted(self) -> bool:
        """Trust everybody who was not lost."""
        return self.reason is not LetGo.LOST


class DeadOwnerKeepsHead(MemoryStore):
    """The next owner waits for the lost owner's job instead of running it again."""

    def _redeliverable(self, row: LaneRow, head: JobRow) -> bool:
        del head
        row.parked_until = self._clock.now() + 1e6
        return False


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong protocol, and under which weather it is tried."""

    store: type[MemoryStore] = MemoryStore
    server: type[LaneServer] = LaneServer
    sweep: bool = True
    faults: frozenset[Fault] = EVERY_FAULT

    @property
    def what(self) -> str:
        """What is wrong with it."""
        wrong: type = self.store if self.store is not MemoryStore else self.server
        return (wrong.__doc__ or "").partition("\n")[0]

    @property
    def has_control(self) -> bool:
        """Whether the right protocol must survive the same weather without its sweep."""
        return not self.sweep and self.store is not NoSweep


MUTANTS: dict[str, Mutant] = {
    "gatekeeper-claims": Mutant(GatekeeperClaims),
    "row-absence-only": Mutant(RowAbsenceOnly),
    "check-then-send": Mutant(CheckThenSend, sweep=False, faults=GENTLE),
    "release-without-second-look": Mutant(ReleaseWithoutSecondLook, sweep=False, faults=GENTLE),
    "no-sweep": Mutant(NoSweep, sweep=False),
    "request-bounced": Mutant(RequestBounced),
    "no-fencing": Mutant(NoFencing),
    "interrupt-leaves-head": Mutant(InterruptLeavesHead),
    "never-gives-way": Mutant(NeverGivesWay),
    "side-task-beats": Mutant(server=SideTaskBeats),
    "fence-restarts": Mutant(FenceRestarts),
    "prefetch-two": Mutant(PrefetchTwo),
    "commit-not-idempotent": Mutant(CommitNotIdempotent),
    "request-consumed-first": Mutant(RequestConsumedFirst, sweep=False, faults=GENTLE),
    "dead-owner-keeps-head": Mutant(DeadOwnerKeepsHead),
}
