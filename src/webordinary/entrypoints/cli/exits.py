"""What the exit codes mean."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

from webordinary.core.errors import BackendUnavailable, BadInput, NotAllowed, NotFound, WebordinaryError
from webordinary.core.job import JobState


class Exit(IntEnum):
    """Every exit code of every command."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Keep the meaning beside the code."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "done as asked; with `submit --wait`, the job is done"
    NO = 1, "a negative answer: the job failed, there was nothing to stop, or a scenario was not seen"
    USAGE = 2, "the command line, an input or a setting breaks a rule; nothing was changed"
    STORE = 3, "the store could not be used: busy, full, unreadable or of another version"
    REFUSED = 4, "there is no such thing, or its state does not allow what was asked"
    PREEMPTED = 5, "the job that `submit --wait` waited for was stopped in favour of a newer one"
    DEAD = 6, "the job that `submit --wait` waited for is a dead letter, or was dropped as one"
    RUNNING = (
        7,
        "the seconds of `submit --wait` are over and the job still runs, or waits for another attempt",
    )
    UNCLAIMED = 8, "the seconds of `submit --wait` are over and no worker has picked the job up yet"
    BUG = 70, "a mistake in webordinary itself; WEBORDINARY_DEBUG=1 shows where"
    INTERRUPTED = 130, "Ctrl-C"


def exit_of(state: JobState) -> Exit:
    """Tell how a job stands by an exit code."""
    match state:
        case JobState.DONE:
            return Exit.OK
        case JobState.FAILED:
            return Exit.NO
        case JobState.PREEMPTED:
            return Exit.PREEMPTED
        case JobState.DEAD | JobState.DROPPED:
            return Exit.DEAD
        case JobState.RUNNING | JobState.RETRYING:
            return Exit.RUNNING
        case JobState.QUEUED:
            return Exit.UNCLAIMED


def exit_for(error: WebordinaryError) -> Exit:
    """Tell an error of ours by an exit code."""
    match error:
        case BadInput():
            return Exit.USAGE
        case NotFound() | NotAllowed():
            return Exit.REFUSED
        case BackendUnavailable():
            return Exit.STORE
        case _:
            return Exit.NO
