"""The dashboard as a process: asks itself for every page and every route, and prints what it took as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from bench.checkout import FolderBlobs, SystemClock
from bench.machine import resident_megabytes
from bench.pages_store import HOT, LIMITS, TRY_KEY, Shape
from bench.pool import ask
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.dashboard.app import create_app
from webordinary.dashboard.parts import Parts

HOST = "http://127.0.0.1:8025"
STREAMS = {"/events", "/jobs/{job}/events"}  # they end when the browser leaves

_JOBS = "SELECT * FROM jobs ORDER BY seq DESC LIMIT {}"
_COUNTS = "SELECT state, COUNT(*) FROM jobs GROUP BY state"
_LANES = (
    "SELECT lanes.*, COUNT(jobs.seq) FROM lanes LEFT JOIN jobs ON jobs.lane = lanes.lane"
    " AND jobs.finished_at IS NULL GROUP BY lanes.lane {} ORDER BY lanes.lane LIMIT 51"
)
_BUSY = "HAVING COUNT(jobs.seq) > 0"


@dataclass(frozen=True, slots=True)
class Asked:
    """One address: how long its answers took, and its queries by hand."""

    address: str
    status: int
    bytes: int
    milliseconds: list[float]
    cpu_milliseconds: list[float]  # which a busy machine leaves as it is
    by_hand: list[float]


@dataclass(frozen=True, slots=True)
class Answer:
    """All addresses, and the memory before and after many requests."""

    asked: list[Asked]
    megabytes_before: float
    megabytes_after: float


@dataclass(frozen=True, slots=True)
class Samples:
    """Something of every kind that an address can name."""

    busy: str  # a job that told as much as a job may
    mail: str
    middle: str  # a job with half of all jobs before it
    last: str  # the project of the last lane

    @classmethod
    def of(cls, home: Path, shape: Shape) -> Samples:
        """Look some up."""
        ((busy,),) = ask(home, "SELECT job FROM job_events GROUP BY job ORDER BY COUNT(*) DESC LIMIT 1")
        ((mail,),) = ask(home, f"SELECT message_id FROM jobs WHERE id = '{busy}'")
        ((middle,),) = ask(
            home, "SELECT id FROM jobs ORDER BY seq LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM jobs)"
        )
        return cls(str(busy), str(mail), str(middle), shape.last.project)

    def addresses(self) -> dict[str, list[str]]:
        """Addresses of routes that name something, or that are asked for in several ways."""
        job, hot = self.busy, f"{HOT.project}/{HOT.user}"
        return {
            "/lanes": ["/lanes", "/lanes?all=true&limit=200", f"/lanes?after={self.last}/user5"],
            "/lanes/{project}/{user}": [f"/lanes/{hot}"],
            "/jobs": [
                "/jobs",
                "/jobs?state=failed",
                f"/jobs?lane={hot}",
                f"/jobs?limit=200&before={self.middle}",
            ],
            "/jobs/{job}": [f"/jobs/{job}"],
            "/jobs/{job}/patch": [f"/jobs/{job}/patch"],
            "/jobs/{job}/pictures/{number:int}/{which}": [f"/jobs/{job}/pictures/0/after"],
            "/mail": ["/mail", "/mail?state=accepted"],
            "/mail/{mail}": [f"/mail/{self.mail}"],
            "/mail/{mail}/raw": [f"/mail/{self.mail}/raw"],
            "/mail/{mail}/files/{number:int}": [f"/mail/{self.mail}/files/0"],
            "/mail/sent/{kind}/{about:path}": [f"/mail/sent/done/{job}"],
            "/try/{key}": [f"/try/{TRY_KEY}"],
            **{
                path: [f"{path}?limit=200"]
                for path in ("/api/lanes", "/api/mails", "/api/letters", "/api/dead")
            },
            "/api/jobs": ["/api/jobs?limit=200", f"/api/jobs?limit=200&before={self.middle}"],
            "/api/lanes/{project}/{user}": [f"/api/lanes/{hot}?limit=200"],
            "/api/jobs/{job}": [f"/api/jobs/{job}"],
            "/api/jobs/{job}/events": [f"/api/jobs/{job}/events?limit=200"],
        }

    def named(self, address: str) -> str:
        """Write an address so that it reads the same in every run."""
        return address.replace(self.busy, "JOB").replace(self.middle, "JOB").replace(self.mail, "MAIL")

    def by_hand(self, address: str) -> Sequence[str]:
        """What somebody would type into the store's own shell to see the same."""
        known = {
            "/": (_COUNTS, _LANES.format(_BUSY), _JOBS.format(8)),
            "/lanes": (_LANES.format(_BUSY),),
            "/jobs": (_JOBS.format(51),),
            "/jobs?state=failed": ("SELECT * FROM jobs WHERE state = 'failed' ORDER BY seq DESC LIMIT 51",),
            "/dead": ("SELECT * FROM jobs WHERE state = 'dead' ORDER BY seq DESC LIMIT 51",),
            "/mail": ("SELECT * FROM mails ORDER BY seq DESC LIMIT 51",),
            "/mail/sent": ("SELECT * FROM letters ORDER BY seq DESC LIMIT 51",),
            "/metrics": (_JOBS.format(200), "SELECT * FROM history ORDER BY event DESC LIMIT 400", _COUNTS),
            "/api/status": (_COUNTS, _LANES.format(_BUSY)),
            "/api/jobs?limit=200": (_JOBS.format(201),),
            f"/jobs/{self.busy}": (
                f"SELECT * FROM jobs WHERE id = '{self.busy}'",
                f"SELECT * FROM job_events WHERE job = '{self.busy}'",
                f"SELECT * FROM history WHERE lane = '{HOT.key}' ORDER BY event DESC LIMIT 200",
                f"SELECT * FROM letters WHERE about = '{self.busy}'",
            ),
        }
        return known.get(address, ())


def readable(app: Starlette) -> Iterator[str]:
    """Every route that can be asked for without changing anything."""
    for route in app.routes:
        if isinstance(route, Route) and "GET" in (route.methods or ()) and route.path not in STREAMS:
            yield route.path


async def measure(home: Path, shape: Shape, times: int) -> Answer:
    """Ask for everything, a few times; and for ten times as much with an eye on the memory."""
    clock, samples = SystemClock(), Samples.of(home, shape)
    backend = open_sqlite(home, clock, LIMITS)
    parts = Parts(backend, FolderBlobs(home / "blobs"), clock, LIMITS, send=_nowhere)
    app, known = create_app(parts, token="a-token-of-the-bench"), samples.addresses()
    addresses = [address for path in readable(app) for address in known.get(path, [path])]
    unknown = [address for address in addresses if "{" in address]
    if unknown:
        raise LookupError(f"Samples.addresses has nothing to ask {unknown[0]} for")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST) as client:
        uri = f"{(home / STORE_NAME).as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as shell:
            asked = [
                replace(
                    await _asked(client, shell, address, samples.by_hand(address), times),
                    address=samples.named(address),
                )
                for address in addresses
            ]
        gc.collect()
        before = resident_megabytes(os.getpid())
        for number in range(10 * times):
            await client.get(addresses[number % len(addresses)])
        after = resident_megabytes(os.getpid())
    backend.close()
    return Answer(asked, before, after)


async def _asked(
    client: httpx.AsyncClient, shell: sqlite3.Connection, address: str, queries: Sequence[str], times: int
) -> Asked:
    answer = await client.get(address)  # templates are read once
    taken, cpu, by_hand = [], [], []
    for _ in range(times):
        began, used = time.perf_counter(), time.process_time()
        answer = await client.get(address)
        taken.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - used) * 1000)
        if queries:
            began = time.perf_counter()
            for query in queries:
                shell.execute(query).fetchall()
            by_hand.append((time.perf_counter() - began) * 1000)
    return Asked(address, answer.status_code, len(answer.content), taken, cpu, by_hand)


async def _nowhere(_sender: str, _mail: bytes) -> None:
    return


if __name__ == "__main__":
    home, lanes, times = sys.argv[1:]
    print(json.dumps(asdict(asyncio.run(measure(Path(home), Shape(int(lanes)), int(times))))))
