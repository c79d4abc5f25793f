"""Lanes and jobs of one transaction: read at once for all its calls, and written where they changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import compress, count
from operator import attrgetter, itemgetter, ne
from typing import Any, TypeVar

from webordinary.backends.facts_json import facts_from_json, facts_to_json
from webordinary.backends.loading import HEAD, Needs, SweepCursor
from webordinary.backends.sqlite.index import OPEN, SqliteIndex
from webordinary.backends.sqlite.open_jobs import LaneJobs
from webordinary.backends.sqlite.tx import Row, Tx
from webordinary.claim.rows import LETTERS, JobRow, LaneRow
from webordinary.core.claim import Presence
from webordinary.core.facts import NO_FACTS, Facts
from webordinary.core.job import AHEAD_COUNTED_MAX, Arrival, Intent, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import Letter
from webordinary.core.views import LaneEvent

COUNTED_MAX = 2 * AHEAD_COUNTED_MAX  # open jobs of a lane: some of them may end before a new one is queued

LANE_COLUMNS = (
    *("worker", "fence", "claimed_at", "last_activity", "lease_until", "last_worker"),
    *("wanted_since", "wanted_from", "failures", "parked_until"),
)
JOB_COLUMNS = (  # that change; the others are written once
    *("state", "attempt", "fence", "worker", "started_at", "finished_at", "due_at"),
    *("interrupted", "interrupted_by", "note", "facts"),
)
_STATE = JOB_COLUMNS.index("state")
FIXED_COLUMNS = (
    *("seq", "id", "lane", "message_id", "instruction", "arrival", "wants_reply", "session", "intent"),
    "submitted_at",
)
_lane_values, _job_values = attrgetter(*LANE_COLUMNS), attrgetter("state._value_", *JOB_COLUMNS[1:])
_QUEUED: Row = ("queued", 0, 0, None, None, None, None, False, None, "", NO_FACTS)  # as the table makes it
_STATES = {one.value: one for one in JobState}
_ARRIVALS = {one.value: one for one in Arrival}
_INTENTS = {one.value: one for one in Intent}

_LANES = f"SELECT lane, {', '.join(LANE_COLUMNS)} FROM json_each(?) CROSS JOIN lanes ON lane = value"
_JOB = f"SELECT {', '.join(f'jobs.{name}' for name in (*FIXED_COLUMNS, *JOB_COLUMNS))} FROM"
_HEADS = (
    f"{_JOB} json_each(?) CROSS JOIN jobs ON seq IN"
    f" (SELECT seq FROM jobs WHERE lane = value AND {OPEN} ORDER BY seq LIMIT ?) ORDER BY seq"
)
_OPEN_BEHIND = f"{_JOB} jobs WHERE lane = ? AND {OPEN} AND seq > ? ORDER BY seq LIMIT ?"
_COUNTS = (
    f"SELECT value, (SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE lane = value AND {OPEN} LIMIT ?))"
    " FROM json_each(?)"
)
_MESSAGES = (
    "SELECT lane, message_id, jobs.id FROM json_each(?) CROSS JOIN jobs"
    " ON lane = json_extract(value, '$[0]') AND message_id = json_extract(value, '$[1]')"
)
_NEW_LANE = "INSERT INTO lanes (lane, project) VALUES (?, ?)"
_NEW_JOB = (
    f"INSERT INTO jobs ({', '.join(FIXED_COLUMNS)}, state)"
    f" VALUES ({', '.join('?' * len(FIXED_COLUMNS))}, 'queued')"
)
_COUNT = (
    "INSERT INTO job_counts (state, jobs) VALUES (?, ?)"
    " ON CONFLICT (state) DO UPDATE SET jobs = jobs + excluded.jobs"
)
_EVENT = "INSERT INTO history (at, lane, what, worker, fence, job, note) VALUES (?, ?, ?, ?, ?, ?, ?)"
OWE = (
    "INSERT INTO letters (about, kind, mail, session, facts, owed_at, due_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)

Columns = tuple[int, ...]
Key = TypeVar("Key")


class SqliteRows:
    """See `Rows`. What a call did not say it needs is read when it is looked at."""

    def __init__(self, tx: Tx, limits: Limits) -> None:
        """Start with nothing read."""
        self.now, self._tx, self._limits = tx.now, tx, limits
        self._lanes: dict[str, LaneRow | None] = {}
        self._open: dict[str, LaneJobs] = {}
        self._jobs: dict[JobId, JobRow | None] = {}
        self._in_hand: dict[JobId, Job] = {}  # of callers: what never changes need not be read again
        self._messages: dict[tuple[str, str], JobId | None] = {}
        self._places: dict[JobId, int] = {}  # in the order of submission
        self._lanes_before: dict[str, Row] = {}
        self._jobs_before: dict[JobId, Row] = {}
        self._new_lanes: list[Lane] = []
        self._queued: list[JobRow] = []
        self._events: list[LaneEvent] = []
        self._letters: list[tuple[Letter, float]] = []
        self._sweep = SweepCursor()

    # --- reading ----------------------------------------------------------------------------------

    def load(self, calls: Iterable[Needs]) -> None:
        """Read what calls have to see: a few statements for all of them."""
        lanes: dict[str, Lane] = {}
        depths: dict[str, int] = {}
        counted: list[str] = []
        messages: list[tuple[str, str]] = []
        for needs in calls:
            for lane in needs.lanes:
                key = lane.key
                lanes[key] = lane
                if needs.open_jobs > depths.get(key, 0):
                    depths[key] = needs.open_jobs
                if needs.counted:
                    counted.append(key)
            if needs.in_hand is not None:
                self._in_hand[needs.in_hand.id] = needs.in_hand
            if needs.message:
                messages.append((needs.lanes[0].key, needs.message))
            self._sweep = needs.sweep or self._sweep
        self._read_lanes(lanes)
        self._read_heads(depths)
        self._read_messages(messages)
        self._read_counts(counted)

    def _read_lanes(self, lanes: dict[str, Lane]) -> None:
        unread = [key for key in lanes if key not in self._lanes]
        if unread:
            self._lanes.update(dict.fromkeys(unread))
            for key, *values in self._tx.each(_LANES, (json.dumps(unread),)):
                before = self._lanes_before[key] = tuple(values)
                row = self._lanes[key] = LaneRow(lanes[key], *before)
                row.open = self._open[key] = LaneJobs(self, row.lane)

    def _read_heads(self, depths: dict[str, int]) -> None:
        by_depth: dict[int, list[str]] = {}
        for key, depth in depths.items():
            if key in self._open and self._open[key].is_unread:
                by_depth.setdefault(depth, []).append(key)
        for depth, keys in by_depth.items():
            for row in self._tx.each(_HEADS, (json.dumps(keys), depth)):
                self._open[row[2]].take_in(row)
            for key in keys:
                self._open[key].were_asked_for(depth)

    def _read_messages(self, messages: Sequence[tuple[str, str]]) -> None:
        unread = [one for one in messages if one not in self._messages]
        if unread:
            self._messages.update(dict.fromkeys(unread))
            for key, message, job in self._tx.each(_MESSAGES, (json.dumps(unread),)):
                self._messages[key, message] = JobId(job)

    def _read_counts(self, keys: Sequence[str]) -> None:
        some = [key for key in keys if key in self._open and not self._open[key].is_all]
        if some:
            for key, count in self._tx.each(_COUNTS, (COUNTED_MAX, json.dumps(some))):
                self._open[key].count = count

    def read_on(self, lane: Lane, behind: int, most: int) -> list[Row]:
        """Read more of a lane's open jobs."""
        self.flush()
        return self._tx.all(_OPEN_BEHIND, (lane.key, behind, most))

    def count(self, lane: Lane) -> int:
        """Count a lane's open jobs, up to a bound."""
        self.flush()
        self._read_counts([lane.key])
        return self._open[lane.key].count or 0

    def job_row(self, row: Row, lane: Lane) -> JobRow:
        """The one object there is for a job."""
        place, job_id, _, message_id, instruction, arrival, wants_reply, session, intent, submitted = row[:10]
        known = self._jobs.get(job_id)
        if known is not None:
            return known
        job = self._in_hand.get(job_id) or Job(
            job_id,
            lane,
            instruction,
            message_id,
            _ARRIVALS[arrival],
            bool(wants_reply),
            session,
            _INTENTS[intent],
        )
        state, attempt, fence, worker, started_at, finished_at, due_at, interrupted, by, note, text = row[10:]
        facts = facts_from_json(text) if text else NO_FACTS
        known = self._jobs[job_id] = JobRow(
            job,
            submitted,
            _STATES[state],
            attempt,
            fence,
            worker,
            started_at,
            finished_at,
            due_at,
            bool(interrupted),
            by,
            note,
            facts,
        )
        self._places[job_id] = place
        self._jobs_before[job_id] = (*row[10:20], facts)
        return known

    def lane(self, lane: Lane) -> LaneRow | None:
        """See `Rows.lane`."""
        if lane.key not in self._lanes:
            self._read_lanes({lane.key: lane})
        return self._lanes[lane.key]

    def find_lanes(self, lanes: Sequence[Lane]) -> list[LaneRow]:
        """See `Rows.find_lanes`."""
        self._read_lanes({lane.key: lane for lane in lanes})
        return [row for lane in lanes if (row := self._lanes[lane.key]) is not None]

    def job(self, job: JobId) -> JobRow | None:
        """See `Rows.job`."""
        if job not in self._jobs:
            self._jobs[job] = None
            row = self._tx.one(f"{_JOB} jobs WHERE id = ?", (job,))
            if row is not None:
                self.job_row(row, Lane.from_key(row[2]))
        return self._jobs[job]

    def job_of_message(self, lane: Lane, message_id: str) -> JobId | None:
        """See `Rows.job_of_message`."""
        self._read_messages([(lane.key, message_id)])
        return self._messages[lane.key, message_id]

    def index(self) -> SqliteIndex:
        """See `Rows.index`."""
        self.flush()
        return SqliteIndex(self._tx, self._limits, self._swept, self._sweep)

    def _swept(self, keys: Sequence[str]) -> list[LaneRow]:
        lanes = [Lane.from_key(key) for key in keys]
        self.load([Needs(lanes, HEAD)])
        return self.find_lanes(lanes)

    # --- changing ---------------------------------------------------------------------------------

    def add_lane(self, lane: Lane) -> LaneRow:
        """See `Rows.add_lane`."""
        jobs = self._open[lane.key] = LaneJobs(self, lane, is_all=True)
        row = self._lanes[lane.key] = LaneRow(lane, open=jobs)
        self._lanes_before[lane.key] = _lane_values(row)
        self._new_lanes.append(lane)
        return row

    def queue(self, lane: LaneRow, job: JobRow) -> None:
        """See `Rows.queue`."""
        self._jobs[job.job.id] = job
        self._messages[job.job.lane.key, job.job.message_id] = job.job.id
        self._queued.append(job)
        lane.open.append(job)

    def show(self, presence: Presence) -> None:
        """See `Rows.show`."""
        if presence.gone:
            self._tx.do("DELETE FROM workers WHERE worker = ?", (presence.worker,))
            return
        who = (presence.worker, presence.host, presence.pid, presence.slots, presence.since)
        self._tx.do(
            "INSERT INTO workers (worker, host, pid, slots, since, seen_at, draining)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (worker) DO UPDATE SET seen_at = excluded.seen_at, draining = excluded.draining",
            (*who, self.now, presence.draining),
        )

    def owe(self, letter: Letter, due_at: float) -> None:
        """See `Rows.owe`."""
        self._letters.append((letter, due_at))
        self.wake(LETTERS)

    def record(self, event: LaneEvent) -> None:
        """See `Rows.record`."""
        self._events.append(event)

    def wake(self, topic: str) -> None:
        """See `Rows.wake`."""
        self._tx.wake(topic)

    # --- writing ----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the difference: a statement for each kind of change."""
        if self._new_lanes:
            new, self._new_lanes = self._new_lanes, []
            self._tx.do_each(_NEW_LANE, [(lane.key, lane.project) for lane in new])
        for columns, lanes in self._changed_lanes().items():
            sql, written = _update("lanes", "lane", LANE_COLUMNS, columns)
            self._tx.do_each(sql, [(*written(values), key) for key, values in lanes])
            self._lanes_before.update(lanes)
        if self._queued:
            self._write_queued()
        changed = self._changed_jobs()
        if changed:
            self._count(changed)
        for columns, jobs in changed.items():
            sql, written = _update("jobs", "seq", JOB_COLUMNS, columns)
            self._tx.do_each(sql, [(*written(values), self._places[job]) for job, values in jobs])
            self._jobs_before.update(jobs)
        if self._events:
            events, self._events = self._events, []
            self._tx.do_each(
                _EVENT, [(e.at, e.lane.key, e.what.value, e.worker, e.fence, e.job, e.note) for e in events]
            )
        if self._letters:
            letters, self._letters = self._letters, []
            self._tx.do_each(OWE, [letter_values(letter, self.now, due_at) for letter, due_at in letters])

    def _changed_lanes(self) -> dict[Columns, list[tuple[str, Row]]]:
        return _differences(self._lanes_before, self._lanes, _lane_values)

    def _changed_jobs(self) -> dict[Columns, list[tuple[JobId, Row]]]:
        return _differences(self._jobs_before, self._jobs, _job_values)

    def _count(self, changed: Mapping[Columns, Iterable[tuple[JobId, Row]]]) -> None:
        """Keep up how many jobs there are in each state."""
        counts: Counter[str] = Counter()
        for columns, jobs in changed.items():
            if _STATE in columns:
                counts.update(values[_STATE] for _, values in jobs)
                counts.subtract(self._jobs_before[job][_STATE] for job, _ in jobs)
        self._tx.do_each(_COUNT, [(state, jobs) for state, jobs in counts.items() if jobs])

    def _write_queued(self) -> None:
        """Give each job its place behind all others."""
        queued, self._queued = self._queued, []
        (last,) = self._tx.one("SELECT IFNULL(MAX(seq), 0) FROM jobs") or (0,)
        new = []
        for place, row in enumerate(queued, last + 1):
            job = row.job
            if job.id in self._places:
                self._tx.do("UPDATE jobs SET seq = ? WHERE id = ?", (place, job.id))
            else:
                who = (place, job.id, job.lane.key, job.message_id, job.instruction, job.arrival.value)
                new.append((*who, int(job.wants_reply), job.session, job.intent.value, row.submitted_at))
                self._jobs_before[job.id] = _QUEUED
            self._places[job.id] = place
        self._tx.do_each(_NEW_JOB, new)
        if new:
            self._tx.do(_COUNT, ("queued", len(new)))


def _differences(
    before: dict[Key, Row], rows: Mapping[Key, object], values_of: Callable[[Any], Row]
) -> dict[Columns, list[tuple[Key, Row]]]:
    """Sort out what changed, by which columns did."""
    changed: dict[Columns, list[tuple[Key, Row]]] = {}
    for key, were in before.items():
        values = values_of(rows[key])
        if values != were:
            columns = tuple(compress(count(), map(ne, values, were)))
            changed.setdefault(columns, []).append((key, values))
    return changed


@cache
def _update(table: str, key: str, names: Sequence[str], columns: Columns) -> tuple[str, Callable[[Row], Row]]:
    """How these columns are written and no others, so that indexes of the others need no work."""
    sql = f"UPDATE {table} SET {', '.join(f'{names[column]} = ?' for column in columns)} WHERE {key} = ?"

    def written(values: Row) -> Row:
        return tuple(_facts_text(values[c]) if names[c] == "facts" else values[c] for c in columns)

    if any(names[column] == "facts" for column in columns) or len(columns) == 1:
        return sql, written
    return sql, itemgetter(*columns)


def _facts_text(facts: Facts) -> str | None:
    return facts_to_json(facts) if facts else None


def letter_values(letter: Letter, now: float, due_at: float) -> Row:
    """What is written of a letter that is owed from now on."""
    facts = facts_to_json(letter.facts)
    return letter.about, letter.kind.value, letter.mail, letter.session, facts, now, due_at
