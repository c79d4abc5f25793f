"""Processes that are copies of this one, where all modules are loaded already.

To start an interpreter and to load our modules takes ten times as long as most of what is asked of such a
process. Copies are for commands that end by themselves and for processes that a drill starts by the hundred;
what people leave running is started as they start it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from tests.waiting import wait_until

BROKEN = 70  # the exit code of a copy that fell over


class Forked:
    """A copy that runs a function and ends: what the tests need of `subprocess.Popen`."""

    def __init__(
        self,
        run: Callable[[], object],
        streams: Sequence[IO[bytes]],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start; the streams are its standard input, output and error."""
        assert not holds_a_store(), "SQLite does not survive a fork: start a real process"
        self.returncode: int | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about threads: none is needed there
            self.pid = os.fork()
        if self.pid == 0:
            _become(run, streams, environment)

    def poll(self) -> int | None:
        return self._reaped(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; with a timeout, not for longer than only a hang takes."""
        if timeout is not None:
            wait_until(lambda: self.poll() is not None)
        code = self._reaped(0)
        assert code is not None
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _reaped(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def holds_a_store() -> bool:
    """Whether this process has a SQLite file open: what SQLite knows of locks would be copied and wrong."""
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - of names
        try:
            if Path(os.readlink(f"/proc/self/fd/{number}")).suffix == ".db":  # noqa: PTH115 - as it is
                return True
        except OSError:
            continue
    return False


def _become(
    run: Callable[[], object], streams: Sequence[IO[bytes]], environment: Mapping[str, str] | None
) -> NoReturn:
    """End this process with what the function gives, as an exit code."""
    code = BROKEN
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
        asyncio.set_event_loop_policy(None)  # as if no loop had been here before
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for good
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        try:
            code = _exit_code(run())
        except SystemExit as told:
            code = _exit_code(told.code)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - nothing may go on here as if it were the test
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _exit_code(told: object) -> int:
    return told if isinstance(told, int) else 0


def completed(
    process: Forked, words: Sequence[str], out: IO[bytes], err: IO[bytes]
) -> subprocess.CompletedProcess[str]:
    """Wait for a copy's end; give what it wrote."""
    try:
        code = process.wait()
    finally:
        process.kill()
    out.seek(0)
    err.seek(0)
    return subprocess.CompletedProcess(words, code, out.read().decode(), err.read().decode())
