"""What people are shown: workers, lanes, jobs and what happened to them. Read-only values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webordinary.core.claim import WorkerId
from webordinary.core.facts import NO_FACTS, Facts
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.lane import Lane


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as people see it."""

    id: JobId
    lane: Lane
    state: JobState
    instruction: str
    message_id: str
    arrival: str
    attempt: int
    submitted_at: float
    started_at: float | None
    finished_at: float | None
    due_at: float | None
    worker: WorkerId | None
    fence: int
    interrupted: bool
    interrupted_by: JobId | None
    note: str
    replies_owed: int  # about its end; the word that it was accepted is not counted
    session: str = ""
    intent: Intent = Intent.EDIT
    facts: Facts = NO_FACTS  # what its outcome left


@dataclass(frozen=True, slots=True)
class HeadView:
    """The job a lane is at."""

    id: JobId
    state: JobState
    attempt: int
    fence: int
    due_at: float | None
    started_at: float | None
    submitted_at: float


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane as people see it."""

    lane: Lane
    worker: WorkerId | None
    fence: int
    claimed_at: float | None
    last_activity: float | None
    lease_until: float | None
    waiting_since: float | None
    failures: int
    parked_until: float | None
    depth: int
    dead: int
    head: HeadView | None

    def owned_at(self, now: float) -> bool:
        """Whether somebody holds the lane: the lease decides, never the row's mere existence."""
        return self.worker is not None and self.lease_until is not None and self.lease_until > now

    def parked_at(self, now: float) -> bool:
        """Whether the lane's breaker is open, and work waits for it to close."""
        return self.head is not None and self.parked_until is not None and self.parked_until > now

    @property
    def running(self) -> HeadView | None:
        """The job in the lane's current owner's hands."""
        head = self.head
        return head if head and head.state is JobState.RUNNING and head.fence == self.fence else None


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as people see it. What it holds is derived from live leases."""

    worker: WorkerId
    host: str
    pid: int
    slots: int
    since: float
    seen_at: float
    draining: bool
    lanes: tuple[Lane, ...]


class Happening(StrEnum):
    """What can happen to a lane."""

    CLAIMED = "claimed"
    TAKEN_OVER = "taken over"
    EXCHANGED = "given in exchange"
    RELEASED = "released"
    EVICTED = "released by the operator"
    BURIED = "freed after the death"
    INTERRUPTED = "interrupt asked"
    RETRY = "attempt failed"
    HANDED_BACK = "handed back"
    REDELIVERED = "delivered again"
    DEAD = "dead-lettered"
    PARKED = "parked"
    REDRIVEN = "redriven"
    DROPPED = "dropped"

    @property
    def link(self) -> str:
        """The word between what happened and the lane's owner: an operator takes a lane *from* its owner."""
        return _LINKS.get(self, "by")


_LINKS = {Happening.EVICTED: "from", Happening.BURIED: "of", Happening.PARKED: "while held by"}


@dataclass(frozen=True, slots=True)
class LaneEvent:
    """One thing that happened to a lane."""

    at: float
    lane: Lane
    what: Happening
    worker: WorkerId | None
    fence: int
    job: JobId | None
    note: str

    def is_about(self, job: JobView) -> bool:
        """Whether it happened to the job, or to its lane while the job was there."""
        if self.job is not None or self.lane != job.lane:
            return self.job == job.id
        return job.submitted_at <= self.at and (job.finished_at is None or self.at <= job.finished_at)
