"""Any program as a handler: the instruction on its standard input, its exit code as the answer."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.ports.handler import Stop
from webordinary.system.process_group import ProcessGroup

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
WORDS_LINES, WORDS_CHARACTERS = 12, 2000


class Command:
    """Runs a program for each job, in a process group of its own.

    Exit 0 is done, 75 asks for another attempt, anything else failed. When asked to stop, the program
    gets SIGTERM, then after the grace SIGKILL; when cancelled, SIGKILL; always with its offspring.
    """

    def __init__(self, command: Sequence[str], grace_seconds: float) -> None:
        """Run this program with these arguments."""
        self._command, self._grace = tuple(command), grace_seconds

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        if find_program(self._command[0]) is None:
            return Failed(f"the program {self._command[0]!r} is not there, or may not be run")
        group = await ProcessGroup.start(
            self._command, stdin=delivery.job.instruction, environment=environment_for(delivery)
        )
        try:
            code = await self._exit_code(group, stop)
        finally:
            await group.end()
        words = last_words(group.output)
        return Preempted(kept=words) if code is None else outcome_of(code, self._command[0], words)

    async def _exit_code(self, group: ProcessGroup, stop: Stop) -> int | None:
        """Wait for the program to end by itself; None means: it was asked to."""
        exit_code = asyncio.ensure_future(group.exited())
        asked = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((exit_code, asked), return_when=asyncio.FIRST_COMPLETED)
            if exit_code.done():
                return exit_code.result()
            group.ask_to_end()
            await asyncio.wait((exit_code,), timeout=self._grace)
            return None
        finally:
            exit_code.cancel()
            asked.cancel()


def find_program(name: str) -> str | None:
    """Find a program as a job would: on the path, or by its own path."""
    return shutil.which(name, path=os.environ.get("PATH", os.defpath))


def environment_for(delivery: Delivery, own: Mapping[str, str] = os.environ) -> dict[str, str]:
    """A small environment: no credential of the worker reaches a job's program."""
    passed_on = {name: own[name] for name in PASSED_ON if name in own}
    return passed_on | {
        "WEBORDINARY_JOB": delivery.job.id,
        "WEBORDINARY_LANE": str(delivery.claim.lane),
        "WEBORDINARY_ATTEMPT": str(delivery.attempt),
    }


def outcome_of(code: int, program: str, words: str) -> Outcome:
    """Say what an exit code means."""
    wrote = f": {words}" if words else " and wrote nothing"
    if code == 0:
        return Done(words)
    if code == TRY_AGAIN:
        return Retry(f"{program} asked to be tried again{wrote}")
    if code < 0:
        return Retry(f"{program} was killed by {signal_name(-code)}{wrote}")
    return Failed(f"{program} ended with exit code {code}{wrote}")


def signal_name(number: int) -> str:
    """Name a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_words(output: str) -> str:
    """The end of what a program wrote: whole lines, as many as a person reads."""
    lines = output.splitlines()[-WORDS_LINES:]
    while len(lines) > 1 and sum(map(len, lines)) > WORDS_CHARACTERS:
        lines.pop(0)
    return "\n".join(lines)[-WORDS_CHARACTERS:]
