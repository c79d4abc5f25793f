"""Processes of this machine, as /proc tells of them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process lives; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def none_alive(pids: list[int]) -> bool:
    return not any(map(alive, pids))


def processes_with(word: str) -> list[int]:
    """All others that have a word in their command line."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [pid for pid in pids if pid != os.getpid() and word.encode() in command_line(pid)]


def offspring(pid: int) -> list[int]:
    """Everything that a process started, and that those started."""
    found = [pid]
    for parent in found:
        found += children(parent)
    return found[1:]


def children(pid: int) -> list[int]:
    """Of all its threads, for each has those it forked; those that only wait to be reaped included."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def sandboxed(worker: int) -> list[int]:
    """The processes of the agent that a worker runs: bubblewrap and all that is in it."""
    outermost = [pid for pid in offspring(worker) if program_of(pid) == "bwrap"][:1]
    return [pid for leader in outermost for pid in (leader, *offspring(leader))]


def program_of(pid: int) -> str:
    """The name of the program that a process runs."""
    return os.fsdecode(os.path.basename(words_of(pid)[0]))  # noqa: PTH119 - of bytes


def words_of(pid: int) -> list[bytes]:
    """The words of its command line; of a process that is gone, an empty one."""
    return command_line(pid).split(b"\0")


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
