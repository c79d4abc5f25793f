"""The offspring of a process, as the kernel shows it: counted, measured, signalled."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BLOCK_BYTES = 512  # what st_blocks counts in, whatever the file system
MEMBERS_MAX = 10_000  # looked at in one go
AFTER_NAME_THREADS, AFTER_NAME_STARTED, AFTER_NAME_PAGES = 17, 19, 21  # fields of /proc/PID/stat


@dataclass(frozen=True, slots=True)
class Usage:
    """What it uses just now."""

    processes: int
    memory_bytes: int


class ProcessTree:
    """See `Members`: the offspring of a process of ours, never that of one that got its number later.

    Offspring with a pid namespace of its own is found through that namespace's own /proc: going from parents
    to children takes the kernel so long in a fork bomb that the machine is out of numbers before it is over.
    """

    def __init__(self, pid: int) -> None:
        """Take the process by its number while it is surely there."""
        self.pid, self._started = pid, _stat(Path(f"/proc/{pid}"))[AFTER_NAME_STARTED:][:1]
        self._first: tuple[int, int] | None = (
            None  # of the namespace: its process, as we see it, and its number
        )

    def members(self, at_most: int = MEMBERS_MAX) -> Iterator[Path]:
        """Give the /proc folder of each. In a fork storm some are missed; the next look finds them."""
        namespace = self._namespace()
        if namespace is None:
            yield from (Path(f"/proc/{pid}") for pid in self._offspring(at_most))
            return
        with contextlib.suppress(OSError), os.scandir(namespace) as entries:
            yield from islice((Path(entry.path) for entry in entries if entry.name.isdigit()), at_most)

    def terminate(self) -> None:
        """Ask every member to end."""
        for pid in self._offspring(MEMBERS_MAX):
            _send(pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill all members: the first process of a namespace takes all others with it."""
        if self._first is not None and _namespace_of(self._first[0]) == self._first[1]:
            _send(self._first[0], signal.SIGKILL)
            _serve_first(self._first[0])
            return
        for pid in self._offspring(MEMBERS_MAX):
            _send(pid, signal.SIGKILL)

    def usage(self, processes_max: int) -> Usage:
        """Count processes (no further than needed) with their threads, and their memory.

        Memory that they share is counted for each of them.
        """
        processes = pages = 0
        for member in self.members(processes_max + 1):
            if fields := _stat(member):
                processes += int(fields[AFTER_NAME_THREADS])
                pages += int(fields[AFTER_NAME_PAGES])
        return Usage(processes, pages * PAGE_BYTES)

    def memory_bytes(self) -> int:
        """The memory with what is shared divided among those who share it. Slower."""
        return sum(map(_proportional_bytes, self.members()))

    def hidden_bytes(self) -> int:
        """The space of open files that have no name any more, on disk or in memory."""
        files = {}
        for member in self.members():
            with contextlib.suppress(OSError), os.scandir(member / "fd") as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        about = entry.stat()
                        if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                            files[about.st_dev, about.st_ino] = about.st_blocks * BLOCK_BYTES
        return sum(files.values())

    def _namespace(self) -> Path | None:
        """The /proc of the tree's own pid namespace, as soon as it has one and /proc is that one's."""
        if self._first is None:
            for child in self._offspring(1):
                number = _namespace_of(child)
                if number not in {None, _namespace_of(os.getpid())}:
                    self._first = child, number or 0
        if self._first is None:
            return None
        inner = Path(f"/proc/{self._first[0]}/root/proc")
        return inner if _namespace_of(1, inner) == self._first[1] else None

    def _offspring(self, at_most: int) -> Iterator[int]:
        """Go from parents to children, elders first."""
        if not self._started or _stat(Path(f"/proc/{self.pid}"))[AFTER_NAME_STARTED:][:1] != self._started:
            return
        generation = [self.pid]
        while generation and at_most > 0:
            generation = [child for parent in generation for child in _children(parent)][:at_most]
            at_most -= len(generation)
            yield from generation


def _namespace_of(pid: int, proc: Path = Path("/proc")) -> int | None:
    try:
        return (proc / str(pid) / "ns" / "pid").stat().st_ino
    except OSError:
        return None


def _serve_first(pid: int) -> None:
    """Let it die before those it is to take along: among thousands of them its turn would come late.

    Only root may do so, and only for root does the kernel not limit the number of processes.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _children(pid: int) -> list[int]:
    """Of all its threads: each has those it forked."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def _stat(member: Path) -> list[bytes]:
    """The fields after the name, which may hold anything; none if the process is gone."""
    try:
        return (member / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _proportional_bytes(member: Path) -> int:
    with contextlib.suppress(OSError):
        for line in (member / "smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    fields = _stat(member)
    return int(fields[AFTER_NAME_PAGES]) * PAGE_BYTES if fields else 0
