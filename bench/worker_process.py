"""A real worker on the embedded store, whose handler only notes when it was given which job.

python -m bench.worker_process HOME SLOTS NOTES [SECONDS]: a job takes no time, or so many seconds
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from bench.checkout import SystemClock
from bench.processes import hold
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.claim.worker import Worker
from webordinary.core.claim import Delivery, Presence, WorkerId
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Outcome
from webordinary.ports.handler import Stop


class NotingEcho:
    """Answers with the instruction, and notes when each job started."""

    def __init__(self, seconds: float) -> None:
        """Start with nothing noted."""
        self._seconds = seconds
        self.notes: list[tuple[int, str]] = []

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:  # noqa: ARG002 - done before anyone could ask
        """See `Handler.run`."""
        self.notes.append((time.monotonic_ns(), delivery.job.id))
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return Done(delivery.job.instruction)


async def serve(home: Path, slots: int, handler: NotingEcho) -> None:
    """Work until told to stop."""
    clock, limits = SystemClock(), Limits()
    backend = open_sqlite(home, clock, limits)
    presence = Presence(WorkerId(f"bench.{os.getpid()}"), slots, clock.now(), host="bench", pid=os.getpid())
    worker = Worker(presence, backend.broker, handler, clock, limits)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    try:
        await worker.run()
    finally:
        backend.close()


def main() -> None:
    """Hold, work, and leave the notes behind."""
    home, slots, notes = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    handler = NotingEcho(float(sys.argv[4]) if len(sys.argv) > 4 else 0.0)
    hold()
    asyncio.run(serve(home, slots, handler))
    notes.write_text(json.dumps(handler.notes), "utf-8")


if __name__ == "__main__":
    main()
