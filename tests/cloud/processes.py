"""Real `webordinary` processes that share nothing but the emulated cloud and a git repository."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.integration.cli_support import Home
from tests.waiting import HANG_SECONDS, wait_until

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

    def works(self) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        """A generic worker: no project and no user in its configuration."""
        return self._started(self.command("worker", "--json"), self.log)

    async def is_up(self) -> bool:
        """Whether its worker has come up."""
        return "up with" in self.log.read_text()

    @contextlib.contextmanager
    def web(self) -> Iterator[tuple[str, str]]:
        """The dashboard: where it is, and the token that lets one change things."""
        log = self.folder / "web.log"
        with self._started(self.command("web", "--json", "--http-port", "0", "--site-port", "0"), log):
            wait_until(lambda: "dashboard at" in log.read_text())
            address = re.search(r"dashboard at (http://[\d.:]+)", log.read_text())
            assert address
            yield address[1], (self.folder / "dashboard.token").read_text()

    @contextlib.contextmanager
    def _started(self, command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
        with log.open("ab") as file:
            process = subprocess.Popen(command, env=self.environment, stderr=file, start_new_session=True)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(HANG_SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
