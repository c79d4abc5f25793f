"""Keeps a run within its limits: looks many times a second, and kills what goes over.

A thread of its own, not a task: limits hold also while the event loop is busy. Without cgroups, which may be
set up around the worker as a whole, this is what holds memory and disk; a run can go over by what it gets
hold of between two looks, and System V shared memory that is attached nowhere is not seen.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from webordinary.sandbox.process_tree import ProcessTree
from webordinary.sandbox.sandbox import Budget, Ending, OverBudget, RunLimits, TimedOut

LOOK_SECONDS = 0.05
DISK_LOOK_SECONDS = 0.5
DISK_SHARE = 10  # looking at the disk takes at most about a tenth of the time
BLOCK_BYTES = 512  # what st_blocks counts in, whatever the file system
ENTRY_BYTES = 4096  # the least that is counted for a file: empty ones use up the disk, too
ENTRIES_MAX = 200_000  # of one look
FIRST_TO_GO = "1000"  # for the kernel when memory runs out: the run, never the worker


class Watchdog:
    """Watches the offspring of one process until left. `verdict` says why it was killed, if it was."""

    def __init__(self, tree: ProcessTree, run_limits: RunLimits, folders: Sequence[Path]) -> None:
        """Watch a process that was just started, and the folders it may write to."""
        self.tree, self._allowance, self._folders = tree, run_limits, folders
        self._deadline = time.monotonic() + run_limits.seconds
        self._over, self._lock = threading.Event(), threading.Lock()
        self.verdict: Ending | None = None
        self._threads = [  # two, for a look at many files must not delay the look at a fork bomb
            threading.Thread(target=look, name=f"watchdog of {tree.pid}", daemon=True)
            for look in (self._watch, self._watch_disk)
        ]
        with contextlib.suppress(OSError):
            Path(f"/proc/{tree.pid}/oom_score_adj").write_text(FIRST_TO_GO)

    def __enter__(self) -> Self:
        """Begin to watch."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop watching. May wait for the end of a look."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def end(self, verdict: Ending) -> None:
        """Kill all of it for this reason, unless there was one before."""
        with self._lock:
            self.verdict = self.verdict or verdict
        self.tree.kill()

    def _watch(self) -> None:
        _go_first()
        while not self._over.wait(LOOK_SECONDS):
            if verdict := self.verdict or self._look():
                self.end(verdict)

    def _look(self) -> Ending | None:
        if time.monotonic() > self._deadline:
            return TimedOut()
        usage = self.tree.usage(self._allowance.processes)
        if usage.processes > self._allowance.processes:
            return OverBudget(Budget.PROCESSES)
        allowed = self._allowance.memory_bytes
        if usage.memory_bytes > allowed and self.tree.memory_bytes() > allowed:
            return OverBudget(Budget.MEMORY)
        return None

    def _watch_disk(self) -> None:
        try:
            began = time.monotonic()
            before = disk_use(self._folders)
            while not self._over.wait(max(DISK_LOOK_SECONDS, DISK_SHARE * (time.monotonic() - began))):
                began = time.monotonic()
                growth = disk_use(self._folders) - before + self.tree.hidden_bytes()
                if growth > self._allowance.tree_bytes:
                    self.end(OverBudget(Budget.DISK))
        except CannotMeasure:
            self.end(OverBudget(Budget.DISK))


def _go_first() -> None:
    """Be served before a thousand busy processes. Only root may, and only root's have no limit of number."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


# --- how much space folders take that a hostile program may be changing meanwhile -------------------------


class CannotMeasure(Exception):
    """The folders are made so that nobody can tell their size: too many files, too deep, or unreadable."""


def disk_use(folders: Iterable[Path]) -> int:
    """Add up what is in the folders. Symbolic links are not followed; what vanishes meanwhile is skipped."""
    total, entries = 0, 0
    waiting = [str(folder) for folder in folders]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    entries += 1
                    total += _size(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise CannotMeasure(str(error)) from error
        if entries > ENTRIES_MAX:
            raise CannotMeasure(f"more than {ENTRIES_MAX} files")
    return total


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return max(entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES, ENTRY_BYTES)
    except FileNotFoundError:
        return 0
