"""What people are shown of the SQLite store."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.broker import poll, poll_result
from webordinary.backends.facts_json import facts_from_json
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.index import LEASED, OPEN
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.claim import Delivery, WorkerId
from webordinary.core.errors import ClaimLost, NotFound
from webordinary.core.facts import Facts
from webordinary.core.job import ENDED, Intent, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import FINAL_LETTERS
from webordinary.core.text import storable
from webordinary.core.views import Happening, HeadView, JobView, LaneEvent, LaneView, WorkerView
from webordinary.core.work import EVENT_CHARACTERS, EVENTS_MAX, AgentEvent, EventKind, KeptEvent
from webordinary.ports.clock import Clock

_ENDED = "finished_at IS NOT NULL"
# How many letters about its end a job is owed; one a kind of ending.
REPLIES_OWED = (
    "(SELECT COUNT(*) FROM letters WHERE letters.about = jobs.id"
    f" AND letters.kind IN ({', '.join(sorted(repr(kind.value) for kind in FINAL_LETTERS))}))"
)
_JOB = (
    "SELECT id, lane, state, instruction, message_id, arrival, attempt, submitted_at, started_at,"
    " finished_at, due_at, worker, fence, interrupted, interrupted_by, note,"
    f" {REPLIES_OWED}, session, intent, facts FROM jobs"
)
_LANE = (
    "SELECT lanes.lane, lanes.worker, lanes.fence, claimed_at, last_activity, lease_until, wanted_since,"
    " failures, parked_until,"
    f" (SELECT COUNT(*) FROM jobs WHERE jobs.lane = lanes.lane AND jobs.{OPEN}),"
    f" (SELECT COUNT(*) FROM jobs WHERE jobs.lane = lanes.lane AND jobs.state = 'dead' AND jobs.{_ENDED}),"
    " head.id, head.state, head.attempt, head.fence, head.due_at, head.started_at, head.submitted_at"
    " FROM lanes LEFT JOIN jobs AS head ON head.seq = (SELECT seq FROM jobs"
    f" WHERE jobs.lane = lanes.lane AND jobs.{OPEN} ORDER BY seq LIMIT 1)"
)
# The next few lanes with work, from one to the next in the index of open jobs; and those that somebody holds.
_BUSY = f"""
    lanes.lane IN (
        WITH RECURSIVE busy (lane) AS (
            SELECT MIN(lane) FROM jobs WHERE {OPEN} AND lane > :after
            UNION ALL SELECT (SELECT MIN(lane) FROM jobs WHERE {OPEN} AND lane > busy.lane)
            FROM busy WHERE busy.lane IS NOT NULL LIMIT :limit)
        SELECT lane FROM busy
        UNION SELECT lane FROM lanes WHERE worker IS NOT NULL AND {LEASED})
"""
_EVENT = "SELECT at, lane, what, worker, fence, job, note FROM history"
# What happened to a job; and to its lane while it was there.
_STORY = f"""
    {_EVENT} WHERE event IN (
        SELECT event FROM (SELECT event FROM history WHERE job = :job ORDER BY event DESC LIMIT :limit)
        UNION ALL SELECT event FROM (
            SELECT event FROM history WHERE lane = :lane AND job IS NULL
                AND at BETWEEN :since AND IFNULL(:until, 9e999)
            ORDER BY at DESC LIMIT :limit))
    ORDER BY event DESC LIMIT :limit
"""
_WORKERS = "SELECT worker, host, pid, slots, since, seen_at, draining FROM workers ORDER BY worker"
LAST_CHARACTER = "\U0010ffff"  # sorts after everything that an id may go on with


class SqliteLedger:
    """Reads only, on the connection that cannot write."""

    def __init__(self, engine: Engine, limits: Limits, wakeups: Wakeups, clock: Clock) -> None:
        """Look at a file."""
        self._engine, self._limits, self._wakeups, self._clock = engine, limits, wakeups, clock

    async def workers(self) -> list[WorkerView]:
        """See `Ledger.workers`."""
        return self._engine.read(self._workers)

    def _workers(self, tx: Tx) -> list[WorkerView]:
        held: dict[str, list[Lane]] = {}
        limits = self._limits
        at = {"now": tx.now, "latest_lease": limits.latest_lease(tx.now)}
        for worker, lane in tx.all(
            f"SELECT worker, lane FROM lanes WHERE worker IS NOT NULL AND {LEASED}", at
        ):
            held.setdefault(worker, []).append(Lane.from_key(lane))
        return [
            WorkerView(
                worker=WorkerId(worker),
                host=host,
                pid=pid,
                slots=slots,
                since=since,
                seen_at=seen_at,
                draining=bool(draining),
                lanes=tuple(sorted(held.get(worker, ()))),
            )
            for worker, host, pid, slots, since, seen_at, draining in tx.all(_WORKERS)
            if limits.lease_holds(seen_at + limits.lease_seconds, tx.now)
        ]

    async def lanes(self, *, limit: int, after: Lane | None = None, busy: bool = False) -> list[LaneView]:
        """See `Ledger.lanes`."""
        which = f" AND {_BUSY}" if busy else ""
        sql = f"{_LANE} WHERE lanes.lane > :after{which} ORDER BY lanes.lane LIMIT :limit"
        first = after.key if after else ""
        latest = self._limits.latest_lease
        asked = {"after": first, "limit": limit}
        rows = self._engine.read(
            lambda tx: tx.all(sql, {"now": tx.now, "latest_lease": latest(tx.now), **asked})
        )
        return [_lane_view(row) for row in rows]

    async def lane(self, lane: Lane) -> LaneView:
        """See `Ledger.lane`."""
        row = self._engine.read(lambda tx: tx.one(f"{_LANE} WHERE lanes.lane = ?", (lane.key,)))
        if row is None:
            raise NotFound(f"nothing was ever submitted to {lane}")
        return _lane_view(row)

    async def jobs(
        self,
        *,
        limit: int,
        lane: Lane | None = None,
        state: JobState | None = None,
        before: JobId | None = None,
    ) -> list[JobView]:
        """See `Ledger.jobs`."""
        first = (await self.job(before)).id if before is not None else None
        return [_job_view(row) for row in self._engine.read(lambda tx: _jobs(tx, limit, lane, state, first))]

    async def job(self, job: JobId) -> JobView:
        """See `Ledger.job`."""
        exact = self._engine.read(lambda tx: tx.one(f"{_JOB} WHERE id = ?", (job,)))
        if exact is not None:
            return _job_view(exact)
        rows = self._engine.read(
            lambda tx: tx.all(f"{_JOB} WHERE id BETWEEN ? AND ? LIMIT 2", (job, job + LAST_CHARACTER))
        )
        if len(rows) != 1:
            raise NotFound(f"there is no job {job}" if not rows else f"several jobs begin with {job}")
        return _job_view(rows[0])

    async def history(self, lane: Lane | None, *, limit: int, job: JobView | None = None) -> list[LaneEvent]:
        """See `Ledger.history`."""
        sql, values = f"{_EVENT} ORDER BY event DESC LIMIT :limit", dict[str, object](limit=limit)
        if lane is not None:
            sql = f"{_EVENT} WHERE lane = :lane ORDER BY event DESC LIMIT :limit"
            values["lane"] = lane.key
        if job is not None:
            sql = _STORY
            values |= {"job": job.id, "since": job.submitted_at, "until": job.finished_at}
        return [
            LaneEvent(at, Lane.from_key(key), Happening(what), worker, fence, about, note)
            for at, key, what, worker, fence, about, note in reversed(
                self._engine.read(lambda tx: tx.all(sql, values))
            )
        ]

    async def counts(self) -> dict[JobState, int]:
        """See `Ledger.counts`."""
        counts = dict.fromkeys(JobState, 0)
        for state, count in self._engine.read(lambda tx: tx.all("SELECT state, jobs FROM job_counts")):
            counts[JobState(state)] += count
        return counts

    async def result(self, job: JobId, *, wait: float) -> JobView:
        """See `Ledger.result`."""
        return await poll_result(self._wakeups, self._clock, job, wait, self.job)


def _jobs(tx: Tx, limit: int, lane: Lane | None, state: JobState | None, before: JobId | None) -> list[Row]:
    values: dict[str, object] = {"limit": limit, "lane": lane.key if lane else None, "before": before}
    wheres = ["seq < (SELECT seq FROM jobs WHERE id = :before)"] if before is not None else []
    if lane is not None:
        return tx.all(_of_lane(state, wheres), values)
    if state is not None:
        wheres.append(f"state = '{state}'")
    where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
    return tx.all(f"{_JOB}{where} ORDER BY seq DESC LIMIT :limit", values)


def _of_lane(state: JobState | None, wheres: Sequence[str]) -> str:
    """Jobs of a lane: the latest of each state that was asked for, each by its index; of these the latest."""
    ended = [one for one in JobState if one in ENDED and state in (None, one)]
    kinds = [[_ENDED, f"state = '{one}'"] for one in ended]
    if state is None or state not in ENDED:
        kinds.append([OPEN, *([f"state = '{state}'"] if state else [])])
    latest = " UNION ALL ".join(
        f"SELECT seq FROM (SELECT seq FROM jobs WHERE {' AND '.join(['lane = :lane', *kind, *wheres])}"
        " ORDER BY seq DESC LIMIT :limit)"
        for kind in kinds
    )
    return f"{_JOB} WHERE seq IN ({latest}) ORDER BY seq DESC LIMIT :limit"


def _job_view(row: Row) -> JobView:
    return JobView(
        id=JobId(row[0]),
        lane=Lane.from_key(row[1]),
        state=JobState(row[2]),
        instruction=row[3],
        message_id=row[4],
        arrival=row[5],
        attempt=row[6],
        submitted_at=row[7],
        started_at=row[8],
        finished_at=row[9],
        due_at=row[10],
        worker=row[11],
        fence=row[12],
        interrupted=bool(row[13]),
        interrupted_by=row[14],
        note=row[15],
        replies_owed=row[16],
        session=row[17],
        intent=Intent(row[18]),
        facts=facts_from_json(row[19]),
    )


def _lane_view(row: Row) -> LaneView:
    return LaneView(
        lane=Lane.from_key(row[0]),
        worker=row[1],
        fence=row[2],
        claimed_at=row[3],
        last_activity=row[4],
        lease_until=row[5],
        waiting_since=row[6],
        failures=row[7],
        parked_until=row[8],
        depth=row[9],
        dead=row[10],
        head=_head_view(row[11:]) if row[11] is not None else None,
    )


def _head_view(row: Row) -> HeadView:
    return HeadView(
        id=JobId(row[0]),
        state=JobState(row[1]),
        attempt=row[2],
        fence=row[3],
        due_at=row[4],
        started_at=row[5],
        submitted_at=row[6],
    )


class SqliteJournal:
    """See `Journal`."""

    def __init__(self, engine: Engine, wakeups: Wakeups, clock: Clock) -> None:
        """Keep events in a file."""
        self._engine, self._wakeups, self._clock = engine, wakeups, clock

    async def tell(self, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
        """See `Journal.tell`."""
        await self._engine.write(lambda tx: _tell(tx, delivery, events))

    async def events(self, job: JobId, *, after: int = 0, limit: int, wait: float = 0.0) -> list[KeptEvent]:
        """See `Journal.events`."""
        sql = (
            "SELECT number, at, attempt, kind, text FROM job_events"
            " WHERE job = ? AND number > ? ORDER BY number LIMIT ?"
        )

        async def ask() -> list[KeptEvent] | Nothing:
            rows = self._engine.read(lambda tx: tx.all(sql, (job, after, limit)))
            return [KeptEvent(row[0], row[1], row[2], EventKind(row[3]), row[4]) for row in rows] or Nothing()

        return await poll(self._wakeups, self._clock, job_topic(job), wait, ask) or []

    async def left(self, lane: Lane, session: str | None = None) -> Facts:
        """See `Journal.left`."""
        of_session = "" if session is None else " AND session = :session"
        which = f"lane = :lane AND facts IS NOT NULL{of_session}"
        sql = f"SELECT facts FROM jobs WHERE {which} ORDER BY seq DESC LIMIT 1"
        row = self._engine.read(lambda tx: tx.one(sql, {"lane": lane.key, "session": session}))
        return facts_from_json(row[0] if row else None)


def _tell(tx: Tx, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
    job, attempt = delivery.job.id, delivery.attempt
    running = tx.one(
        "SELECT 1 FROM jobs WHERE id = ? AND state = 'running' AND fence = ? AND attempt = ?",
        (job, delivery.claim.fence, attempt),
    )
    if running is None:
        raise ClaimLost(f"job {job} does not run under this claim")
    counted = tx.one(
        "SELECT COUNT(*) FILTER (WHERE attempt = ?), COUNT(*) FROM job_events WHERE job = ?", (attempt, job)
    )
    assert counted is not None
    kept, last = counted
    for number, event in enumerate(events[: max(EVENTS_MAX - kept, 0)], last + 1):
        tx.do(
            "INSERT INTO job_events (job, number, at, attempt, kind, text) VALUES (?, ?, ?, ?, ?, ?)",
            (job, number, tx.now, attempt, event.kind.value, storable(event.text[:EVENT_CHARACTERS])),
        )
    tx.wake(job_topic(job))
