"""No query of the embedded store walks all there is: the plan of every statement is looked at."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from webordinary.backends.sqlite import engine
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.claim.wait_reasons import explained
from webordinary.core.claim import Claim, Presence, WorkerId
from webordinary.core.facts import Facts
from webordinary.core.job import Arrival, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter, LetterKind, MailId, MailRecord, MailState, SessionId
from webordinary.core.outcome import Done, Failed, Outcome, Retry
from webordinary.core.site import Session
from webordinary.core.work import AgentEvent, EventKind
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock

LARGE = ("jobs", "history", "job_events", "letters", "mails", "lanes", "threads", "sessions")
# A walk along the primary key that ends after a few rows; nothing is passed over on the way.
FIRST_FEW = re.compile(r"FROM \w+( WHERE 1)?\s+ORDER BY (seq|event) DESC\s+LIMIT \d+\s*$")
LIMITS = Limits(deliveries_max=1)
WORKER = WorkerId("vm.1.w")
AMELIA, BRAVO = Lane("amelia", "scott"), Lane("bravo", "john")


@contextmanager
def traced(statements: set[str]) -> Iterator[None]:
    """Note every statement of every connection that is opened meanwhile, with its values."""
    connect = engine._connect

    def noting(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)  # type: ignore[arg-type] # passed on
        connection.set_trace_callback(statements.add)
        return connection

    with mock.patch.object(engine, "_connect", noting):
        yield


class Play:
    """Everything that is asked of a store, at least once."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.clock = backend, SystemClock()

    async def submit(self, lane: Lane, arrival: Arrival = Arrival.QUEUE) -> Job:
        name = self.clock.unique()
        job = Job(JobId(name), lane, "x", f"<{name}>", arrival, wants_reply=True, session="s1")
        await self.backend.broker.submit(job)
        return job

    async def work(self, lane: Lane, outcome: Outcome) -> Claim:
        (claim,) = (await self.backend.broker.claim(WORKER, room=1, wait=0, only=lane)).claims
        delivery = await self.backend.broker.next_job(claim, wait=0)
        assert delivery is not None
        await self.backend.journal.tell(delivery, [AgentEvent(EventKind.SAID, "x")])
        await self.backend.broker.settle(delivery, outcome, more=True)
        return claim

    async def protocol(self) -> None:
        broker, control = self.backend.broker, self.backend.control
        await self.submit(AMELIA)
        claim = await self.work(AMELIA, Done("x", Facts(unchanged=True)))
        await broker.keep(Presence(WORKER, 1, self.clock.now(), "vm", 1), [claim])
        await self.submit(BRAVO)
        await broker.claim(WORKER, room=0, wait=0, idle=[claim])
        await broker.release(claim)
        await self.submit(BRAVO, Arrival.REPLACE_PENDING)
        dead = await self.submit(AMELIA)
        for lane, outcome in ((AMELIA, Retry("x")), (BRAVO, Failed("x"))):
            await broker.release(await self.work(lane, outcome))
        await control.redrive(dead.id)
        await broker.release(await self.work(AMELIA, Retry("x")))
        await control.drop(dead.id)
        await self.submit(AMELIA)
        await self.submit(AMELIA, Arrival.INTERRUPT)
        await control.interrupt(AMELIA)
        await control.evict(AMELIA)
        await broker.claim(WORKER, room=1, wait=0)
        await broker.sweep()
        await self.backend.gatekeeper.owner(AMELIA)

    async def mail(self) -> None:
        mailbox, outbox, session = self.backend.mailbox, self.backend.outbox, SessionId("s1")
        record = MailRecord(
            MailId("m1"), "<m1>", MailState.ACCEPTED, "", "a@example.com", "x", (), 1.0, "", AMELIA, session,
            None, (),
        )  # fmt: skip
        await mailbox.keep(record)
        await mailbox.update(replace(record, state=MailState.REFUSED))
        await mailbox.begin(Session(session, AMELIA, "x", 1.0))
        await mailbox.session(session)
        await mailbox.thread(["<m0>", "<m1>"])
        await mailbox.remember(session, "<m2>")
        for state in (None, MailState.REFUSED):
            for before in (None, MailId("m1")):
                await mailbox.mails(limit=5, state=state, before=before)
        await outbox.owe(Letter("m1", LetterKind.REFUSED, MailId("m1")))
        for letter in await outbox.take("me", limit=5, hold=60, wait=0):
            await outbox.postpone(letter, 5.0, "x")
            await outbox.abandon(letter, "x")
            await outbox.sent(letter, "<sent>")
        for about in (None, "m1"):
            for cursor in (None, ("m1", LetterKind.REFUSED)):
                await outbox.letters(limit=5, about=about, before=cursor)

    async def looks(self) -> None:
        ledger, journal = self.backend.ledger, self.backend.journal
        latest = (await ledger.jobs(limit=1))[0]
        for lane in (None, AMELIA):
            for state in (None, *JobState):
                for before in (None, latest.id):
                    await ledger.jobs(limit=5, lane=lane, state=state, before=before)
        await ledger.job(JobId(latest.id[:-1]))
        await ledger.history(None, limit=5)
        for job in (None, latest):
            await ledger.history(AMELIA, limit=5, job=job)
        for busy in (True, False):
            for after in (None, AMELIA):
                await ledger.lanes(limit=5, after=after, busy=busy)
        workers, lanes = await ledger.workers(), await ledger.lanes(limit=5)
        await explained(ledger, [await ledger.lane(AMELIA), *lanes], workers, LIMITS, self.clock.now())
        await ledger.counts()
        await journal.events(latest.id, limit=5)
        for session in (None, "s1"):
            await journal.left(AMELIA, session)


@pytest.fixture
async def plans(tmp_path: Path) -> dict[str, list[str]]:
    """Every statement of a day, and how SQLite goes about it."""
    statements: set[str] = set()
    with traced(statements):
        backend = open_sqlite(tmp_path, SystemClock(), LIMITS)
        statements.clear()  # bringing a store forward reads it once
        try:
            play = Play(backend)
            await play.protocol()
            await play.mail()
            await play.looks()
        finally:
            backend.close()
    queries = [one for one in statements if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE|INSERT)", one)]
    with closing(sqlite3.connect(tmp_path / STORE_NAME)) as connection:
        return {
            query: [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")]
            for query in queries
        }


async def test_no_statement_walks_all_jobs_mails_or_lanes(plans: dict[str, list[str]]) -> None:
    """A store with a million finished jobs answers as quickly as one with a thousand."""
    assert len(plans) > 50
    walks = {
        query: step
        for query, steps in plans.items()
        for step in steps
        if re.match(rf"SCAN ({'|'.join(LARGE)})\b", step) and not FIRST_FEW.search(query)
    }
    assert walks == {}


async def test_an_order_that_no_index_has_is_only_made_of_a_few_rows(plans: dict[str, list[str]]) -> None:
    """Sorting reads everything first, whatever the limit: only what indexes have narrowed down is sorted."""
    sorts = {
        query: steps
        for query, steps in plans.items()
        if any("TEMP B-TREE FOR ORDER BY" in step for step in steps)
        and not any(re.match(r"SEARCH (letters|lanes|jobs) USING", step) for step in steps)
    }
    assert sorts == {}


@pytest.mark.usefixtures("plans")
async def test_jobs_are_counted_as_if_somebody_had_read_them_all(tmp_path: Path) -> None:
    """Counts are kept up with every change, so no change may be left out: retries, redrives and drops too."""
    with closing(sqlite3.connect(tmp_path / STORE_NAME)) as connection:
        kept = dict(connection.execute("SELECT state, jobs FROM job_counts WHERE jobs <> 0"))
        assert kept == dict(connection.execute("SELECT state, COUNT(*) FROM jobs GROUP BY state"))
        assert len(kept) > 3
