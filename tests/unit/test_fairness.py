"""Choosing among waiting lanes: the same as ranking all of them, without reading all of them."""

import sqlite3
from itertools import islice
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.world import LIMITS, ManualClock
from webordinary.backends.memory.rows import MemoryRows, WaitingRows
from webordinary.backends.sqlite.schema import migrate
from webordinary.backends.sqlite.store import rules_on
from webordinary.backends.sqlite.tx import Tx
from webordinary.claim.fairness import RESERVED_LANES_MAX, FairChoice
from webordinary.claim.rows import JobRow, LaneRow
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane

NOW = 1000.0
ME, OTHER = WorkerId("me"), WorkerId("other")

waiting_lanes = st.lists(
    st.tuples(
        st.sampled_from("abcd"),  # the project
        st.sampled_from([-100.0, -31.0, -30.0, -5.0, -2.0, -0.25, 0.0, 3.0]),  # wanted since
        st.sampled_from([None, ME, OTHER]),  # who served it last
        st.booleans(),  # in hand already
    ),
    max_size=20,
)


def rows_of(told: list[tuple[str, float, WorkerId | None, bool]]) -> list[LaneRow]:
    rows = []
    for number, (project, since, last, in_hand) in enumerate(told):
        lane = Lane(project, f"u{number}")
        row = LaneRow(lane, last_worker=last)
        if in_hand:
            row.worker, row.lease_until = OTHER, NOW + 60
        else:
            row.wanted_since = NOW + since
            row.open.append(JobRow(Job(JobId(f"j{number}"), lane, "x", f"m{number}"), NOW))
        rows.append(row)
    return rows


def kept(rows: list[LaneRow]) -> MemoryRows:
    """These lanes, and the other worker alive."""
    store = MemoryRows(LIMITS)
    store.now = NOW
    store.lanes = {row.lane: row for row in rows}
    store.show(Presence(OTHER, 4, NOW))
    return store


def ranked(rows: list[LaneRow]) -> list[Lane]:
    """All that are ready, by a rank in their project that counts what it has in hand."""
    waiting = [(row.wanted_since or 0.0, row) for row in rows if row.wanted_since is not None]
    reserved = {OTHER: LIMITS.warm_seconds}
    ready = sorted(
        (since, row.lane)
        for since, row in waiting
        if since + (reserved.get(row.last_worker, 0.0) if row.last_worker else 0.0) <= NOW
    )
    in_hand = {
        project: sum(row.owned(NOW, LIMITS) for row in rows if row.lane.project == project)
        for project in "abcd"
    }
    order = []
    for since, lane in ready:
        overdue = since <= NOW - LIMITS.patience_seconds
        in_hand[lane.project] += 1
        order.append((not overdue, 0 if overdue else in_hand[lane.project], since, lane))
    return [entry[-1] for entry in sorted(order)]


@given(told=waiting_lanes, most=st.integers(1, 12))
def test_the_choice_is_the_same_as_ranking_all_lanes(
    told: list[tuple[str, float, WorkerId | None, bool]], most: int
) -> None:
    """Oldest first beyond our patience, then the least loaded project, reading only a few."""
    rows = rows_of(told)
    assert FairChoice(kept(rows).waiting(None), ME, NOW, LIMITS).lanes(most) == ranked(rows)[:most]


def test_lanes_that_are_kept_for_others_are_passed_over_a_bounded_number_of_times() -> None:
    """Ten thousand lanes that another worker served a moment ago must not be read one by one."""
    rows = rows_of([("a", 0.0, OTHER, False)] * (4 * RESERVED_LANES_MAX))
    read = []

    class Counted(WaitingRows):
        def of(self, project):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 - as it has it
            for one in super().of(project):
                read.append(one)
                yield one

    choice = FairChoice(Counted(kept(rows), None), ME, NOW, LIMITS)
    assert choice.lanes(64) == []
    assert choice.retry_in() == LIMITS.warm_seconds
    assert len(read) <= RESERVED_LANES_MAX + 1


def steps_of_a_claim(folder: Path, lanes: int, projects: int) -> int:
    """How many steps of SQLite's own machine it takes to choose 64 lanes of so many that wait."""
    clock = ManualClock()
    connection = sqlite3.connect(folder / f"{lanes}-{projects}.db", isolation_level=None)
    migrate(connection, "store")
    connection.execute("BEGIN")
    for number in range(lanes):
        lane = Lane(f"p{number % projects}", f"u{number}")
        job = Job(JobId(f"j{number}"), lane, "x", f"m{number}", Arrival.QUEUE)
        tx = Tx(connection, clock.now() + number / lanes)
        rules_on(tx, LIMITS).submit(job)
        tx.flush()
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    connection.set_progress_handler(step, 10)
    rules = rules_on(Tx(connection, clock.now() + 5), LIMITS)
    chosen = [row.lane for row in rules.ready(ME, 64, None, exchange=False)[0]]
    connection.set_progress_handler(None, 0)
    connection.close()
    assert len(set(chosen)) == len(list(islice(chosen, 64))) == 64
    return steps


def test_a_claim_reads_no_more_when_many_lanes_wait(tmp_path: Path) -> None:
    """All of them were ranked once: 89 ms of CPU a job with 10,000 waiting lanes."""
    for few, many in (((100, 100), (3000, 3000)), ((100, 5), (3000, 5))):
        assert steps_of_a_claim(tmp_path, *many) < 2 * steps_of_a_claim(tmp_path, *few)
