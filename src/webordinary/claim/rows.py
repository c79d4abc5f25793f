"""The rows that the rules of the claim protocol work on, and what the rules need of a store.

A store loads the rows that its calls need, lets `claim/rules.py` change them, and saves the difference in one
transaction. A row of a lane stays for ever. Its lease decides who owns it, never the row's mere existence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from webordinary.claim.fairness import WaitingLanes
from webordinary.core.claim import Claim, Ownership, Presence, WorkerId
from webordinary.core.facts import NO_FACTS, Facts
from webordinary.core.job import OPEN, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter
from webordinary.core.views import HeadView, JobView, LaneEvent, LaneView


@dataclass(slots=True)
class JobRow:
    """A job and all that is known of it."""

    job: Job
    submitted_at: float
    state: JobState = JobState.QUEUED
    attempt: int = 0
    fence: int = 0  # of the claim that was given the job last
    worker: WorkerId | None = None
    started_at: float | None = None
    finished_at: float | None = None
    due_at: float | None = None  # in back-off: when its next attempt may begin
    interrupted: bool = False
    interrupted_by: JobId | None = None
    note: str = ""
    facts: Facts = NO_FACTS
    replies_owed: frozenset[str] = frozenset()  # kinds of letters about its end

    @property
    def open(self) -> bool:
        """Whether the job still holds its place in the lane."""
        return self.state in OPEN

    def view(self) -> JobView:
        """Show the job to people."""
        job = self.job
        return JobView(
            id=job.id,
            lane=job.lane,
            state=self.state,
            instruction=job.instruction,
            message_id=job.message_id,
            arrival=job.arrival.value,
            attempt=self.attempt,
            submitted_at=self.submitted_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            due_at=self.due_at,
            worker=self.worker,
            fence=self.fence,
            interrupted=self.interrupted,
            interrupted_by=self.interrupted_by,
            note=self.note,
            replies_owed=len(self.replies_owed),
            session=job.session,
            intent=job.intent,
            facts=self.facts,
        )


class OpenJobs(Protocol):
    """A lane's open jobs in order. A list is one; a store may read as far as it is asked."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> JobRow: ...
    def __iter__(self) -> Iterator[JobRow]: ...
    def append(self, job: JobRow, /) -> None: ...
    def remove(self, job: JobRow, /) -> None: ...


@dataclass(slots=True)
class LaneRow:
    """A lane: its ownership, its claim request, its open jobs in order."""

    lane: Lane
    worker: WorkerId | None = None
    fence: int = 0  # grows with every claim, never restarts
    claimed_at: float | None = None
    last_activity: float | None = None
    lease_until: float | None = None
    last_worker: WorkerId | None = None  # whose workspace is warm
    wanted_since: float | None = None  # the claim request: since when ...
    wanted_from: float = 0.0  # ... and not before: back-off, parking
    failures: int = 0  # failed attempts in a row
    parked_until: float | None = None
    open: OpenJobs = field(default_factory=list[JobRow])

    def owned(self, now: float, limits: Limits) -> bool:
        """Whether the lane has a live owner."""
        return self.worker is not None and limits.lease_holds(self.lease_until, now)

    def held_by(self, claim: Claim) -> bool:
        """Whether this claim is the lane's current one."""
        return self.fence == claim.fence and self.worker == claim.worker

    @property
    def head(self) -> JobRow | None:
        """The job the lane is at."""
        return self.open[0] if self.open else None

    def due_from(self, now: float, limits: Limits) -> float:
        """From when on the lane's head may be delivered."""
        parked = limits.parked_until(self.parked_until, now) if self.parked_until is not None else 0.0
        head = self.head
        if head is None or head.state is not JobState.RETRYING:
            return parked
        return max(parked, limits.retry_at(head.due_at, now))

    def quiet(self, now: float, limits: Limits) -> bool:
        """Whether an owner has nothing to do here now, so that the lane may go in exchange."""
        return not self.open or self.due_from(now, limits) > now

    def ownership(self, now: float, limits: Limits) -> Ownership | None:
        """Show the live ownership."""
        if not self.owned(now, limits):
            return None
        assert self.worker is not None
        assert self.claimed_at is not None
        assert self.last_activity is not None
        assert self.lease_until is not None
        return Ownership(
            self.lane, self.worker, self.fence, self.claimed_at, self.last_activity, self.lease_until
        )

    def view(self, dead: int) -> LaneView:
        """Show the lane to people."""
        head = self.head
        return LaneView(
            lane=self.lane,
            worker=self.worker,
            fence=self.fence,
            claimed_at=self.claimed_at,
            last_activity=self.last_activity,
            lease_until=self.lease_until,
            waiting_since=self.wanted_since,
            failures=self.failures,
            parked_until=self.parked_until,
            depth=len(self.open),
            dead=dead,
            head=HeadView(
                id=head.job.id,
                state=head.state,
                attempt=head.attempt,
                fence=head.fence,
                due_at=head.due_at,
                started_at=head.started_at,
                submitted_at=head.submitted_at,
            )
            if head
            else None,
        )


@dataclass(slots=True)
class WorkerRow:
    """A worker that showed itself."""

    presence: Presence
    seen_at: float

    def takes_lanes(self, now: float, limits: Limits) -> bool:
        """Whether it is alive and not about to leave."""
        return not self.presence.draining and limits.lease_holds(self.seen_at + limits.lease_seconds, now)


class Rows(Protocol):
    """The rows of one transaction. What the rules change in them is saved with its commit, or not at all."""

    now: float  # the store's one clock, the same for all of the transaction

    def lane(self, lane: Lane) -> LaneRow | None:
        """Find a lane; None if nothing was ever submitted to it."""
        ...

    def find_lanes(self, lanes: Sequence[Lane]) -> list[LaneRow]:
        """Find lanes that are there."""
        ...

    def add_lane(self, lane: Lane) -> LaneRow:
        """Begin a lane."""
        ...

    def job(self, job: JobId) -> JobRow | None:
        """Find a job by its id."""
        ...

    def job_of_message(self, lane: Lane, message_id: str) -> JobId | None:
        """Find the job that was made of a message."""
        ...

    def queue(self, lane: LaneRow, job: JobRow) -> None:
        """Put a job behind all others of its lane: a new one, or a dead one again."""
        ...

    def index(self) -> Index:
        """What must be looked for among all lanes; it sees what was changed so far."""
        ...

    def show(self, presence: Presence) -> None:
        """Note that a worker was seen now; with its last word it is gone."""
        ...

    def owe(self, letter: Letter, due_at: float) -> None:
        """Owe a letter, once."""
        ...

    def record(self, event: LaneEvent) -> None:
        """Write down what happened to a lane."""
        ...

    def wake(self, topic: str) -> None:
        """Wake the waiters of a topic once this is committed."""
        ...


class Index(Protocol):
    """Questions about all lanes, answered from indexes at a cost that does not grow with them."""

    def waiting(self, only: Lane | None) -> WaitingLanes:
        """The lanes that wait for an owner; with `only`, that one alone."""
        ...

    def pressure(self) -> tuple[int, float]:
        """How many lanes wait for an owner, and the longest wait in seconds."""
        ...

    def held_with_work(self, worker: WorkerId) -> int:
        """How many lanes with open jobs a worker holds."""
        ...

    def suspects(self, most: int) -> Iterable[LaneRow]:
        """Lanes that may need the sweep: found by their jobs, so that nothing the sweep repairs is trusted.

        Each lane with work comes up after finitely many sweeps. How many are mended is bounded by `most`.
        """
        ...

    def forget_workers(self, seen_before: float) -> None:
        """Drop workers that nobody has heard of since."""
        ...


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing now; asking again is worth it after so many seconds, or when woken."""

    retry_in: float = math.inf


# --- topics: who is to be woken -------------------------------------------------------------------------

CLAIMS = "claims"
WORKER = "worker "  # how the topics that nudge a worker begin
LETTERS = "letters"


def lane_topic(lane: Lane) -> str:
    """Heard by the lane's owner: a job arrived."""
    return f"lane {lane.key}"


def worker_topic(worker: WorkerId) -> str:
    """Heard by a worker: a beat is worth sending now."""
    return f"{WORKER}{worker}"


def job_topic(job: JobId) -> str:
    """Heard by whoever waits for a job's result."""
    return f"job {job}"
