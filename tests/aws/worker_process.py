"""A worker of the cloud as a process of its own, and what it says it did.

python -m tests.aws.worker_process ENDPOINT PREFIX NAME SLOTS SECONDS LOG
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from webordinary.backends.aws.open import open_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.claim.worker import Worker
from webordinary.core.claim import Delivery, Presence, WorkerId
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Outcome, Preempted
from webordinary.ports.backend import Backend
from webordinary.ports.handler import Stop
from webordinary.system.clock import SystemClock

LIMITS = Limits(lease_seconds=6.0, beat_seconds=1.5, sweep_seconds=1.0)


@dataclass(frozen=True, slots=True)
class Run:
    """A job that somebody began."""

    lane: str
    job: str
    fence: int
    attempt: int
    worker: str


class Diary:
    """Works for a moment; writes each beginning down, for all workers in one file."""

    def __init__(self, worker: str, seconds: float, log: Path) -> None:
        self._worker, self._seconds, self._log = worker, seconds, log

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        claim, job = delivery.claim, delivery.job
        begun = [claim.lane.key, job.id, claim.fence, delivery.attempt, self._worker]
        with self._log.open("a") as log:  # one short line is written as a whole
            log.write(json.dumps(begun) + "\n")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await stop.wait()
                return Preempted(kept="half of it")
        return Done(f"{self._worker} {claim.fence} {delivery.attempt}")


def runs(log: Path) -> list[Run]:
    """Read who began what, in order."""
    return [Run(*json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []


def new_worker(backend: Backend, name: str, slots: int, seconds: float, log: Path) -> Worker:
    """A real worker with a diary."""
    presence = Presence(WorkerId(name), slots, SystemClock().now(), "here", os.getpid())
    return Worker(presence, backend.broker, Diary(name, seconds, log), SystemClock(), LIMITS)


async def main(endpoint: str, prefix: str, name: str, slots: str, seconds: str, log: str) -> None:
    backend = open_aws(AwsSettings(endpoint=endpoint, prefix=prefix), SystemClock(), LIMITS)
    worker = new_worker(backend, name, int(slots), float(seconds), Path(log))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    await worker.run()
    backend.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
