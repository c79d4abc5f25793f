"""A worker that can be killed or stopped at any moment. It leaves traces of all it does.

    python -m tests.reliability.drill_worker PARENT HOME KIND SLOTS JOB_SECONDS

Kinds: `right` is the released code; `blocking` the same, with jobs that hold up its loop; the others are
wrong on purpose and must be caught.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.reliability.audit import Carried
from tests.reliability.drill_parts import LIMITS, append, die_with
from webordinary.backends.sqlite import working
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.open import STORE_NAME
from webordinary.backends.sqlite.store import SqliteStore
from webordinary.backends.sqlite.submitting import end
from webordinary.backends.sqlite.tx import Tx
from webordinary.backends.sqlite.wakeups import SocketWakeups
from webordinary.backends.store import TransactionalBroker
from webordinary.claim.rows import Nothing
from webordinary.claim.worker import Worker
from webordinary.core.claim import Claim, Delivery, Presence, WorkerId
from webordinary.core.errors import ClaimLost
from webordinary.core.job import JobState
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done, Outcome, Verdict
from webordinary.ports.handler import Stop
from webordinary.system.clock import SystemClock


class ReportingStore(SqliteStore):
    """The released store; it only writes down whose settle was refused."""

    def __init__(self, engine: Engine, report: Path) -> None:
        super().__init__(engine, LIMITS)
        self._report = report

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        def verb(tx: Tx) -> Delivery | Nothing:
            try:
                return self.settling(tx, delivery, outcome, more=more)
            except ClaimLost:
                append(self._report, "settle", delivery.claim.lane.key, delivery.job.id, delivery.claim.fence)
                raise

        return await self._engine.write(verb)

    def settling(self, tx: Tx, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        return working.settle(tx, self._limits, delivery, outcome, more=more)


class UnfencedStore(ReportingStore):
    """Wrong: whoever once was given a job may settle it."""

    def settling(self, tx: Tx, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        row = tx.one("SELECT state FROM jobs WHERE id = ?", (delivery.job.id,))
        if row is not None and row[0] == JobState.RUNNING and isinstance(outcome, Done):
            end(tx, delivery.job.id, Verdict(JobState.DONE, outcome.summary))
        try:
            return working.next_job(tx, self._limits, delivery.claim) if more else Nothing()
        except ClaimLost:
            return Nothing()


class GreedyWorker(Worker):
    """Wrong: it never gives an idle lane away for a waiting one."""

    def capacity(self) -> tuple[int, list[Claim]]:
        return super().capacity()[0], []


class Site:
    """The outside world of each lane: once a later owner has spoken, an earlier one is not heard."""

    def __init__(self, folder: Path, *, guarded: bool) -> None:
        self._folder, self._guarded = folder, guarded
        folder.mkdir(exist_ok=True)

    def publish(self, lane: Lane, fence: int, what: str) -> bool:
        """Change the site; say whether it was accepted."""
        with (self._folder / lane.key).open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            latest = max((int(line.split()[0]) for line in file), default=0)
            if self._guarded and fence < latest:
                return False
            os.write(file.fileno(), f"{fence} {what}\n".encode())
            return True


class LeavesTraces:
    """See `Handler`. Each job changes the site when it starts and when it ends."""

    def __init__(self, home: Path, site: Site, *, seconds: float, blocking: bool) -> None:
        self._effects, self._report, self._site = home / "effects", home / "refused", site
        self._seconds, self._blocking = seconds, blocking

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        del stop  # nothing here takes long enough to be asked
        self._leave("start", delivery)
        seconds = self._seconds * (0.5 + random.random())
        if self._blocking:
            time.sleep(seconds)
        else:
            await asyncio.sleep(seconds)
        self._leave("end", delivery)
        return Done(str(Carried(delivery.claim.fence, delivery.attempt, os.getpid())))

    def _leave(self, what: str, delivery: Delivery) -> None:
        lane, job, fence = delivery.claim.lane, delivery.job.id, delivery.claim.fence
        if not self._site.publish(lane, fence, f"{what} {job}"):
            append(self._report, "publish", lane.key, job, fence)
        append(self._effects, what, lane.key, job, fence, delivery.attempt, os.getpid())


async def main(home: Path, kind: str, slots: int, job_seconds: float) -> None:
    """Work until told to leave."""
    clock = SystemClock()
    wakeups = SocketWakeups(home / STORE_NAME, clock.unique())
    engine = Engine(home / STORE_NAME, clock, wakeups)
    wakeups.watch(engine.changes_seen)
    make_store = UnfencedStore if kind == "unfenced" else ReportingStore
    broker = TransactionalBroker(make_store(engine, home / "refused"), wakeups, clock)
    site = Site(home / "sites", guarded=kind != "unfenced")
    handler = LeavesTraces(home, site, seconds=job_seconds, blocking=kind in ("blocking", "unfenced"))
    name = f"w{os.getpid()}-{clock.unique()}"
    presence = Presence(WorkerId(name), slots, clock.now(), pid=os.getpid())
    worker = (GreedyWorker if kind == "greedy" else Worker)(presence, broker, handler, clock, LIMITS)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    append(home / "ready", os.getpid())
    await worker.run()
    wakeups.close()
    engine.close()


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    asyncio.run(main(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])))
