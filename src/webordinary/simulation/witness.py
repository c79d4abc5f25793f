"""The checkers. They see every effect on the store when it happens, and keep their own books.

1. at most one fence's effects are accepted per lane at a time
2. jobs of a lane run and end in the order of submission, one at a time
3. nothing is lost or done twice: every job ends once, and its reply is owed once
4. with one healthy worker every lane drains in bounded time
5. the gatekeeper never writes
6. no lane waits for long while a slot is idle
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from webordinary.claim.rows import Nothing
from webordinary.core.claim import Claim, Claimed, Delivery, Pulse
from webordinary.core.job import ENDED, MOVES, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.outcome import Outcome
from webordinary.simulation.probes import JobFacts, Probe


class Checker(StrEnum):
    """Which promise was broken."""

    ONE_FENCE = "one fence at a time"
    ORDER = "order"
    NOTHING_LOST = "nothing lost, nothing twice"
    DRAINS = "drains in bounded time"
    GATEKEEPER = "the gatekeeper never writes"
    NO_IDLE_WAIT = "no lane waits while a slot is idle"
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
        self, probe: Probe, clock: Callable[[], float], lease_seconds: float, note: Callable[[str], None]
    ) -> None:
        """Start with empty books. `clock` is the store's."""
        self.probe = probe
        self.violations: list[Violation] = []
        self.jobs: dict[JobId, Job] = {}
        self._clock, self._lease_seconds, self._note = clock, lease_seconds, note
        self._lanes: dict[Lane, _LaneBook] = {}

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
        self._look_at(claim.lane)

    def settled(self, delivery: Delivery, outcome: Outcome, answer: Delivery | Nothing) -> None:
        """A settle was accepted."""
        claim = delivery.claim
        self._note(f"{claim.worker} settles {delivery.job.id} attempt {delivery.attempt}: {outcome}")
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
        replaced = after is JobState.PREEMPTED and before is not JobState.RUNNING
        if after in ENDED and not replaced:
            ahead = [
                other for other in book.order[: book.order.index(job)] if book.states[other] not in ENDED
            ]
            if ahead:
                self.broken(Checker.ORDER, f"{job} ended before {ahead}")

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
                elif facts[job].state in ENDED and facts[job].replies_owed != 1:
                    self.broken(Checker.NOTHING_LOST, f"{job} owes {facts[job].replies_owed} replies")
