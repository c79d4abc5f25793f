"""Handlers of jobs that edit no site: any program, or a built-in that does little. And their log."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import assert_never

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Failed, HandedBack, Outcome, Preempted, Retry
from webordinary.core.text import one_line
from webordinary.ports.handler import Handler, Stop
from webordinary.system.process_output import OutputTail, exit_words, last_words
from webordinary.system.processes import ChildProcess, Program

log = logging.getLogger("webordinary.job")

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
SLEEP_SECONDS = 1.0  # when the instruction does not begin with a number
LOGGED_CHARACTERS = 120


class Echo:
    """Answers with the instruction."""

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:  # noqa: ARG002 - done before anyone could ask
        """See `Handler.run`."""
        return Done(delivery.job.instruction)


class Sleep:
    """Sleeps for as many seconds as the instruction begins with; stops at once when asked."""

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        seconds = seconds_of(delivery.job.instruction)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(seconds):
                await stop.wait()
        except TimeoutError:
            return Done(f"slept {seconds:g} s")
        return Preempted(kept=f"slept {loop.time() - began:.1f} of {seconds:g} s")


def seconds_of(instruction: str) -> float:
    """Read the number that an instruction begins with: `2.5 change the title` is 2.5."""
    number = re.match(r"\s*(\d{1,9}(?:\.\d{1,9})?)", instruction, re.ASCII)
    return float(number[1]) if number else SLEEP_SECONDS


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
        output = OutputTail()
        program = Program(
            self._command, delivery.job.instruction.encode(), environment_for(delivery), leash=True
        )
        child = await ChildProcess.start(program, output=output)
        try:
            was_asked = await child.wait_or_stop(stop.wait(), self._grace)
        finally:
            await child.end()
        words = last_words(output.text)
        return Preempted(kept=words) if was_asked else outcome_of(await child.wait(), self._command[0], words)


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
        return Retry(f"{program} was {exit_words(code)}{wrote}")
    return Failed(f"{program} ended with {exit_words(code)}{wrote}")


class Logged:
    """See `Handler`; does what another handler does, and says so."""

    def __init__(self, handler: Handler) -> None:
        """Tell about this one."""
        self._handler = handler

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        loop = asyncio.get_running_loop()
        began, name = loop.time(), f"{delivery.claim.lane}: job {delivery.job.id}"
        about = {"lane": str(delivery.claim.lane), "job": delivery.job.id, "attempt": delivery.attempt}
        log.info("%s started (attempt %d)", name, delivery.attempt, extra=about)
        try:
            outcome = await self._handler.run(delivery, stop)
        except BaseException as error:
            how = "killed" if isinstance(error, asyncio.CancelledError) else "broke off"
            log.info("%s %s after %.1f s", name, how, loop.time() - began, extra=about)
            raise
        log.info("%s %s after %.1f s", name, in_words(outcome), loop.time() - began, extra=about)
        return outcome


def in_words(outcome: Outcome) -> str:
    """Say in a few words how an attempt ended."""
    match outcome:
        case Done():
            return "done"
        case Failed(reason):
            return f"failed ({one_line(reason, LOGGED_CHARACTERS)})"
        case Preempted():
            return "stopped as asked"
        case Retry(reason):
            return f"wants another try ({one_line(reason, LOGGED_CHARACTERS)})"
        case HandedBack(reason):
            return f"handed back ({one_line(reason, LOGGED_CHARACTERS)})"
        case _:
            assert_never(outcome)
