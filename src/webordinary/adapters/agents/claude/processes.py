"""All processes of one run, wherever they hide: found by a mark in their environment, and killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

MARK = "WEBORDINARY_RUN"
PAUSE_SECONDS = 0.005
GONE_SECONDS = 5.0  # a killed process is gone at once, unless the kernel holds it

_PROC = Path("/proc")


class MarkedProcesses:
    """The processes of a run. A child inherits the mark, also one that left its group and its parent.

    What wiped its own environment is found as a child of one that did not. In a sandbox even that is
    not needed: its first process is marked, and with it the kernel ends all others.
    """

    def __init__(self, token: str) -> None:
        """Know the run's processes by this token, which nothing else has."""
        self._wanted = f"{MARK}={token}".encode()

    def kill(self) -> int:
        """Kill all that are there now; say how many there were. Never waits."""
        found = self.alive()
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return len(found)

    async def end(self) -> None:
        """Kill until none is left: one may have been about to start another."""
        async with asyncio.timeout(GONE_SECONDS):
            while self.kill():
                await asyncio.sleep(PAUSE_SECONDS)

    def alive(self) -> set[int]:
        """The run's processes, with their offspring."""
        parents: dict[int, int] = {}
        marked: set[int] = set()
        for entry in os.scandir(_PROC):
            if not entry.name.isdecimal() or (pid := int(entry.name)) == os.getpid():
                continue
            with contextlib.suppress(OSError):  # gone meanwhile, or another user's
                state, parents[pid] = _state_and_parent(pid)
                if state in "ZX":
                    parents.pop(pid)
                elif self._wanted in (_PROC / entry.name / "environ").read_bytes().split(b"\0"):
                    marked.add(pid)
        return marked | _offspring(marked, parents)


def _state_and_parent(pid: int) -> tuple[str, int]:
    """Read two fields of /proc/PID/stat; they follow the program's name, which may hold anything."""
    fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    return fields[0].decode(), int(fields[1])


def _offspring(of: set[int], parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while more := {pid for pid, parent in parents.items() if parent in of | found} - of - found:
        found |= more
    return found
