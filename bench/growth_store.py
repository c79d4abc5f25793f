"""A store with a long past, made quickly: one job is worked on for real, and its rows are copied by SQL.

Ids, lanes and times differ from copy to copy; all else is as the first job left it. Lanes that wait come in
by submit, as they always do.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from bench.checkout import SystemClock
from bench.pool import SUBMITS_AT_ONCE
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.core.claim import Claim, Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import MailId, MailRecord, MailState
from webordinary.core.outcome import Done
from webordinary.core.work import AgentEvent, EventKind
from webordinary.ports.backend import Backend

LIMITS = Limits(lease_seconds=36_000, beat_seconds=3_600)  # a lease that outlives the measurement
SLOTS = 4
HOT = Lane("site0", "user0")  # has a tenth of all finished jobs
WORKER = WorkerId("studio.1.w")
JOBS_OF_A_LANE = 20
PROJECTS = 100
SECONDS_APART = 1.0  # finished jobs, one after the other


@dataclass(frozen=True, slots=True)
class Past:
    """How much there is."""

    finished: int
    waiting: int

    @property
    def idle_lanes(self) -> int:
        """Lanes that all those jobs were of, and in which nothing waits."""
        return max(self.finished // JOBS_OF_A_LANE, PROJECTS)


@dataclass(frozen=True, slots=True)
class Sample:
    """Something of each kind to ask for."""

    old_job: JobId  # of the hot lane, with nearly all of its jobs after it
    waiting: Lane


def fill(home: Path, past: Past) -> Sample:
    """Make the store."""
    asyncio.run(_sample(home))
    with closing(sqlite3.connect(home / STORE_NAME, isolation_level=None)) as connection:
        _multiply(connection, past)
    asyncio.run(_today(home, past))
    with closing(sqlite3.connect(home / STORE_NAME)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((old,),) = connection.execute(
            "SELECT id FROM jobs WHERE lane = ? ORDER BY seq LIMIT 1 OFFSET 1", (HOT.key,)
        )
    return Sample(JobId(old), _waiting_lane(past.waiting - 1))


async def _sample(home: Path) -> None:
    """One job of the hot lane, from its mail to its letter."""
    clock = SystemClock()
    backend = open_sqlite(home, clock, LIMITS, synchronous="OFF")
    mail = MailId(clock.unique())
    record = MailRecord(
        mail, f"<{mail}@mail.example>", MailState.ACCEPTED, "", "user0@site0.example", "A change", (),
        clock.now(), "", HOT, None, None, (),
    )  # fmt: skip
    await backend.mailbox.keep(record)
    job = Job(
        JobId(clock.unique()), HOT, "Change the title, please. " * 4, mail, Arrival.QUEUE, wants_reply=True
    )
    await backend.broker.submit(job)
    await backend.mailbox.update(replace(record, job=job.id))
    await _serve(backend, HOT)
    (letter,) = await backend.outbox.take("bench", limit=1, hold=60, wait=0)
    await backend.outbox.sent(letter, f"<{letter.about}@localhost>")
    backend.close()


async def _serve(backend: Backend, lane: Lane) -> None:
    (claim,) = (await backend.broker.claim(WORKER, room=1, wait=0, only=lane)).claims
    delivery = await backend.broker.next_job(claim, wait=0)
    assert delivery is not None
    await backend.journal.tell(delivery, [AgentEvent(EventKind.SAID, "I read the page.")])
    await backend.broker.settle(delivery, Done("I changed the title."), more=False)
    await backend.broker.release(claim)


def _multiply(connection: sqlite3.Connection, past: Past) -> None:
    """Copy the sample's rows. Indexes and triggers are made again when all rows are there."""
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -262144"):
        connection.execute(f"PRAGMA {pragma}")
    made = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
    ).fetchall()
    connection.execute("BEGIN")
    for kind, name, _ in made:
        connection.execute(f"DROP {kind} {name}")
    connection.execute(
        "CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS"
        f" (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {past.finished - 1}) SELECT n,"
        f" CASE n % 10 WHEN 0 THEN '{HOT.key}' ELSE 'site' || (n % {past.idle_lanes} % {PROJECTS})"
        f" || '#user' || (n % {past.idle_lanes} / {PROJECTS}) END AS lane,"
        f" (n - {past.finished}) * {SECONDS_APART} AS ago FROM n"
    )
    _copy(
        connection,
        "lanes",
        {"lane": "numbers.lane", "project": "substr(numbers.lane, 1, instr(numbers.lane, '#') - 1)"},
        "lane",
    )
    times = {name: f"{name} + ago" for name in ("submitted_at", "started_at", "finished_at")}
    names = {"id": "printf('0job%09d', n)", "lane": "numbers.lane", "message_id": "printf('0mail%09d', n)"}
    _copy(connection, "jobs", {"seq": "n + 1", **names, **times})
    _copy(
        connection,
        "mails",
        {
            "seq": "n + 1",
            "id": "printf('0mail%09d', n)",
            "message_id": "printf('<%d@mail.example>', n)",
            "lane": "numbers.lane",
            "job": "printf('0job%09d', n)",
            "received_at": "received_at + ago",
        },
    )
    letter = {"about": "printf('0job%09d', n)", "owed_at": "owed_at + ago", "sent_at": "sent_at + ago"}
    _copy(connection, "letters", {"seq": "n * 2 + 1", **letter}, where="state = 'sent'")
    _copy(connection, "history", {"event": "n * 2 + event", "lane": "numbers.lane", "at": "at + ago"})
    _copy(connection, "job_events", {"job": "printf('0job%09d', n)", "at": "at + ago"})
    for _, _, sql in made:
        connection.execute(sql)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'job_counts'").fetchone():
        connection.execute("DELETE FROM job_counts")
        connection.execute("INSERT INTO job_counts SELECT state, COUNT(*) FROM jobs GROUP BY state")
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")


def _copy(
    connection: sqlite3.Connection, table: str, changed: dict[str, str], each: str = "n", *, where: str = "1"
) -> None:
    """Copy the one row of a table for each number (or each lane), with some columns changed."""
    columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changed.get(name, f"sample.{name}") for name in columns)
    numbers = "numbers" if each == "n" else "(SELECT DISTINCT lane FROM numbers)"
    connection.execute(f"CREATE TEMP TABLE sample AS SELECT * FROM {table} WHERE {where}")
    connection.execute(
        f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) SELECT {values}"
        f" FROM {numbers} AS numbers CROSS JOIN sample"
    )
    connection.execute("DROP TABLE sample")


async def _today(home: Path, past: Past) -> None:
    """A worker whose slots are all taken, and lanes that wait."""
    clock = SystemClock()
    backend = open_sqlite(home, clock, LIMITS, synchronous="OFF")
    running = [Lane("running", f"user{number}") for number in range(SLOTS)]
    lanes = [*running, *(_waiting_lane(number) for number in range(past.waiting))]
    jobs = [Job(JobId(clock.unique()), lane, "x", f"<{lane.key}>", Arrival.QUEUE) for lane in lanes]
    for start in range(0, len(jobs), SUBMITS_AT_ONCE):
        await asyncio.gather(*(backend.broker.submit(job) for job in jobs[start : start + SUBMITS_AT_ONCE]))
    claims: list[Claim] = []
    for lane in running:
        claims += (await backend.broker.claim(WORKER, room=1, wait=0, only=lane)).claims
    await backend.broker.keep(Presence(WORKER, SLOTS, clock.now(), "studio", 1), claims)
    for claim in claims:
        await backend.broker.next_job(claim, wait=0)
    backend.close()


def _waiting_lane(number: int) -> Lane:
    return Lane(f"wait{number % PROJECTS}", f"user{number}")
