"""Running a wrapped command to its end: fed, listened to, watched, and never left behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from webordinary.sandbox.allowance import (
    Allowance,
    Budget,
    Ending,
    Exited,
    Interrupted,
    OverBudget,
    Ran,
)
from webordinary.sandbox.process_limit import ProcessLimit
from webordinary.sandbox.process_tree import ProcessTree
from webordinary.sandbox.sandbox import Wrapped
from webordinary.sandbox.watchdog import Watchdog
from webordinary.system.processes import ChildProcess, OutputTail, Program

GRACE_SECONDS = 2.0  # between asking to stop and killing
TOO_LARGE_A_FILE = 128 + signal.SIGXFSZ


async def run_confined(
    wrapped: Wrapped,
    allowance: Allowance,
    *,
    stdin: bytes = b"",
    on_line: Callable[[str], None] = lambda _: None,
    stop: asyncio.Event | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> Ran:
    """Run it; pass on each line it writes; stop it when `stop` is set. Cancelled, it kills first.

    Start it from the main thread: the kernel ties a sandbox to the life of the thread that started it.
    """
    output = OutputTail(allowance.output_bytes, on_line)
    with ProcessLimit(allowance.processes) as limit:
        program = Program(limit.holding(wrapped.command), stdin, environment={}, folder=Path("/"))
        child = await ChildProcess.start(program, output=output, members=ProcessTree)
        try:
            tree = child.members
            assert isinstance(tree, ProcessTree)
            with Watchdog(tree, allowance, (wrapped.room.tree, wrapped.room.home)) as watchdog:
                output.too_much = lambda: watchdog.end(OverBudget(Budget.OUTPUT))
                try:
                    if await child.wait_or_stop((stop or asyncio.Event()).wait(), grace_seconds):
                        watchdog.end(Interrupted())
                finally:
                    await child.end()  # while it is watched: a fork bomb is faster than we are
        finally:
            await child.end()  # does nothing more, unless there could be no watchdog
    return Ran(watchdog.verdict or _ending(child.code), output.text, output.total_bytes)


def _ending(code: int | None) -> Ending:
    if code is None:  # held by the kernel, killed as soon as it lets go
        return Exited(128 + signal.SIGKILL)
    code = code if code >= 0 else 128 - code
    return OverBudget(Budget.FILE) if code == TOO_LARGE_A_FILE else Exited(code)
