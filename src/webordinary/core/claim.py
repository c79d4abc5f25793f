"""A claim: a worker's exclusive hold on a lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

from webordinary.core.job import Job, JobId
from webordinary.core.lane import Lane

WorkerId = NewType("WorkerId", str)


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's hold on a lane. The fence grows with every claim of that lane, for ever."""

    lane: Lane
    worker: WorkerId
    fence: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """The live ownership row of a lane, as the gatekeeper reads it."""

    lane: Lane
    worker: WorkerId
    fence: int
    claimed_at: float
    last_activity: float
    lease_until: float


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a call for lanes gave: new claims, and idle ones that went in exchange."""

    claims: tuple[Claim, ...] = ()
    given_up: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """The head of a lane in its owner's hands. Only this fence and this attempt may settle it."""

    claim: Claim
    job: Job
    attempt: int


@dataclass(frozen=True, slots=True)
class Presence:
    """A worker as it shows itself to the pool."""

    worker: WorkerId
    slots: int
    since: float
    host: str = ""
    pid: int = 0
    draining: bool = False
    gone: bool = False  # its last word


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Somebody wants the running job of a lane to stop: a newer job, or the operator (`by` is None)."""

    lane: Lane
    job: JobId
    by: JobId | None


@dataclass(frozen=True, slots=True)
class Pulse:
    """The answer to a beat."""

    lost: tuple[Claim, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    lanes_waiting: int = 0
    longest_wait: float = 0.0
    lanes_with_work: int = 0  # of those the worker holds; a job in back-off is work too
