"""How an attempt at a job ended, and what that makes of the job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from webordinary.core.failure import FailureKind
from webordinary.core.job import JobId, JobState
from webordinary.core.limits import Limits
from webordinary.core.text import storable

# What an attempt leaves beside its outcome: for the reply, for people, and for the conversation's next job.
Facts = dict[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """Carried out."""

    summary: str = ""
    facts: Facts = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """Trying again would not help. Only of a kind `DECLINED` the reason is told to the person who asked."""

    reason: str
    facts: Facts = field(default_factory=dict, hash=False)
    kind: FailureKind = FailureKind.INTERNAL


@dataclass(frozen=True, slots=True)
class Preempted:
    """Stopped cleanly in favour of a newer job (or at the operator's word); `kept` says what was kept."""

    by: JobId | None = None
    kept: str = ""
    facts: Facts = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Retry:
    """This attempt failed in a way that another one may not; the reason is for the operator."""

    reason: str
    kind: FailureKind = FailureKind.INTERNAL


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The worker is leaving; the attempt does not count."""

    reason: str = "the worker is shutting down"


Outcome = Done | Failed | Preempted | Retry | HandedBack


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an outcome makes of a job: its next state, and how the lane's record changes."""

    state: JobState
    note: str
    retry_in: float = 0.0
    failed_attempt: bool = False
    facts: Facts = field(default_factory=dict, hash=False)
    failure: FailureKind | None = None  # what the letter says about it

    def __post_init__(self) -> None:
        """Keep the words whatever is in them: a job that could not be settled would run again and again."""
        object.__setattr__(self, "note", storable(self.note))
        object.__setattr__(self, "facts", {name: storable(fact) for name, fact in self.facts.items()})

    @property
    def told(self) -> Facts:
        """What the letter about it is made from."""
        return {**self.facts, "note": self.note, **({"failure": self.failure.value} if self.failure else {})}


def judge(outcome: Outcome, *, attempt: int, interrupted: bool, by: JobId | None, limits: Limits) -> Verdict:
    """Say what an attempt's outcome makes of its job.

    A job that was asked to stop never comes back: neither a retry nor a hand-back may run it again
    after the newer job that interrupted it.
    """
    match outcome:
        case Retry() | HandedBack() if interrupted:
            return Verdict(JobState.PREEMPTED, interrupted_note(by))
        case Done(summary, facts):
            return Verdict(JobState.DONE, summary, facts=facts)
        case Failed(reason, facts, kind):
            return Verdict(JobState.FAILED, reason, facts=facts, failure=kind)
        case Preempted(by, kept, facts):
            return Verdict(JobState.PREEMPTED, kept or interrupted_note(by), facts=facts)
        case HandedBack(reason):
            return Verdict(JobState.QUEUED, reason)
        case Retry(reason, kind):
            if attempt >= limits.deliveries_max:
                return Verdict(JobState.DEAD, reason, failed_attempt=True, failure=kind)
            return Verdict(JobState.RETRYING, reason, limits.retry_delay(attempt), failed_attempt=True)
        case _:
            assert_never(outcome)


def interrupted_note(by: JobId | None) -> str:
    """Say in plain words who stopped a job."""
    return f"interrupted by the newer job {by}" if by else "stopped by the operator"
