"""A worker that can be killed or stopped at any moment. It leaves traces of all it does.

Kinds: `right` is the released code; `blocking` the same, with jobs that hold up its loop; the others are
wrong on purpose and must be caught.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import signal
import time
from pathlib import Path

from tests.reliability.audit import Carried
from tests.reliability.drill_parts import LIMITS, append, die_with
from webordinary.backends.broker import TransactionalBroker
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.open import STORE_NAME
from webordinary.backends.sqlite.store import SqliteStore
from webordinary.backends.sqlite.wakeups import SocketWakeups
from webordinary.claim.rows import Nothing
from webordinary.claim.rules import Rules
from webordinary.claim.worker import Worker
from webordinary.core.claim import Claim, Delivery, Presence, WorkerId
from webordinary.core.errors import ClaimLost
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done, Outcome
from webordinary.ports.handler import Stop
from webordinary.simulation.mutants import NoFencing
from webordinary.system.clock import SystemClock


class ReportingRules(Rules):
    """The released rules; they only write down whose settle was refused."""

    report: Path

    def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        try:
            return super().settle(delivery, outcome, more=more)
        except ClaimLost:
            append(self.report, "settle", delivery.claim.lane.key, delivery.job.id, delivery.claim.fence)
            raise


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
    ReportingRules.report = home / "refused"
    store = SqliteStore(engine, LIMITS, NoFencing if kind == "unfenced" else ReportingRules)
    broker = TransactionalBroker(store, wakeups, clock)
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


def work(parent: int, home: Path, kind: str, slots: str, job_seconds: str) -> None:
    """Be such a process."""
    die_with(parent)
    asyncio.run(main(home, kind, int(slots), float(job_seconds)))
