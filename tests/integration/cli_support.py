"""Real `webordinary` processes on a home folder of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = (
    60.0  # for what takes a moment on an idle machine; nothing waits so long unless it is broken
)

FAST_LIMITS = """
[limits]
lease_seconds = 20
beat_seconds = 0.5
sweep_seconds = 0.5
retry_first_seconds = 0.05
retry_most_seconds = 0.05
deliveries_max = 2
stop_grace_seconds = 1
drain_grace_seconds = 0.3
"""


class Home:
    """A home folder and the commands that are run on it."""

    def __init__(self, folder: Path, settings: str = FAST_LIMITS) -> None:
        """Make the folder, with settings that do not keep a test waiting."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "webordinary.toml").write_text(settings)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEBORDINARY_")}
        self.environment = clean | {"HOME": str(folder.parent), "NO_COLOR": "1", "COLUMNS": "100"}

    def command(self, *words: str) -> list[str]:
        verbs = 2 if words[:1] == ("dead",) else 1
        return [
            sys.executable,
            "-m",
            "webordinary.cli",
            *words[:verbs],
            "--home",
            str(self.folder),
            *words[verbs:],
        ]

    def run(self, *words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            input=stdin,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def said(self, *words: str, code: int = 0, stdin: str = "") -> str:
        """Run a command, check its exit code and that it did not fall over; give what it printed."""
        ran = self.run(*words, stdin=stdin)
        assert "Traceback" not in ran.stderr, ran.stderr
        assert ran.returncode == code, (ran.returncode, ran.stdout, ran.stderr)
        return ran.stdout

    def complained(self, *words: str, code: int, stdin: str = "", **environment: str) -> str:
        """Run a command that is refused: one sentence, nothing else."""
        ran = self.run(*words, stdin=stdin, **environment)
        assert ran.returncode == code, (ran.returncode, ran.stdout, ran.stderr)
        assert ran.stdout == ""
        assert "Traceback" not in ran.stderr
        return ran.stderr.strip()

    def json(self, *words: str, code: int = 0) -> Any:  # noqa: ANN401 - whatever JSON holds
        return json.loads(self.said(*words, "--json", code=code))

    def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = self.json("job", job)["job"]
        return found

    def submitted(self, lane: str, text: str, *more: str) -> str:
        return str(self.json("submit", lane, text, *more)["job"])

    @contextlib.contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A command that stays; whatever happens in the test, it does not outlive it."""
        process = subprocess.Popen(
            self.command(*words),
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    @contextlib.contextmanager
    def worker(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A worker that takes part in the pool."""
        with self.started("worker", *words) as process:
            eventually(lambda: process.pid in self.pids())
            yield process

    def pids(self) -> set[int]:
        """The process ids of the pool, as the store knows them."""
        ran = self.run("status", "--json")
        return (
            {worker["pid"] for worker in json.loads(ran.stdout)["workers"]} if ran.returncode == 0 else set()
        )

    def until(self, job: str, state: str) -> dict[str, Any]:
        """Wait for a job to reach a state."""
        eventually(lambda: self.job(job)["state"] == state)
        return self.job(job)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether a process lives; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a process to end; its exit code and what it said."""
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, err
