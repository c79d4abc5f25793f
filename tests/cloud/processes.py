"""Real `webordinary` processes that share nothing but the emulated cloud and a git repository."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.integration.cli_support import Home

SETTINGS = """
slots = 1
[work]
agent = "demo"
[limits]
lease_seconds = 12
beat_seconds = 1
sweep_seconds = 1
retry_first_seconds = 0.1
retry_most_seconds = 0.1
deliveries_max = 3
drain_grace_seconds = 1
"""


class Container(Home):
    """A container: a home of its own that goes with it, and everything else by its environment."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        super().__init__(folder, SETTINGS)
        self.environment.pop("ANTHROPIC_API_KEY", None)
        self.environment |= environment | {"WORKSPACE_PATH": str(folder / "workspace")}
        self.log = folder / "worker.log"

    def words(self, *words: str) -> list[str]:
        verbs = 2 if words[0] in ("dead", "cloud") else 1
        return [*words[:verbs], "--home", str(self.folder), *words[verbs:]]

    @contextlib.contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        """A generic worker: no project and no user in its configuration."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                self.command("worker", "--json"), env=self.environment, stderr=log, start_new_session=True
            )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
