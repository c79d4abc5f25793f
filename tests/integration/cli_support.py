"""Real `webordinary` processes on a home folder of their own."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.forking import Forked, completed, holds_a_store
from tests.waiting import HANG_SECONDS, wait_until
from webordinary.core.claim import WorkerId
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.outcome import Outcome
from webordinary.core.views import JobView, WorkerView
from webordinary.dispatch.submit import Request, submit
from webordinary.entrypoints.cli.main import COMMANDS, MODULES, main
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import load

T = TypeVar("T")

for command in COMMANDS:  # each copy would load its own, each time
    importlib.import_module(f"webordinary.entrypoints.cli.{MODULES.get(command, command)}")

ECHO = ("--handler", "echo")

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

    def words(self, *words: str) -> list[str]:
        """A command with this home."""
        verbs = 2 if words[:1] == ("dead",) else 1
        return [*words[:verbs], "--home", str(self.folder), *words[verbs:]]

    def command(self, *words: str) -> list[str]:
        """The same as a process."""
        return [sys.executable, "-m", "webordinary", *self.words(*words)]

    def run(self, *words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """A command that ends by itself, in a process of its own."""
        said, env = self.words(*words), self.environment | environment
        if holds_a_store() or any(name.startswith("PYTHON") for name in environment):  # see `Forked`
            command = self.command(*words)
            return subprocess.run(command, input=stdin, env=env, capture_output=True, text=True, check=False)
        with ExitStack() as stack:
            given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(stdin.encode())
            given.seek(0)
            return completed(Forked(lambda: main(said), (given, out, err), env), said, out, err)

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

    def ask(self, question: Callable[[Backend], Awaitable[T]]) -> T:
        """Look into the store without a process of its own: waiting takes many looks."""

        async def asked() -> T:
            backend = open_backend(load(self.folder, {}))
            try:
                return await question(backend)
            finally:
                backend.close()

        return asyncio.run(asked())

    def served(self, lane: str, text: str, *outcomes: Outcome) -> str:
        """A job in the store with this behind it, without a process."""

        async def serve(backend: Backend) -> str:
            clock, me = SystemClock(), WorkerId("somebody")
            request = Request(Lane.parse(lane), text)
            receipt = await submit(request, backend, clock, any_project=True)
            for outcome in outcomes:
                claimed = await backend.broker.claim(me, room=1, wait=HANG_SECONDS)
                delivery = await backend.broker.next_job(claimed.claims[0], wait=HANG_SECONDS)
                assert delivery is not None
                await backend.broker.settle(delivery, outcome, more=False)
                await backend.broker.release(claimed.claims[0])
            return receipt.stored.job

        return self.ask(serve)

    def job(self, job: str) -> JobView:
        return self.ask(lambda backend: backend.ledger.job(JobId(job)))

    def jobs(self, state: JobState | None = None) -> list[JobView]:
        return self.ask(lambda backend: backend.ledger.jobs(limit=100, state=state))

    def workers(self) -> list[WorkerView]:
        return self.ask(lambda backend: backend.ledger.workers())

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
            preexec_fn=_heed_ctrl_c,  # noqa: PLW1509 - it takes no lock
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
        trial = () if {"--handler", "--"} & set(words) else ECHO
        with self.started("worker", *trial, *words) as process:
            wait_until(lambda: process.pid in {worker.pid for worker in self.workers()})
            yield process

    def until(self, job: str, state: JobState) -> JobView:
        """Wait for a job to reach a state."""
        wait_until(lambda: self.job(job).state is state)
        return self.job(job)


def _heed_ctrl_c() -> None:
    """What a shell starts in the background ignores it, and so would all that `make test &` starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a process to end; its exit code and what it said."""
    out, err = process.communicate(timeout=HANG_SECONDS)
    return process.returncode, out, err
