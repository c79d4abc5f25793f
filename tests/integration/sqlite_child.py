"""Another process on the same store: `python -m tests.integration.sqlite_child VERB HOME ...`.

Says each step on a line of its own as soon as it was taken. Its slow look for missed wake-ups is off.
"""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.waiting import HANG_SECONDS
from webordinary.backends.sqlite import engine as engine_module
from webordinary.backends.sqlite import wakeups
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.claim import WorkerId
from webordinary.core.errors import WebordinaryError
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock


def say(*words: object) -> None:
    print(*words, flush=True)


def a_job(name: str, lane: str, size: int = 1) -> Job:
    return Job(JobId(name), Lane.parse(lane), "x" * size, f"<{name}>", Arrival.QUEUE)


async def submit(backend: Backend, prefix: str, count: str, *lanes: str) -> None:
    """Submit so many jobs, in turn to each lane."""
    for number in range(int(count)):
        job = a_job(f"{prefix}{number:04}", lanes[number % len(lanes)])
        await backend.broker.submit(job)
        say(job.id)


async def serve(backend: Backend, worker: str, jobs: str) -> None:
    """Serve lanes, one at a time, until so many jobs of the whole store are done."""
    while sum((await backend.ledger.counts()).values()) < int(jobs) or await _open_jobs(backend):
        claimed = await backend.broker.claim(WorkerId(worker), room=1, wait=0.2)
        for claim in claimed.claims:
            delivery = await backend.broker.next_job(claim, wait=0)
            while delivery is not None:
                say(delivery.job.lane, delivery.job.id, claim.fence, delivery.attempt)
                delivery = await backend.broker.settle(delivery, Done(), more=True)
            await backend.broker.release(claim)


async def _open_jobs(backend: Backend) -> int:
    return sum(view.depth for view in await backend.ledger.lanes(limit=1000))


async def wait_for_a_lane(backend: Backend, worker: str) -> None:
    poll = asyncio.create_task(backend.broker.claim(WorkerId(worker), room=1, wait=HANG_SECONDS))
    await asyncio.sleep(0.05)
    say("waiting")
    claimed = await poll
    say(*(f"claimed {claim.lane}" for claim in claimed.claims) if claimed.claims else ("nothing",))


async def open_only(backend: Backend) -> None:
    say("opened", sum((await backend.ledger.counts()).values()))


async def fill(backend: Backend) -> None:
    """Submit until the file may not grow any more, then let it grow again."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    for number in range(1000):
        try:
            await backend.broker.submit(a_job(f"before{number:04}", "amelia/scott", 20_000))
        except WebordinaryError as error:
            say("refused", type(error).__name__, error)
            break
        say("accepted", f"before{number:04}")
    say("counted", sum((await backend.ledger.counts()).values()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await backend.broker.submit(a_job("afterwards", "amelia/scott", 20_000))
    say("accepted", "afterwards")


def hold_the_lock(home: Path) -> None:
    """Stop in the middle of a transaction, as a suspended machine does."""
    engine = engine_module.Engine(home / STORE_NAME, SystemClock(), LocalWakeups())

    def stop(_: object) -> None:
        say("holding")
        os.kill(os.getpid(), signal.SIGSTOP)

    asyncio.run(engine.write(stop))
    engine.close()
    say("let go")


VERBS: dict[str, Callable[..., Awaitable[None]]] = {
    "submit": submit,
    "serve": serve,
    "wait": wait_for_a_lane,
    "open": open_only,
    "fill": fill,
}


async def main(verb: str, home: Path, *arguments: str) -> None:
    wakeups.MISSED_WAKEUP_SECONDS = 3600.0
    backend = open_sqlite(home, SystemClock(), Limits())
    try:
        await VERBS[verb](backend, *arguments)
    finally:
        backend.close()


if __name__ == "__main__":
    verb, home, *arguments = sys.argv[1:]
    if verb == "hold":
        hold_the_lock(Path(home))
    else:
        asyncio.run(main(verb, Path(home), *arguments))
