"""Processes that come up, hold, start together at a signal, and are stopped by their id."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
STOP_SECONDS = 20.0
READY = "ready"


class Held:
    """A process of ours that is up and waits for the word to go."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Wait until it is up."""
        self._process = process
        self.pid = process.pid
        answer = _pipe(process.stdout).readline().strip()
        if answer != READY:
            raise RuntimeError(f"a process of the measurement did not come up: {answer!r}")

    def go(self) -> None:
        """Let it work."""
        pipe = _pipe(self._process.stdin)
        pipe.write("go\n")
        pipe.flush()

    def check(self) -> None:
        """Fail if it has ended by itself: whoever waits for its work would wait in vain."""
        if self._process.poll() is not None:
            raise RuntimeError(f"a process of the measurement ended with code {self._process.returncode}")

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(STOP_SECONDS)


def hold() -> None:
    """Say that this process is up, and wait for the word to go."""
    print(READY, flush=True)
    sys.stdin.readline()


@contextmanager
def held(module: str, arguments: Sequence[Sequence[str]]) -> Iterator[list[Held]]:
    """Bring up one process for each list of arguments; none outlives the block."""
    with ExitStack() as stack:
        yield [Held(stack.enter_context(_running(module, each))) for each in arguments]


@contextmanager
def _running(module: str, arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
