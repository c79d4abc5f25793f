"""A job: one instruction in a lane, its states, and the moves allowed between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from webordinary.core.errors import BadInput
from webordinary.core.lane import Lane
from webordinary.core.text import is_storable

JobId = NewType("JobId", str)

INSTRUCTION_CHARACTERS = 200_000
AHEAD_COUNTED_MAX = 100  # beyond that a position in the lane tells nobody anything
MESSAGE_ID_CHARACTERS = 998  # the longest line a mail header may have


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    DONE = "done"
    FAILED = "failed"
    PREEMPTED = "preempted"
    DEAD = "dead"
    DROPPED = "dropped"


# Drawn in docs/lifecycle.md; a test compares the two.
MOVES: Mapping[JobState, Mapping[JobState, str]] = {
    JobState.QUEUED: {
        JobState.RUNNING: "delivered to the lane's owner",
        JobState.PREEMPTED: "replaced by a newer job or called off before it started",
    },
    JobState.RUNNING: {
        JobState.DONE: "carried out",
        JobState.FAILED: "answered with a reason; trying again would not help",
        JobState.PREEMPTED: "interrupted by a newer job or by the operator",
        JobState.RETRYING: "this attempt failed; another one follows after a back-off",
        JobState.QUEUED: "handed back by a worker that is leaving; the attempt is not counted",
        JobState.RUNNING: "its owner was lost; delivered again to the next owner",
        JobState.DEAD: "its attempts ran out",
    },
    JobState.RETRYING: {
        JobState.RUNNING: "back-off over, delivered again",
        JobState.PREEMPTED: "a newer job arrived while it waited for its next attempt",
    },
    JobState.DEAD: {
        JobState.QUEUED: "redriven by the operator, behind everything that waits",
        JobState.DROPPED: "dropped by the operator",
    },
    JobState.DONE: {},
    JobState.FAILED: {},
    JobState.PREEMPTED: {},
    JobState.DROPPED: {},
}

OPEN = frozenset({JobState.QUEUED, JobState.RUNNING, JobState.RETRYING})
ENDED = frozenset(JobState) - OPEN


class Arrival(StrEnum):
    """What a new job does to the ones before it in its lane.

    `interrupt` stops the running edit of the same conversation; another conversation's waits its turn.
    `interrupt-always` stops whichever edit runs.
    """

    INTERRUPT = "interrupt"
    INTERRUPT_ALWAYS = "interrupt-always"
    QUEUE = "queue"
    REPLACE_PENDING = "replace-pending"


class Intent(StrEnum):
    """What kind of work a job asks for. All but an edit are done without a model."""

    EDIT = "edit"
    UNDO = "undo"
    REDO = "redo"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class Job:
    """One instruction (one mail) for a lane."""

    id: JobId
    lane: Lane
    instruction: str
    message_id: str
    arrival: Arrival = Arrival.INTERRUPT
    wants_reply: bool = False
    session: str = ""  # the conversation it belongs to; "" is none
    intent: Intent = Intent.EDIT

    def __post_init__(self) -> None:
        """Refuse what no store could keep or no person could read."""
        if not self.instruction.strip():
            raise BadInput("the instruction is empty")
        if len(self.instruction) > INSTRUCTION_CHARACTERS:
            raise BadInput(f"the instruction has more than {INSTRUCTION_CHARACTERS:,} characters")
        if not is_storable(self.instruction):
            raise BadInput("the instruction contains a character that is no text")
        if not 0 < len(self.message_id) <= MESSAGE_ID_CHARACTERS:
            raise BadInput(f"a message id has 1 to {MESSAGE_ID_CHARACTERS} characters")
        if not is_storable(self.message_id):
            raise BadInput("the message id contains a character that is no text")
        if not is_storable(self.session):
            raise BadInput("the name of the session contains a character that is no text")

    def interrupts(self, session: str, intent: Intent) -> bool:
        """Whether this newer job stops the running one of that conversation and intent.

        Only an edit can be taken over; a publish, undo or redo takes seconds, and stopping it would lose it.
        Jobs without a session are one conversation of their lane.
        """
        if intent is not Intent.EDIT:
            return False
        return self.arrival is Arrival.INTERRUPT_ALWAYS or (
            self.arrival is Arrival.INTERRUPT and self.session == session
        )


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job is durable in its lane; `ahead` jobs (counted up to a bound) end before it starts."""

    job: JobId
    ahead: int
    interrupts: JobId | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The lane already has a job for this message id; nothing was stored."""

    job: JobId
