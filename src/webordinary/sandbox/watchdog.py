"""Keeps a run within its allowance: looks many times a second, and kills what goes over.

A thread of its own, not a task: limits hold also while the event loop is busy. Without cgroups, which may be
set up around the worker as a whole, this is what holds memory and disk; a run can go over by what it gets
hold of between two looks, and System V shared memory that is attached nowhere is not seen.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from webordinary.sandbox.allowance import Allowance, Budget, Ending, OverBudget, TimedOut
from webordinary.sandbox.disk_use import CannotMeasure, disk_use
from webordinary.sandbox.family import Family

LOOK_SECONDS = 0.05
DISK_LOOK_SECONDS = 0.5
DISK_SHARE = 10  # looking at the disk takes at most about a tenth of the time
FIRST_TO_GO = "1000"  # for the kernel when memory runs out: the run, never the worker


class Watchdog:
    """Watches the offspring of one process until left. `verdict` says why it was killed, if it was."""

    def __init__(self, pid: int, allowance: Allowance, folders: Sequence[Path]) -> None:
        """Watch a process that was just started, and the folders it may write to."""
        self._family, self._allowance, self._folders = Family(pid), allowance, folders
        self._deadline = time.monotonic() + allowance.seconds
        self._over, self._lock = threading.Event(), threading.Lock()
        self.verdict: Ending | None = None
        self._threads = [  # two, for a look at many files must not delay the look at a fork bomb
            threading.Thread(target=look, name=f"watchdog of {pid}", daemon=True)
            for look in (self._watch, self._watch_disk)
        ]
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/oom_score_adj").write_text(FIRST_TO_GO)

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
        """Kill the whole family for this reason, unless there was one before."""
        with self._lock:
            self.verdict = self.verdict or verdict
        self._family.kill()

    def ask_to_end(self) -> None:
        """Ask every process of the family to end."""
        self._family.ask_to_end()

    def _watch(self) -> None:
        _go_first()
        while not self._over.wait(LOOK_SECONDS):
            if verdict := self.verdict or self._look():
                self.end(verdict)

    def _look(self) -> Ending | None:
        if time.monotonic() > self._deadline:
            return TimedOut()
        weight = self._family.weigh(self._allowance.processes)
        if weight.processes > self._allowance.processes:
            return OverBudget(Budget.PROCESSES)
        allowed = self._allowance.memory_bytes
        if weight.memory_bytes > allowed and self._family.weigh_precisely() > allowed:
            return OverBudget(Budget.MEMORY)
        return None

    def _watch_disk(self) -> None:
        try:
            began = time.monotonic()
            before = disk_use(self._folders)
            while not self._over.wait(max(DISK_LOOK_SECONDS, DISK_SHARE * (time.monotonic() - began))):
                began = time.monotonic()
                growth = disk_use(self._folders) - before + self._family.hidden_bytes()
                if growth > self._allowance.tree_bytes:
                    self.end(OverBudget(Budget.DISK))
        except CannotMeasure:
            self.end(OverBudget(Budget.DISK))


def _go_first() -> None:
    """Be served before a thousand busy processes. Only root may, and only root's have no limit of number."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def kill_leader(pid: int) -> None:
    """Kill the process that everything else hangs on, with its group: the last resort."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
