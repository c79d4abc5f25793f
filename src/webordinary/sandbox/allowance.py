"""What a run in the sandbox may use up, and how a run can end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one run may use up. Going over any of it ends the run."""

    seconds: float = 900.0
    memory_bytes: int = 3072 * MEBIBYTE  # of all its processes together
    output_bytes: int = 32 * MEBIBYTE  # standard output and standard error together
    file_bytes: int = 256 * MEBIBYTE  # that a single file may reach
    tree_bytes: int = 1024 * MEBIBYTE  # that the writable folders may grow by
    temporary_bytes: int = 256 * MEBIBYTE  # of /tmp, and again of /dev/shm; both are memory
    processes: int = 512  # threads count, too

    def __post_init__(self) -> None:
        """Allow something of everything: a zero means "unlimited" to some programs."""
        assert min(self.seconds, self.memory_bytes, self.output_bytes, self.processes) > 0
        assert min(self.file_bytes, self.tree_bytes, self.temporary_bytes) > 0


class Budget(StrEnum):
    """Which part of an allowance was used up; reads well after "it went over its limit of"."""

    OUTPUT = "output"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk space"
    FILE = "file size"


@dataclass(frozen=True, slots=True)
class Exited:
    """It ended by itself. The code is as a shell tells it: 128 and the signal, if one killed it."""

    code: int


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Its time was up."""


@dataclass(frozen=True, slots=True)
class OverBudget:
    """It used too much of something."""

    which: Budget


@dataclass(frozen=True, slots=True)
class Interrupted:
    """It was asked to stop, and did or was made to."""


Ending = Exited | TimedOut | OverBudget | Interrupted


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended, and the end of what it wrote. No process of it is left."""

    ending: Ending
    tail: str
    output_bytes: int
