"""A process and all its offspring, as the kernel tells of them: counted, weighed, signalled."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BLOCK_BYTES = 512  # what st_blocks counts in, whatever the file system
AFTER_NAME_THREADS, AFTER_NAME_STARTED, AFTER_NAME_PAGES = 17, 19, 21  # fields of /proc/PID/stat


@dataclass(frozen=True, slots=True)
class Weight:
    """What a family uses just now."""

    processes: int
    memory_bytes: int


class Family:
    """The offspring of one process of ours, and never that of another that was given its number later."""

    def __init__(self, pid: int) -> None:
        """Take the process by its number while it is surely there."""
        self._pid, self._started = pid, _stat(pid)[AFTER_NAME_STARTED:][:1]

    def offspring(self, at_most: int = 100_000) -> Iterator[int]:
        """Go from parents to children. In a fork storm, some are missed; the next look finds them."""
        if not self._started or _stat(self._pid)[AFTER_NAME_STARTED:][:1] != self._started:
            return
        generation = [self._pid]
        while generation and at_most > 0:
            generation = [child for parent in generation for child in _children(parent)][:at_most]
            at_most -= len(generation)
            yield from generation

    def signal(self, number: signal.Signals) -> None:
        """Signal all offspring, elders first: the eldest takes a whole pid namespace with it."""
        for pid in self.offspring():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def weigh(self, processes_max: int) -> Weight:
        """Count processes (no further than needed) with their threads, and their memory.

        Memory that they share is counted for each of them.
        """
        processes = pages = 0
        for pid in self.offspring(processes_max + 1):
            if fields := _stat(pid):
                processes += int(fields[AFTER_NAME_THREADS])
                pages += int(fields[AFTER_NAME_PAGES])
        return Weight(processes, pages * PAGE_BYTES)

    def weigh_precisely(self, memory_enough: int) -> int:
        """The memory with what is shared divided among those who share it. Slower."""
        total = 0
        for pid in self.offspring():
            total += _proportional_bytes(pid)
            if total > memory_enough:
                break
        return total

    def hidden_bytes(self) -> int:
        """The space of open files that have no name any more, on disk or in memory."""
        files = {}
        for pid in self.offspring():
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{pid}/fd"):
                    with contextlib.suppress(OSError):
                        about = entry.stat()
                        if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                            files[about.st_dev, about.st_ino] = about.st_blocks * BLOCK_BYTES
        return sum(files.values())


def _children(pid: int) -> list[int]:
    """Of all its threads: each has those it forked."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def _stat(pid: int) -> list[bytes]:
    """The fields after the name, which may hold anything; none if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _proportional_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    fields = _stat(pid)
    return int(fields[AFTER_NAME_PAGES]) * PAGE_BYTES if fields else 0
