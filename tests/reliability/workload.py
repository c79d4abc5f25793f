"""The real verbs of the SQLite backend on a recorded database, and books of what was acknowledged when."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from tests.reliability.disk import Files, Operation
from tests.reliability.recorder import recorder_of
from webordinary.backends.sqlite import mailbox
from webordinary.backends.sqlite.schema import MIGRATIONS, SCHEMA_VERSION
from webordinary.backends.sqlite.store import rules_on
from webordinary.backends.sqlite.tx import Row, Tx, Values
from webordinary.core.claim import Claim, Claimed, Delivery, Presence, WorkerId
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import MailId, MailRecord, MailState
from webordinary.core.outcome import Done, Failed, Outcome, Retry
from webordinary.ports.admissions import Admission
from webordinary.ports.quotas import Bucket

DATABASE = "store.db"
LIMITS = Limits()
LANES = [Lane(f"p{number % 3}", f"u{number}") for number in range(6)]
WORKERS = [WorkerId(f"w{number}") for number in range(3)]
CHECKPOINT_PAGES = 25  # few, so that cuts fall into checkpoints too
SESSIONS, COMMITS_PER_SESSION = 2, 60  # a session ends by closing: the last checkpoint, and the log deleted


@dataclass(frozen=True, slots=True)
class Books:
    """What a store holds: what somebody was told of, and a fingerprint of all its rows."""

    jobs: dict[str, str] = field(default_factory=dict)  # job -> state
    replies: frozenset[str] = frozenset()
    fences: dict[str, int] = field(default_factory=dict)
    mails: frozenset[str] = frozenset()  # those whose bytes are there as well
    fingerprint: int = 0

    @classmethod
    def read(cls, tx: Tx) -> Books:
        tables = tx.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        rows = (tuple(tx.all(f"SELECT * FROM {table}")) for (table,) in tables)
        return cls(
            jobs=dict(tx.all("SELECT id, state FROM jobs")),
            replies=frozenset(f"{job} {kind}" for job, kind in tx.all("SELECT about, kind FROM letters")),
            fences=dict(tx.all("SELECT lane, fence FROM lanes")),
            mails=frozenset(
                mail for (mail,) in tx.all("SELECT mails.id FROM mails JOIN blobs ON blobs.key = mails.blob")
            ),
            fingerprint=hash(tuple(rows)),
        )

    def missing_from(self, later: Books) -> list[str]:
        """Name what was acknowledged and is not there any more."""
        ended = {state.value for state in (JobState.DONE, JobState.FAILED, JobState.DEAD, JobState.PREEMPTED)}
        return [
            *(f"job {job} is gone" for job in self.jobs if job not in later.jobs),
            *(
                f"job {job} was {state} and is {later.jobs[job]}"
                for job, state in self.jobs.items()
                if state in ended and later.jobs.get(job, state) != state
            ),
            *(f"the mail {mail} is gone" for mail in self.mails - later.mails),
            *(f"the reply owed for {job} is gone" for job in self.replies - later.replies),
            *(
                f"the fence of {lane} went back from {fence} to {later.fences.get(lane, 0)}"
                for lane, fence in self.fences.items()
                if later.fences.get(lane, 0) < fence
            ),
        ]


@dataclass(slots=True)
class Recording:
    """One life of a store: the files it began with, all it did to them, and what it had acknowledged when."""

    files: Files
    log: list[Operation]
    commits: list[tuple[int, Books]]  # the length of the log at a commit, and what is acknowledged since

    def around(self, position: int) -> tuple[Books, Books]:
        """What was acknowledged before this position, and what the commit under way would add."""
        acknowledged = following = Books()
        for length, books in self.commits:
            following = books
            if length > position:
                break
            acknowledged = books
        return acknowledged, following


class RecordedTx(Tx):
    """A transaction as the verbs see it, on a recorded connection."""

    __slots__ = ("_recorded",)

    def __init__(self, connection: apsw.Connection, now: float) -> None:
        super().__init__(connection, now)  # type: ignore[arg-type]  # as good as the driver's own, here
        self._recorded = connection

    def one(self, sql: str, values: Values = ()) -> Row | None:
        return next(iter(self.all(sql, values)), None)

    def all(self, sql: str, values: Values = ()) -> list[Row]:
        return self._recorded.execute(sql, values).fetchall()

    def each(self, sql: str, values: Values = ()) -> Iterator[Row]:
        return iter(self.all(sql, values))

    def do(self, sql: str, values: Values = ()) -> int:
        self.all(sql, values)
        return self._recorded.changes()

    def do_each(self, sql: str, rows: Sequence[Values]) -> None:
        for row in rows:
            self.all(sql, row)


class Life:
    """Some workers and senders on one store, until the power goes."""

    _connection: apsw.Connection

    def __init__(self, recording: Recording, rng: random.Random) -> None:
        self._recording, self._rng = recording, rng
        self._now = 1_000_000.0
        self._claims: list[Claim] = []
        self._deliveries: list[Delivery] = []
        self._named = 0

    def open(self, connection: apsw.Connection, synchronous: str) -> None:
        """Open the store as the engine does, with the engine's pragmas but for more checkpoints."""
        self._connection = connection
        version = self._connection.execute("PRAGMA user_version").fetchone()
        self._connection.execute(f"PRAGMA synchronous = {synchronous}")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        if version is not None and version[0] < SCHEMA_VERSION:
            self._connection.execute("PRAGMA journal_mode = wal")
            for number, migration in enumerate(MIGRATIONS):
                self._connection.execute(
                    f"BEGIN IMMEDIATE; {migration} PRAGMA user_version = {number + 1}; COMMIT;"
                )
        self._acknowledge()

    def commit(self) -> None:
        """Run a few random verbs in one commit, as slots of a worker share one; then it is acknowledged."""
        rng = self._rng
        self._now += rng.choice((0.0, 0.01, 1.0, 30.0))
        tx = RecordedTx(self._connection, self._now)
        verbs = (
            self._submit,
            self._admit,
            self._claim,
            self._deliver,
            self._deliver,
            self._settle,
            self._settle,
            self._keep,
        )
        tx.do("BEGIN IMMEDIATE")
        for _ in range(rng.choice((1, 1, 2, 5))):
            rng.choice(verbs)(tx)
        tx.flush()
        tx.do("COMMIT")
        self._acknowledge()

    def admit(self, mails: int) -> None:
        """Let so many mails in, in one commit."""
        tx = RecordedTx(self._connection, self._now)
        tx.do("BEGIN IMMEDIATE")
        for _ in range(mails):
            self._admit(tx)
        tx.flush()
        tx.do("COMMIT")
        self._acknowledge()

    def _acknowledge(self) -> None:
        books = Books.read(RecordedTx(self._connection, self._now))
        self._recording.commits.append((len(self._recording.log), books))

    def _submit(self, tx: Tx) -> None:
        assert isinstance(rules_on(tx, LIMITS).submit(self._job()), Submitted)

    def _admit(self, tx: Tx) -> None:
        """A mail comes in, with all that follows from it."""
        job = self._job()
        raw = f"Message-ID: <{job.id}@example.org>\r\n\r\n{job.instruction}".encode()
        record = MailRecord(
            MailId(job.id), "", MailState.ACCEPTED, "", "scott@example.org", "", (), self._now, "", job.lane
        )
        quota = Bucket(f"sender {self._rng.randrange(5)}", burst=1000, per_hour=1000)
        admitted = mailbox.admit(tx, LIMITS, Admission(record, raw, (quota,), job=job))
        assert isinstance(admitted, MailRecord)
        assert admitted.job == job.id

    def _job(self) -> Job:
        self._named += 1
        name = f"{self._rng.randrange(16**6):06x}-{self._named}"
        text = "x" * self._rng.choice((20, 20, 300, 6000))  # some need pages of their own
        arrival = self._rng.choice((Arrival.QUEUE, Arrival.QUEUE, Arrival.QUEUE, *Arrival))
        return Job(JobId(name), self._rng.choice(LANES), text, name, arrival, wants_reply=True)

    def _claim(self, tx: Tx) -> None:
        rng, rules = self._rng, rules_on(tx, LIMITS)
        claimed = rules.claim(rng.choice(WORKERS), rng.choice((0, 1, 2)), self._claims, None)
        if isinstance(claimed, Claimed):
            self._claims = [
                claim for claim in (*self._claims, *claimed.claims) if claim not in claimed.given_up
            ][-8:]

    def _deliver(self, tx: Tx) -> None:
        self._unless_lost(lambda claim: rules_on(tx, LIMITS).next_job(claim))

    def _settle(self, tx: Tx) -> None:
        if self._deliveries:
            delivery = self._deliveries.pop(self._rng.randrange(len(self._deliveries)))
            outcome: Outcome = self._rng.choice(
                (Done("did it"), Done("did it"), Failed("no such page"), Retry("again"))
            )
            self._unless_lost(lambda _: rules_on(tx, LIMITS).settle(delivery, outcome, more=True))

    def _keep(self, tx: Tx) -> None:
        worker = self._rng.choice(WORKERS)
        mine = [claim for claim in self._claims if claim.worker == worker]
        rules = rules_on(tx, LIMITS)
        rules.keep(Presence(worker, 4, self._now), mine)
        rules.sweep()
        if mine and self._rng.random() < 0.3:
            rules.release(mine[0])

    def _unless_lost(self, verb: Callable[[Claim], object]) -> None:
        if not self._claims:
            return
        try:
            answer = verb(self._rng.choice(self._claims))
        except ClaimLost:
            return
        if isinstance(answer, Delivery):
            self._deliveries = [*self._deliveries, answer][-8:]


def record(folder: Path, files: Files, known: Books, *, seed: int, synchronous: str) -> Recording:
    """Let a store live for a while, from the files that an earlier life left behind."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with recorder_of(folder) as recorder:
        recording = Recording(files, recorder.log, [(0, known)])
        life = Life(recording, random.Random(seed))
        for _ in range(SESSIONS):
            connection = apsw.Connection(str(folder / DATABASE), vfs=recorder.name)
            life.open(connection, synchronous)
            for _ in range(COMMITS_PER_SESSION):
                life.commit()
            connection.close()
    return recording
