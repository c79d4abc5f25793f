"""What the processes of a drill have in common."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

from webordinary.core.lane import Lane
from webordinary.core.limits import Limits

LIMITS = Limits(
    lease_seconds=1.5,
    beat_seconds=0.3,
    sweep_seconds=0.3,
    deliveries_max=1_000_000,  # a killed worker is not the job's fault here
    breaker_failures=1_000_000,
    retry_first_seconds=0.05,
    turn_seconds=0.5,
    patience_seconds=0.5,
)

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the system kill this process when the test's process ends, however that happens."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def append(path: Path, *words: object) -> None:
    """Add one line in one write: a kill leaves all of it or nothing."""
    line = " ".join(str(word) for word in words) + "\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def lines(path: Path) -> list[list[str]]:
    """Read what was appended, as words."""
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def lanes(count: int) -> list[Lane]:
    """So many lanes, ten users a project."""
    return [Lane(f"p{number // 10}", f"u{number % 10}") for number in range(count)]
