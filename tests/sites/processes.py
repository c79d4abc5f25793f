"""Processes of this machine, as /proc tells of them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tests.integration.cli_support import alive


def offspring(pid: int) -> list[int]:
    """Everything that a process started, and that those started."""
    found = [pid]
    for parent in found:
        found += _children(parent)
    return found[1:]


def sandboxed(worker: int) -> list[int]:
    """The processes of the agent that a worker runs: bubblewrap and all that is in it."""
    outermost = [pid for pid in offspring(worker) if program_of(pid) == "bwrap"][:1]
    return [pid for leader in outermost for pid in (leader, *offspring(leader))]


def program_of(pid: int) -> str:
    """The name of the program that a process runs."""
    return os.fsdecode(os.path.basename(words_of(pid)[0]))  # noqa: PTH119 - of bytes


def words_of(pid: int) -> list[bytes]:
    """The command line of a process; of one that is gone, nothing."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]


def none_alive(pids: list[int]) -> bool:
    return not any(map(alive, pids))


def _children(pid: int) -> list[int]:
    """Of all its threads: each has those it forked."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found
