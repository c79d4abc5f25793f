"""How an attempt at a job ended, and what that makes of the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from webordinary.core.facts import NO_FACTS, Ending, Facts
from webordinary.core.failure import FailureKind
from webordinary.core.job import JobId, JobState
from webordinary.core.json_codec import with_text
from webordinary.core.limits import Limits
from webordinary.core.text import storable


@dataclass(frozen=True, slots=True)
class Done:
    """Carried out."""

    summary: str = ""
    facts: Facts = NO_FACTS


@dataclass(frozen=True, slots=True)
class Failed:
    """Trying again would not help. Only of a kind `DECLINED` the reason is in the letter."""

    reason: str
    facts: Facts = NO_FACTS
    kind: FailureKind = FailureKind.INTERNAL


@dataclass(frozen=True, slots=True)
class Preempted:
    """Stopped cleanly in favour of a newer job (or at the operator's word); `kept` says what was kept."""

    by: JobId | None = None
    kept: str = ""
    facts: Facts = NO_FACTS


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
    facts: Facts = NO_FACTS
    failure: FailureKind | None = None  # what the letter says about it
    by: JobId | None = None  # the newer job that interrupted or replaced it

    def __post_init__(self) -> None:
        """Keep the words whatever is in them: a job that could not be settled would run again and again."""
        object.__setattr__(self, "note", storable(self.note))
        if self.facts is not NO_FACTS:
            object.__setattr__(self, "facts", with_text(self.facts, storable))

    @property
    def ending(self) -> Ending:
        """What the letter about it is made from."""
        return Ending(self.note, self.failure, self.by, self.facts)


def judge(outcome: Outcome, *, attempt: int, interrupted: bool, by: JobId | None, limits: Limits) -> Verdict:
    """Say what an attempt's outcome makes of its job.

    A job that was asked to stop never comes back: neither a retry nor a hand-back may run it again
    after the newer job that interrupted it.
    """
    match outcome:
        case Retry() | HandedBack() if interrupted:
            return interrupted_verdict(by)
        case Done(summary, facts):
            return Verdict(JobState.DONE, summary, facts=facts)
        case Failed(reason, facts, kind):
            return Verdict(JobState.FAILED, reason, facts=facts, failure=kind)
        case Preempted(by, kept, facts):
            return Verdict(JobState.PREEMPTED, kept or interrupted_note(by), facts=facts, by=by)
        case HandedBack(reason):
            return Verdict(JobState.QUEUED, reason)
        case Retry(reason, kind):
            if attempt >= limits.deliveries_max:
                return Verdict(JobState.DEAD, reason, failed_attempt=True, failure=kind)
            return Verdict(JobState.RETRYING, reason, limits.retry_delay(attempt), failed_attempt=True)
        case _:
            assert_never(outcome)


def interrupted_verdict(by: JobId | None) -> Verdict:
    """What becomes of a job that was asked to stop, by a newer one or by a person."""
    return Verdict(JobState.PREEMPTED, interrupted_note(by), by=by)


def replaced_verdict(by: JobId) -> Verdict:
    """What becomes of a job that waits when a newer one takes its place."""
    return Verdict(JobState.PREEMPTED, f"replaced by the newer job {by}", by=by)


def lost_verdict(attempts: int) -> Verdict:
    """What becomes of a job whose last attempt ended with its worker."""
    return Verdict(JobState.DEAD, f"its worker was lost {attempts} times", failure=FailureKind.INTERNAL)


def interrupted_note(by: JobId | None) -> str:
    """Say in plain words who stopped a job; for people, and for nothing that reads it again."""
    return f"interrupted by the newer job {by}" if by else "stopped by the operator"
