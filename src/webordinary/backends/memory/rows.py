"""What the memory store keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from webordinary.core.claim import Claim, Delivery, Ownership, Presence, WorkerId
from webordinary.core.job import OPEN, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import HeadView, JobView, LaneView
from webordinary.core.work import KeptEvent


@dataclass(slots=True)
class JobRow:
    """A job and all that is known of it."""

    job: Job
    submitted_at: float
    state: JobState = JobState.QUEUED
    attempt: int = 0
    fence: int = 0
    worker: WorkerId | None = None
    started_at: float | None = None
    finished_at: float | None = None
    due_at: float | None = None
    interrupted: bool = False
    interrupted_by: JobId | None = None
    note: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    events: list[KeptEvent] = field(default_factory=list)
    replies_owed: set[str] = field(default_factory=set)  # kinds of letters about its end

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
            facts=dict(self.facts),
        )


@dataclass(slots=True)
class LaneRow:
    """A lane: its ownership, its claim request, its open jobs in order."""

    lane: Lane
    worker: WorkerId | None = None
    fence: int = 0
    claimed_at: float | None = None
    last_activity: float | None = None
    lease_until: float | None = None
    last_worker: WorkerId | None = None
    wanted_since: float | None = None
    wanted_from: float = 0.0
    failures: int = 0
    parked_until: float | None = None
    open: list[JobRow] = field(default_factory=list)

    def owned(self, now: float) -> bool:
        """Whether the lane has a live owner."""
        return self.worker is not None and self.lease_until is not None and self.lease_until > now

    def held_by(self, claim: Claim) -> bool:
        """Whether this claim is the lane's current one."""
        return self.worker == claim.worker and self.fence == claim.fence

    @property
    def head(self) -> JobRow | None:
        """The job the lane is at."""
        return self.open[0] if self.open else None

    def due_from(self) -> float:
        """From when on the lane's head may be delivered."""
        head = self.head
        due = head.due_at if head and head.state is JobState.RETRYING and head.due_at else 0.0
        return max(due, self.parked_until or 0.0)

    def quiet(self, now: float) -> bool:
        """Whether an owner has nothing to do here now, so that the lane may go in exchange."""
        return self.head is None or self.due_from() > now

    def ownership(self, now: float) -> Ownership | None:
        """Show the live ownership."""
        if not self.owned(now):
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


def delivery_of(row: JobRow, claim: Claim) -> Delivery:
    """Hand a running job to its owner."""
    return Delivery(claim, row.job, row.attempt)
