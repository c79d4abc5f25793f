"""A pool of real processes on one store, which a test may kill, stop and wake."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.forking import Forked
from tests.reliability import drill_submitter, drill_worker
from tests.reliability.audit import Auditor
from tests.reliability.drill_parts import LIMITS, lines
from tests.waiting import HANG_SECONDS
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.system.clock import SystemClock

KINDS: dict[str, Callable[..., None]] = {"worker": drill_worker.work, "submitter": drill_submitter.submit}
LOOK_SECONDS = 0.01
MOST_LOOKS = int(HANG_SECONDS / LOOK_SECONDS)  # with nothing coming: then something is stuck


@dataclass(slots=True, eq=False)
class Member:
    """One process of the drill, and how to start its successor."""

    arguments: tuple[str, ...]
    process: Forked

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_worker(self) -> bool:
        return self.arguments[0] == "worker"


class Drill:
    """Starts processes and ends them, each by its id. None outlives the test."""

    def __init__(self, home: Path) -> None:
        """Make the store, with an auditor in it."""
        self.home = home
        self.members: list[Member] = []
        open_sqlite(home, SystemClock(), LIMITS).close()
        self.auditor = Auditor(home / STORE_NAME)

    def start_worker(self, kind: str = "right", *, slots: int = 4, job_seconds: float = 0.01) -> Member:
        return self._start(("worker", kind, str(slots), str(job_seconds)))

    def start_submitter(self, name: str, lanes: int) -> Member:
        return self._start(("submitter", name, str(lanes)))

    def _start(self, arguments: tuple[str, ...]) -> Member:
        kind, *rest = arguments
        parent = os.getpid()
        with (self.home / "errors").open("ab") as errors, Path(os.devnull).open("rb") as nothing:
            process = Forked(lambda: KINDS[kind](parent, self.home, *rest), (nothing, errors, errors))
        member = Member(arguments, process)
        self.members.append(member)
        return member

    def kill(self, member: Member) -> None:
        """End a process as a power switch would."""
        self.members.remove(member)
        member.process.kill()
        member.process.wait()

    def replace(self, member: Member) -> Member:
        self.kill(member)
        return self._start(member.arguments)

    def stop(self, member: Member) -> None:
        """Freeze a process, as a suspended machine or a long swap would."""
        member.process.send_signal(signal.SIGSTOP)
        until(lambda: Path(f"/proc/{member.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")

    def wake(self, member: Member) -> None:
        member.process.send_signal(signal.SIGCONT)

    def leave(self, members: Sequence[Member]) -> list[int]:
        """Ask processes to end by themselves; give their exit codes."""
        for member in members:
            member.process.send_signal(signal.SIGTERM)
        codes = []
        for member in members:
            self.members.remove(member)
            codes.append(member.process.wait(HANG_SECONDS))
        return codes

    def ready(self) -> list[Member]:
        """List the processes that have the store open."""
        pids = {int(line[0]) for line in lines(self.home / "ready")}
        return [member for member in self.members if member.pid in pids]

    def errors(self) -> str:
        """What processes said before they died of something else than a kill."""
        return (self.home / "errors").read_text()

    def acknowledged(self) -> list[list[str]]:
        """Job and lane of every message that a sender was told about."""
        return [line for path in sorted(self.home.glob("acknowledged-*")) for line in lines(path)]

    def end(self) -> None:
        for member in list(self.members):
            self.kill(member)


@contextlib.contextmanager
def drill(home: Path) -> Iterator[Drill]:
    """Hold a drill in this folder."""
    held = Drill(home)
    try:
        yield held
    finally:
        held.end()


def until(
    what: Callable[[], bool], progress: Callable[[], object] = lambda: None, most_looks: int = MOST_LOOKS
) -> bool:
    """Look again and again. Give up only when nothing has moved for a long time: machines may be slow."""
    seen, looks = progress(), 0
    while looks < most_looks:
        if what():
            return True
        time.sleep(LOOK_SECONDS)
        now = progress()
        looks, seen = (looks + 1, seen) if now == seen else (0, now)
    return False
