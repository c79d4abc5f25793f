"""The checkers. They see every effect on the store when it happens, and keep their own books.

1. at most one fence's effects are accepted per lane at a time
2. jobs of a lane run and end in the order of submission, one at a time
3. nothing is lost or done twice: every job ends once, and its reply is owed once
4. with one healthy worker every lane drains in bounded time
5. the gatekeeper never writes
6. no lane waits for long while a slot is idle
7. no job stops or runs again without a cause, and one that is asked to stop does
8. wake-ups come after the commit
9. who takes a lane that only just began to wait holds no more than others could
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from webordinary.claim.rows import Nothing
from webordinary.core.claim import Claim, Claimed, Delivery, Pulse, WorkerId
from webordinary.core.job import ENDED, MOVES, OPEN, Arrival, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Outcome, Retry
from webordinary.simulation.probes import JobFacts, PoolFacts, Probe


class Checker(StrEnum):
    """Which promise was broken."""

    ONE_FENCE = "one fence at a time"
    ORDER = "order"
    NOTHING_LOST = "nothing lost, nothing twice"
    DRAINS = "drains in bounded time"
    GATEKEEPER = "the gatekeeper never writes"
    NO_IDLE_WAIT = "no lane waits while a slot is idle"
    CAUSE = "no job stops or runs again without a cause"
    HEEDED = "who is asked to stop does"
    WAKEUPS = "wake-ups come after the commit"
    SPREADS = "lanes spread over the workers"
    NO_SURPRISE = "no unforeseen error"


class Violation(Exception):
    """A promise was broken."""

    def __init__(self, checker: Checker, text: str) -> None:
        """Say which promise, and how."""
        super().__init__(f"{checker}: {text}")
        self.checker = checker


@dataclass(slots=True)
class _LaneBook:
    holder: Claim | None = None
    lease_until: float = 0.0
    fence: int = 0
    order: list[JobId] = field(default_factory=list)
    states: dict[JobId, JobState] = field(default_factory=dict)


class Witness:
    """Books of one schedule."""

    def __init__(
        self, probe: Probe, clock: Callable[[], float], limits: Limits, note: Callable[[str], None]
    ) -> None:
        """Start with empty books. `clock` is the store's."""
        self.probe = probe
        self.violations: list[Violation] = []
        self.jobs: dict[JobId, Job] = {}
        self._clock, self._note = clock, note
        self._lease_seconds, self._spread_seconds = limits.lease_seconds, limits.exchange_grace_seconds
        self._lanes: dict[Lane, _LaneBook] = {}
        self.heed_seconds = math.inf  # in which a job that is to stop has ended
        self.repeats = True  # workers may be lost, so a job may run again
        self._stops: dict[JobId, float] = {}  # jobs that were to stop, and since when
        self._retries: Counter[JobId] = Counter()
        self._redriven: set[JobId] = set()

    def broken(self, checker: Checker, text: str) -> None:
        """Write down a broken promise."""
        self._note(f"VIOLATION {checker}: {text}")
        self.violations.append(Violation(checker, text))

    # --- ownership --------------------------------------------------------------------------------

    def claimed(self, answer: Claimed | Nothing) -> None:
        """Lanes changed hands."""
        if isinstance(answer, Nothing):
            return
        for claim in answer.given_up:
            self._note(f"exchange gives up {claim.lane} fence {claim.fence}")
            self.released(claim)
        for claim in answer.claims:
            self._claimed(claim)

    def took(self, worker: WorkerId, before: PoolFacts, answer: Claimed) -> None:
        """Would somebody who holds far fewer lanes have had room for a lane that only just began to wait?"""
        now, grace = self._clock(), self._spread_seconds
        taken = [before.waiting[claim.lane] for claim in answer.claims if claim.lane in before.waiting]
        fresh = [one for one in taken if one.since + grace > now and one.last_worker != worker]
        held, left = before.held + len(answer.claims), len(before.waiting) - len(taken)
        if fresh and any(held > min(one.held + left, one.slots) + 1 for one in before.others):
            self.broken(Checker.SPREADS, f"{worker} took {fresh[-1].lane}, its lane number {held}")

    def _claimed(self, claim: Claim) -> None:
        book = self._book(claim.lane)
        self._note(f"{claim.worker} claims {claim.lane} fence {claim.fence}")
        if book.holder is not None and book.lease_until > self._clock():
            self.broken(Checker.ONE_FENCE, f"{claim.lane} claimed while {book.holder.worker} holds it")
        if claim.fence <= book.fence:
            self.broken(Checker.ONE_FENCE, f"{claim.lane}: fence {claim.fence} after {book.fence}")
        book.holder, book.fence = claim, claim.fence
        book.lease_until = self._clock() + self._lease_seconds

    def kept(self, claims: Sequence[Claim], answer: Pulse) -> None:
        """Leases were renewed."""
        for claim in claims:
            if claim not in answer.lost:
                book = self._book(claim.lane)
                if book.holder != claim:
                    self.broken(Checker.ONE_FENCE, f"{claim.worker} renewed {claim.lane}, which it lost")
                book.lease_until = self._clock() + self._lease_seconds

    def released(self, claim: Claim) -> None:
        """A lane was given up, or a former owner said so too late."""
        book = self._book(claim.lane)
        if book.holder == claim:
            self._note(f"{claim.worker} released {claim.lane} fence {claim.fence}")
            book.holder = None
        self._look_at(claim.lane)

    def gatekeeper_looked(self, before: Hashable) -> None:
        """The gatekeeper has answered."""
        if self.probe.fingerprint() != before:
            self.broken(Checker.GATEKEEPER, "the store differs after the gatekeeper looked")

    # --- jobs -------------------------------------------------------------------------------------

    def submitted(self, job: Job, answer: Submitted | Duplicate) -> None:
        """A job is in its lane."""
        if isinstance(answer, Submitted):
            self._note(f"{job.id} submitted to {job.lane} ({job.arrival})")
            self.jobs[job.id] = job
            book = self._book(job.lane)
            if job.arrival is Arrival.REPLACE_PENDING:
                self._stops |= {one: math.inf for one in book.order if book.states[one] in OPEN}
            if answer.interrupts is not None:
                self._stops[answer.interrupts] = self._clock()
            book.order.append(job.id)
            book.states[job.id] = JobState.QUEUED
        self._look_at(job.lane)

    def delivered(self, claim: Claim, answer: Delivery | Nothing) -> None:
        """A job was handed out, or nothing."""
        if isinstance(answer, Delivery):
            self._note(
                f"{claim.worker} is given {answer.job.id} attempt {answer.attempt} fence {claim.fence}"
            )
            if self._book(claim.lane).holder != claim:
                self.broken(
                    Checker.ONE_FENCE, f"{claim.worker} was given a job of {claim.lane}, which it lost"
                )
            if not self.repeats and answer.attempt > 1 + self._retries[answer.job.id]:
                self.broken(Checker.CAUSE, f"{answer.job.id} runs again, and nobody was lost")
        self._look_at(claim.lane)

    def settled(self, delivery: Delivery, outcome: Outcome, answer: Delivery | Nothing) -> None:
        """A settle was accepted."""
        claim = delivery.claim
        self._note(f"{claim.worker} settles {delivery.job.id} attempt {delivery.attempt}: {outcome}")
        self._retries[delivery.job.id] += isinstance(outcome, Retry)
        if self._book(claim.lane).holder != claim:
            self.broken(
                Checker.ONE_FENCE, f"settle of {delivery.job.id} accepted from a former owner of {claim.lane}"
            )
        self.delivered(claim, answer)

    def _look_at(self, lane: Lane) -> None:
        """Compare the lane's jobs with the books: which moved, and was that allowed?"""
        book, facts = self._book(lane), self.probe.jobs_of(lane)
        for job, fact in facts.items():
            before = book.states.get(job)
            if before is not None and fact.state is not before:
                self._moved(book, job, before, fact.state)
                book.states[job] = fact.state
        running = [job for job, fact in facts.items() if fact.state is JobState.RUNNING]
        if len(running) > 1:
            self.broken(Checker.ORDER, f"{lane} has {len(running)} unsettled jobs: {running}")
        self._check_heads(book, facts)

    def _check_heads(self, book: _LaneBook, facts: dict[JobId, JobFacts]) -> None:
        """Only the first open job may be running or in back-off."""
        still_open = [job for job in book.order if facts[job].state not in ENDED]
        for job in still_open[1:]:
            if facts[job].state is not JobState.QUEUED:
                self.broken(Checker.ORDER, f"{job} is {facts[job].state} behind {still_open[0]}")

    def _moved(self, book: _LaneBook, job: JobId, before: JobState, after: JobState) -> None:
        self._note(f"{job}: {before} -> {after}")
        if before in ENDED:
            self.broken(Checker.NOTHING_LOST, f"{job} was {before} and became {after}")
        elif after not in MOVES[before] and not (
            before is JobState.QUEUED and after in MOVES[JobState.RUNNING]
        ):
            self.broken(Checker.ORDER, f"{job} moved from {before} to {after}")
        if after is JobState.PREEMPTED and job not in self._stops:
            self.broken(Checker.CAUSE, f"{job} was stopped, and nobody asked for it")
        if after in ENDED and self._clock() - self._stops.get(job, math.inf) > self.heed_seconds:
            self.broken(Checker.HEEDED, f"{job} ended {self._clock() - self._stops[job]:g} s after that")
        replaced = after is JobState.PREEMPTED and before is not JobState.RUNNING
        if after in ENDED and not replaced:
            ahead = [
                other for other in book.order[: book.order.index(job)] if book.states[other] not in ENDED
            ]
            if ahead:
                self.broken(Checker.ORDER, f"{job} ended before {ahead}")

    # --- operators, and clocks ----------------------------------------------------------------------

    def dead_job(self, lane: Lane) -> JobId | None:
        """A dead job that an operator may choose."""
        states = self._book(lane).states
        return next((job for job in states if states[job] is JobState.DEAD), None)

    def evicted(self, lane: Lane) -> None:
        """A lane was taken away."""
        self._note(f"{lane} is taken away")
        self._book(lane).holder = None

    def stopped(self, lane: Lane, job: JobId | None) -> None:
        """A job was to stop."""
        if job is not None:
            self._note(f"{job} is to stop")
            self._stops.setdefault(job, self._clock())
        self._look_at(lane)

    def moved(self, lane: Lane, job: JobId, *, redriven: bool) -> None:
        """A dead job was queued again, or dropped."""
        self._note(f"{job} is {'redriven' if redriven else 'dropped'}")
        book = self._book(lane)
        book.states[job] = JobState.QUEUED if redriven else JobState.DROPPED
        if redriven:
            book.order.remove(job)
            book.order.append(job)
            self._redriven.add(job)
            self._stops.pop(job, None)
        self._look_at(lane)

    def clock_stepped(self) -> None:
        """No lease that was written before says anything by this clock."""
        for book in self._lanes.values():
            book.lease_until = -math.inf
        self._stops = dict.fromkeys(self._stops, math.inf)

    def _book(self, lane: Lane) -> _LaneBook:
        return self._lanes.setdefault(lane, _LaneBook())

    # --- at the end -------------------------------------------------------------------------------

    def all_ended(self) -> bool:
        """Whether every submitted job has ended."""
        return not self.unfinished()

    def unfinished(self) -> list[str]:
        """Name the jobs that have not ended."""
        return [
            f"{job} ({facts.state})"
            for lane in self._lanes
            for job, facts in self.probe.jobs_of(lane).items()
            if facts.state not in ENDED
        ]

    def check_the_end(self) -> None:
        """Check 3: every job that was accepted is there, ended, with its reply owed once."""
        for lane, book in self._lanes.items():
            self._look_at(lane)
            facts = self.probe.jobs_of(lane)
            for job in book.order:
                if job not in facts:
                    self.broken(Checker.NOTHING_LOST, f"{job} is gone")
                elif facts[job].state in ENDED and not 0 < facts[job].replies_owed <= 1 + (
                    job in self._redriven
                ):
                    self.broken(Checker.NOTHING_LOST, f"{job} owes {facts[job].replies_owed} replies")
