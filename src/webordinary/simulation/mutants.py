"""Wrong protocols. Each is one fault of the first build, or a near miss of ours; the checkers must catch all.

A mutant with the sweep off must be caught under faults that the right protocol survives without its
sweep; `control` is that run, and it must stay clean, or being caught would mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from webordinary.backends.loading import Call, Needs
from webordinary.backends.memory.store import MemoryStore
from webordinary.claim.lane_runner import LaneServer
from webordinary.claim.release_reasons import LetGo
from webordinary.claim.rows import JobRow, LaneRow, Nothing, Rows
from webordinary.claim.rules import Rules
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, WorkerId
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Duplicate, Job, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Outcome, Preempted
from webordinary.core.views import Happening
from webordinary.simulation.faults import EVERY_FAULT, Fault

NONE: frozenset[Fault] = frozenset()
GENTLE = frozenset({Fault.HINTS, Fault.DUPLICATES, Fault.SKEW, Fault.BEFORE})


class Stepwise(MemoryStore):
    """A store without transactions: time passes between two steps of a verb, and a step may fail."""

    async def between_steps(self) -> None:
        """Let others act; now and then the next step never comes."""
        await self.clock.sleep(self.clock.chance() * 2)
        if self.clock.chance() < 0.1:  # noqa: PLR2004
            raise BackendUnavailable("the second step failed")

    def ready(self, worker: WorkerId, only: Lane | None, *, exchange: bool) -> tuple[list[LaneRow], float]:
        """Look which lane could be taken, and take none."""
        return self.run_now(Call(Needs(), lambda rules: rules.ready(worker, 1, only, exchange=exchange)))


class GatekeeperClaims(Rules):
    """The check claims the lane for a container that does not exist."""

    def owner(self, lane: Lane) -> Ownership | None:
        """Write where only reading was asked."""
        row = self.rows.lane(lane) or self.rows.add_lane(lane)
        if not row.owned(self.rows.now, self.limits):
            self._take(row, WorkerId("container-made-up"))
        return super().owner(lane)


class RowAbsenceOnly(Rules):
    """A claim succeeds only if there is no owner at all; an expired lease counts for nothing."""

    def ready(
        self, worker: WorkerId, most: int, only: Lane | None, *, exchange: bool
    ) -> tuple[list[LaneRow], float]:
        """Pass over lanes of dead owners."""
        ready, retry_in = super().ready(worker, most, only, exchange=exchange)
        return [row for row in ready if row.worker is None], retry_in


class CheckThenSend(Stepwise):
    """Ownership is checked first, the job is sent afterwards."""

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """Trust an old look at the owner."""
        known = self.rows.job_of_message(job.lane, job.message_id)
        if known is not None:
            return Duplicate(known)
        owned = await self.owner(job.lane) is not None
        await self.clock.sleep(self.clock.chance() * 2)
        row = self.rows.lane(job.lane)
        wanted = row.wanted_since if row else None
        answer = await super().submit(job)
        if owned:
            self.rows.lanes[job.lane].wanted_since = wanted
        return answer


class ReleaseWithoutSecondLook(Stepwise):
    """The owner looks at its queue, sees nothing, and lets go a little later without looking again."""

    async def release(self, claim: Claim) -> None:
        """Trust an old look at the queue."""
        row = self.rows.lanes[claim.lane]
        empty = not row.open
        await self.clock.sleep(self.clock.chance() * 2)
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
        ready, retry_in = self.ready(worker, only, exchange=True)
        spare = next((claim for claim in idle if self.rules.is_spare(claim)), None)
        if not ready or spare is None:
            return Nothing(retry_in)
        await self.release(spare)
        claimed = await super().claim(worker, 1, (), only)
        claims = claimed.claims if isinstance(claimed, Claimed) else ()
        return Claimed(claims, (spare,))


class NoSweep(Rules):
    """Nothing ever looks for stranded lanes."""


class RequestBounced(MemoryStore):
    """A claim request for an owned lane goes back to its queue, and after three times to the dead letters."""

    dead_requests = 0

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """Ask for an owner whether there is one or not."""
        answer = await super().submit(job)
        row = self.rows.lanes[job.lane]
        if row.wanted_since is None:
            row.wanted_since = self.clock.now()
            row.wanted_from = row.due_from(self.clock.now(), self.limits)
        return answer

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Bounce requests of owned lanes."""
        for row in self.rows.lanes.values():
            if row.wanted_since is not None and row.owned(self.clock.now(), self.limits):
                row.wanted_from += 1e-6
                if row.wanted_from >= 3e-6:  # noqa: PLR2004
                    row.wanted_since = None
                    self.dead_requests += 1
        return await super().claim(worker, room, idle, only)


class NoFencing(Rules):
    """Whoever once was given a job may settle it."""

    def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Believe a former owner."""
        lane, job = self.rows.lane(delivery.claim.lane), self.rows.job(delivery.job.id)
        assert lane is not None
        assert job is not None
        if job.state is JobState.RUNNING:
            self._settle(lane, job, outcome)
        return self._next(lane, delivery.claim) if more and lane.held_by(delivery.claim) else Nothing()


class InterruptLeavesHead(Rules):
    """An interrupted job is not settled: its message stays in flight and blocks the lane."""

    def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Forget to settle what was interrupted; nobody works on it any more."""
        job = self.rows.job(delivery.job.id)
        if job is None or not isinstance(outcome, Preempted):
            return super().settle(delivery, outcome, more=more)
        self._held(delivery.claim)
        job.worker = None
        return Nothing()

    def _next(self, lane: LaneRow, claim: Claim) -> Delivery | Nothing:
        head = lane.head
        if head and head.state is JobState.RUNNING and head.fence == claim.fence and head.worker is None:
            return Nothing()
        return super()._next(lane, claim)


class NeverGivesWay(Rules):
    """An idle owner keeps its lane for the full thirty minutes, whoever waits."""

    def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Offer nothing in exchange."""
        del idle
        return super().claim(worker, room, (), only)


class FenceRestarts(Rules):
    """Releasing deletes the row, and the fence with it."""

    def _let_go(self, lane: LaneRow, why: Happening) -> None:
        super()._let_go(lane, why)
        lane.fence = 0


class PrefetchTwo(Rules):
    """The owner is given the head and the job behind it."""

    def _next(self, lane: LaneRow, claim: Claim) -> Delivery | Nothing:
        answer = super()._next(lane, claim)
        if isinstance(answer, Delivery) and len(lane.open) > 1 and lane.open[1].state is JobState.QUEUED:
            lane.open[1].state, lane.open[1].fence = JobState.RUNNING, claim.fence
        return answer


class CommitNotIdempotent(Rules):
    """Settling twice does it twice: a repeated call after a lost answer owes a second reply."""

    def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """Owe again on every call."""
        job = self.rows.job(delivery.job.id)
        settled_before = job is not None and job.state is not JobState.RUNNING
        answer = super().settle(delivery, outcome, more=more)
        if job is not None and settled_before and job.replies_owed:
            job.replies_owed |= {f"again {len(job.replies_owed)}"}
        return answer


class RequestConsumedFirst(Stepwise):
    """The claim request is consumed, and only then is the claim written."""

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """Consume, pause, claim."""
        ready, retry_in = self.ready(worker, only, exchange=not room)
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


class StopNotReset(LaneServer):
    """The job after a stopped one is told to stop, too."""

    def _begin(self, delivery: Delivery) -> None:
        stop = self._stop
        super()._begin(delivery)
        self._stop = stop


class Unstoppable(LaneServer):
    """Once a job was stopped, no later one of its lane can be."""

    def _begin(self, delivery: Delivery) -> None:
        stopping = self._stopping
        super()._begin(delivery)
        self._stopping = stopping


class ForceHitsNext(LaneServer):
    """The timer that forces a stop goes on when the job has ended, and hits the next one."""

    def _finish(self) -> None:
        self._force = None
        super()._finish()


class TakesAllItCan(Rules):
    """A worker with room takes every lane that waits, though others hold none."""

    def __init__(self, rows: Rows, limits: Limits) -> None:
        """Leave nothing to others, not for a moment."""
        super().__init__(rows, replace(limits, exchange_grace_seconds=1e-9))


class DeadOwnerKeepsHead(Rules):
    """The next owner waits for the lost owner's job instead of running it again."""

    def _redeliverable(self, lane: LaneRow, head: JobRow) -> bool:
        del head
        lane.parked_until = self.rows.now + self.limits.breaker_seconds
        return False


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong protocol, and under which weather it is tried."""

    rules: type[Rules] = Rules
    store: type[MemoryStore] = MemoryStore  # what is wrong between two steps is wrong in a store
    server: type[LaneServer] = LaneServer
    sweep: bool = True
    faults: frozenset[Fault] = EVERY_FAULT

    @property
    def what(self) -> str:
        """What is wrong with it."""
        wrong = next(
            part for part in (self.rules, self.store, self.server) if part not in (Rules, MemoryStore)
        )
        return (wrong.__doc__ or "").partition("\n")[0]

    @property
    def has_control(self) -> bool:
        """Whether the right protocol must survive the same weather without its sweep."""
        return not self.sweep and self.rules is not NoSweep


MUTANTS: dict[str, Mutant] = {
    "gatekeeper-claims": Mutant(GatekeeperClaims),
    "row-absence-only": Mutant(RowAbsenceOnly),
    "check-then-send": Mutant(store=CheckThenSend, sweep=False, faults=GENTLE),
    "release-without-second-look": Mutant(store=ReleaseWithoutSecondLook, sweep=False, faults=GENTLE),
    "no-sweep": Mutant(NoSweep, sweep=False),
    "request-bounced": Mutant(store=RequestBounced),
    "no-fencing": Mutant(NoFencing),
    "interrupt-leaves-head": Mutant(InterruptLeavesHead),
    "never-gives-way": Mutant(NeverGivesWay),
    "side-task-beats": Mutant(server=SideTaskBeats),
    "fence-restarts": Mutant(FenceRestarts),
    "prefetch-two": Mutant(PrefetchTwo),
    "commit-not-idempotent": Mutant(CommitNotIdempotent),
    "request-consumed-first": Mutant(store=RequestConsumedFirst, sweep=False, faults=GENTLE),
    "takes-all-it-can": Mutant(TakesAllItCan),
    "dead-owner-keeps-head": Mutant(DeadOwnerKeepsHead),
    "stop-not-reset": Mutant(server=StopNotReset, faults=NONE),
    "unstoppable": Mutant(server=Unstoppable, faults=NONE),
    "force-hits-next": Mutant(server=ForceHitsNext, faults=NONE),
}
