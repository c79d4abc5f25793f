"""What every sandbox promises: a command line that runs a command in a room, within limits, nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from webordinary.core.errors import NotAllowed
from webordinary.core.work import Room

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunLimits:
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
    """Which limit was reached; reads well after "it went over its limit of"."""

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
class RunResult:
    """How a run ended, and the end of what it wrote. No process of it is left."""

    ending: Ending
    tail: str
    output_bytes: int


class SandboxUnavailable(NotAllowed):
    """The sandbox can't be set up here, so nothing is run. The message says what to install or to change."""


@dataclass(frozen=True, slots=True)
class VisiblePaths:
    """The room's folders as the command sees them."""

    tree: Path
    mail: Path
    home: Path


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command line that needs nothing of the environment and folder it is started from."""

    command: tuple[str, ...]
    seen: VisiblePaths
    room: Room


class Sandbox(Protocol):
    """Shuts a command in. Once the process that `wrap` describes has ended, all its offspring has, too."""

    @property
    def confines(self) -> bool:
        """Whether a hostile command is really kept in."""
        ...

    def seen(self, room: Room) -> VisiblePaths:
        """Tell the paths that a command in this room sees."""
        ...

    def wrap(
        self,
        command: Sequence[str],
        room: Room,
        *,
        environment: Mapping[str, str],
        run_limits: RunLimits,
        visible: Sequence[Path] = (),
        socket: Path | None = None,
        network: bool = False,
    ) -> Wrapped:
        """Wrap a command that starts in the tree and sees PATH, HOME, TMPDIR, LANG and what is given.

        Its program is made visible wherever it lies; so is what is `visible`, read-only, at its own path.
        With a `socket`, the command runs behind the relay: ANTHROPIC_BASE_URL leads to that socket.
        Raises `NotFound` if the program is not there.
        """
        ...
