"""What a letter is made from, kept when it is owed: a class for each thing that it can be about."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.facts import NO_FACTS, Facts, RequestedChange
from webordinary.core.failure import FailureKind, MailProblem
from webordinary.core.job import JobId


@dataclass(frozen=True, slots=True)
class Accepted:
    """Where a job stands in its lane."""

    ahead: int = 0
    interrupts: JobId | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended. For people who ask for the job itself, its row says the same."""

    note: str = ""
    failure: FailureKind | None = None
    by: JobId | None = None  # the newer job that interrupted or replaced it
    facts: Facts = NO_FACTS


@dataclass(frozen=True, slots=True)
class Question:
    """A mail that needs its sender's yes, and the token that such an answer carries."""

    token: str = ""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class NotAMember:
    """Whose conversation it was that the sender wrote in; "" if it was none."""

    project: str = ""


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    """The projects that the sender may mean."""

    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnclearWords:
    """Words that may be an order or not."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class MailFault:
    """Why a mail can't be read."""

    problem: MailProblem = MailProblem.DAMAGED


@dataclass(frozen=True, slots=True)
class StopRequest:
    """The jobs that are stopped, the running one first."""

    jobs: tuple[JobId, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusReport:
    """How things stand in a lane, and on its site."""

    project: str = ""
    running: str = ""
    waiting: int = 0
    previewed: tuple[RequestedChange, ...] = ()  # changes that are not live yet
    preview: str = ""
    live: str = ""


LetterFacts = (
    Accepted
    | Ending
    | Question
    | NotAMember
    | ProjectChoice
    | UnclearWords
    | MailFault
    | StopRequest
    | StatusReport
)
