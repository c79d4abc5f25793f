"""Running a wrapped command to its end: fed, listened to, watched, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from webordinary.sandbox.process_tree import ProcessTree
from webordinary.sandbox.sandbox import (
    Budget,
    Ending,
    Exited,
    Interrupted,
    OverBudget,
    RunLimits,
    RunResult,
    Wrapped,
)
from webordinary.sandbox.watchdog import Watchdog
from webordinary.system.process_output import OutputTail
from webordinary.system.processes import ChildProcess, Program

GRACE_SECONDS = 2.0  # between asking to stop and killing
TOO_LARGE_A_FILE = 128 + signal.SIGXFSZ

ROOTS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))  # of version 1, of version 2
MARGIN = 64  # so that the watchdog sees who went over, and says so
_ENTER = 'echo $$ > "$0" && exec "$@"'
_TRIES, _PAUSE_SECONDS = 20, 0.01


async def run_confined(
    wrapped: Wrapped,
    run_limits: RunLimits,
    *,
    stdin: bytes = b"",
    on_line: Callable[[str], None] = lambda _: None,
    stop: asyncio.Event | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> RunResult:
    """Run it; pass on each line it writes; stop it when `stop` is set. Cancelled, it kills first.

    Start it from the main thread: the kernel ties a sandbox to the life of the thread that started it.
    """
    output = OutputTail(run_limits.output_bytes, on_line)
    with ProcessLimit(run_limits.processes) as limit:
        program = Program(limit.holding(wrapped.command), stdin, environment={}, folder=Path("/"))
        child = await ChildProcess.start(program, output=output, members=ProcessTree)
        try:
            tree = child.members
            assert isinstance(tree, ProcessTree)
            with Watchdog(tree, run_limits, (wrapped.room.tree, wrapped.room.home)) as watchdog:
                output.too_much = lambda: watchdog.end(OverBudget(Budget.OUTPUT))
                try:
                    if await child.wait_or_stop((stop or asyncio.Event()).wait(), grace_seconds):
                        watchdog.end(Interrupted())
                finally:
                    await child.end()  # while it is watched: a fork bomb is faster than we are
        finally:
            await child.end()  # does nothing more, unless there could be no watchdog
    return RunResult(watchdog.verdict or _ending(child.code), output.text, output.total_bytes)


def _ending(code: int | None) -> Ending:
    if code is None:  # held by the kernel, killed as soon as it lets go
        return Exited(128 + signal.SIGKILL)
    code = code if code >= 0 else 128 - code
    return OverBudget(Budget.FILE) if code == TOO_LARGE_A_FILE else Exited(code)


class ProcessLimit:
    """A cgroup that a command enters before anything of it runs: the kernel itself limits its processes.

    The watchdog looks twenty times a second, and a fork bomb of a root worker, which `RLIMIT_NPROC` does not
    bind, could take the machine in between. Where no cgroup can be made (not root, or none mounted) the
    resource limit binds, and the watchdog is all there is beside it.
    """

    def __init__(self, processes: int) -> None:
        """Make the group, if that is possible here."""
        self._folder = _made(processes + MARGIN) if os.geteuid() == 0 else None

    def __enter__(self) -> Self:
        """Have it for the length of a run."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the group; the last of its processes may take a moment to go."""
        if self._folder is None:
            return
        for _ in range(_TRIES):
            with contextlib.suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(_PAUSE_SECONDS)

    def holding(self, command: Sequence[str]) -> list[str]:
        """The command, which enters the group first."""
        if self._folder is None:
            return list(command)
        return ["/bin/sh", "-c", _ENTER, str(self._folder / "cgroup.procs"), *command]


def _made(processes: int) -> Path | None:
    for root in ROOTS:
        folder = root / f"webordinary-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / "pids.max").write_text(str(processes))
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        return folder
    return None
