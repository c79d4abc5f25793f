"""What people are shown: complete, in pages, and never changed by looking."""

import pytest

from tests.conformance.world import AMELIA, AMELIA_2, BRAVO, CORAL, START, W1, W2, World
from tests.waiting import soon
from webordinary.core.errors import NotFound
from webordinary.core.job import Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done, Failed, Retry
from webordinary.core.views import Happening, HeadView, JobView, LaneEvent, LaneView, WorkerView

# --- nothing yet ------------------------------------------------------------------------------------


async def test_an_empty_store_is_shown_as_empty(world: World) -> None:
    assert await world.ledger.workers() == []
    assert await world.ledger.lanes(limit=10) == []
    assert await world.ledger.jobs(limit=10) == []
    assert await world.ledger.history(AMELIA, limit=10) == []
    assert await world.ledger.counts() == dict.fromkeys(JobState, 0)


async def test_what_is_not_there_is_named_in_the_refusal(world: World) -> None:
    with pytest.raises(NotFound, match="amelia/scott"):
        await world.ledger.lane(AMELIA)
    with pytest.raises(NotFound, match="j-missing"):
        await world.ledger.job(JobId("j-missing"))
    with pytest.raises(NotFound, match="j-missing"):
        await world.ledger.result(JobId("j-missing"), wait=0)
    with pytest.raises(NotFound, match="j-missing"):
        await world.ledger.jobs(limit=10, before=JobId("j-missing"))


# --- lanes and workers ------------------------------------------------------------------------------


async def test_a_lane_shows_owner_head_and_depth(world: World) -> None:
    """Who owns what, since when, what waits and why: the operator's one page."""
    running = await world.start()
    await world.submit()
    world.clock.advance(3)
    expected = LaneView(
        lane=AMELIA,
        worker=W1,
        fence=1,
        claimed_at=START,
        last_activity=START,
        lease_until=START + world.limits.lease_seconds,
        waiting_since=None,
        failures=0,
        parked_until=None,
        depth=2,
        dead=0,
        head=HeadView(running.job.id, JobState.RUNNING, 1, 1, None, START, START),
    )
    assert await world.ledger.lane(AMELIA) == expected
    assert await world.ledger.lanes(limit=10) == [expected]
    assert expected.running == expected.head


async def test_a_lost_owners_job_is_not_shown_as_running(world: World) -> None:
    await world.start()
    world.outlive_the_lease()
    await world.broker.sweep()
    await world.take(worker=W2)
    view = await world.ledger.lane(AMELIA)
    assert view.head is not None
    assert view.running is None


async def test_lanes_come_by_name_in_pages(world: World) -> None:
    lanes = [Lane("a", "z"), Lane("a-b", "a"), Lane("a1", "a"), AMELIA, AMELIA_2, BRAVO, CORAL]
    for lane in reversed(lanes):
        await world.submit(lane)
    assert [view.lane for view in await world.ledger.lanes(limit=100)] == lanes == sorted(lanes)
    paged: list[Lane] = []
    while page := await world.ledger.lanes(limit=3, after=paged[-1] if paged else None):
        paged += [view.lane for view in page]
    assert paged == lanes


async def test_busy_lanes_are_those_with_work_or_a_live_owner(world: World) -> None:
    """A thousand quiet lanes must not hide the three that matter."""
    quiet = await world.start(Lane("quiet", "ann"))
    await world.broker.settle(quiet, Done(), more=False)
    await world.broker.release(quiet.claim)
    idle = await world.start(BRAVO)
    await world.broker.settle(idle, Done(), more=False)
    await world.submit(CORAL)
    await world.start(AMELIA)

    async def listed(after: Lane | None = None, limit: int = 10) -> list[Lane]:
        return [view.lane for view in await world.ledger.lanes(limit=limit, after=after, busy=True)]

    assert await listed() == [AMELIA, BRAVO, CORAL]
    assert await listed(after=AMELIA, limit=1) == [BRAVO]
    world.outlive_the_lease()
    assert await listed() == [AMELIA, CORAL]


async def test_workers_come_by_name_with_the_lanes_they_hold(world: World) -> None:
    await world.beat(W2)
    claims = [(await world.start(lane)).claim for lane in (BRAVO, AMELIA)]
    await world.beat(W1, claims, draining=True)
    now = world.clock.now()
    assert await world.ledger.workers() == [
        WorkerView(W1, "host", 1, 4, START, now, draining=True, lanes=(AMELIA, BRAVO)),
        WorkerView(W2, "host", 1, 4, START, now, draining=False, lanes=()),
    ]


async def test_what_a_worker_holds_is_derived_from_live_leases(world: World) -> None:
    """Slots counted by hand leak; a lease runs out by itself."""
    await world.start(AMELIA)
    world.clock.advance(30)
    await world.start(BRAVO)
    await world.beat(W1)
    world.clock.advance(30)
    await world.beat(W1)
    (worker,) = await world.ledger.workers()
    assert worker.lanes == (BRAVO,)


# --- jobs -------------------------------------------------------------------------------------------


async def test_a_job_shows_all_that_is_known_of_it(world: World) -> None:
    job = world.job(reply=True)
    await world.broker.submit(job)
    world.clock.advance(1)
    delivery = await world.deliver(await world.take())
    world.clock.advance(2)
    await world.broker.settle(delivery, Done("all new"), more=False)
    assert await world.ledger.job(job.id) == JobView(
        id=job.id,
        lane=AMELIA,
        state=JobState.DONE,
        instruction=job.instruction,
        message_id=job.message_id,
        arrival="queue",
        attempt=1,
        submitted_at=START,
        started_at=START + 1,
        finished_at=START + 3,
        due_at=None,
        worker=W1,
        fence=1,
        interrupted=False,
        interrupted_by=None,
        note="all new",
        replies_owed=1,
    )


async def test_jobs_come_newest_first_in_pages(world: World) -> None:
    jobs = [await world.submit(lane) for lane in (AMELIA, BRAVO) * 4]
    assert [view.id for view in await world.ledger.jobs(limit=100)] == jobs[::-1]
    paged: list[JobId] = []
    while page := await world.ledger.jobs(limit=3, before=paged[-1] if paged else None):
        paged += [view.id for view in page]
    assert paged == jobs[::-1]


async def test_jobs_can_be_listed_by_lane_and_by_state(world: World) -> None:
    done = await world.start(AMELIA)
    await world.broker.settle(done, Done(), more=False)
    queued, other = await world.submit(AMELIA), await world.submit(BRAVO)

    async def listed(lane: Lane | None = None, state: JobState | None = None) -> list[JobId]:
        return [view.id for view in await world.ledger.jobs(limit=100, lane=lane, state=state)]

    assert await listed(lane=AMELIA) == [queued, done.job.id]
    assert await listed(state=JobState.QUEUED) == [other, queued]
    assert await listed(AMELIA, JobState.QUEUED) == [queued]
    assert await listed(CORAL) == []
    (page,) = await world.ledger.jobs(limit=100, lane=AMELIA, before=queued)
    assert page.id == done.job.id


async def test_a_unique_beginning_of_an_id_is_enough(world: World) -> None:
    """Nobody types sixteen characters twice."""
    ids = [JobId(name) for name in ("abc1", "abc2", "abc", "xyz%", "xyzq")]
    for number, job in enumerate(ids):
        await world.broker.submit(Job(job, Lane("amelia", f"u{number}"), "do it", f"<{number}>"))
    assert (await world.view(JobId("abc2"))).id == "abc2"
    assert (await world.view(JobId("abc"))).id == "abc"  # exact, though others begin like it
    assert (await world.view(JobId("xyzq"))).id == "xyzq"
    assert (await world.view(JobId("xyz%"))).id == "xyz%"
    for ambiguous in ("ab", "xyz", ""):
        with pytest.raises(NotFound, match="begin"):
            await world.view(JobId(ambiguous))
    with pytest.raises(NotFound):
        await world.view(JobId("ABC1"))


async def test_counts_are_by_state(world: World) -> None:
    done = await world.start(AMELIA)
    await world.broker.settle(done, Done(), more=False)
    await world.start(BRAVO)
    await world.submit(BRAVO)
    counts = await world.ledger.counts()
    assert {state: count for state, count in counts.items() if count} == {
        JobState.DONE: 1,
        JobState.RUNNING: 1,
        JobState.QUEUED: 1,
    }
    assert set(counts) == set(JobState)


# --- history ----------------------------------------------------------------------------------------


async def test_history_comes_oldest_first_and_only_the_latest_of_it(world: World) -> None:
    delivery = await world.start()
    world.clock.advance(1)
    await world.control.interrupt(AMELIA)
    world.clock.advance(1)
    await world.broker.release(delivery.claim)
    job = delivery.job.id
    whole = [
        LaneEvent(START, AMELIA, Happening.CLAIMED, W1, 1, None, ""),
        LaneEvent(START + 1, AMELIA, Happening.INTERRUPTED, W1, 1, job, "stopped by the operator"),
        LaneEvent(START + 2, AMELIA, Happening.RELEASED, W1, 1, None, ""),
    ]
    assert await world.ledger.history(AMELIA, limit=10) == whole
    assert await world.ledger.history(AMELIA, limit=2) == whole[1:]
    assert await world.ledger.history(BRAVO, limit=10) == []


async def test_a_jobs_history_is_its_own_and_its_lanes_while_it_was_there(world: World) -> None:
    """However much happened in its lane since, an old job's page tells its own story."""
    first = await world.start()
    world.clock.advance(1)
    await world.broker.settle(first, Retry("the model did not answer"), more=False)
    world.clock.advance(3600)
    again = await world.broker.next_job(first.claim, wait=0)
    assert again is not None
    await world.broker.settle(again, Done("done"), more=False)
    world.clock.advance(1)
    await world.broker.release(again.claim)
    world.clock.advance(1)
    second = await world.start()
    await world.broker.release(second.claim)
    view = await world.view(first.job.id)
    story = await world.ledger.history(AMELIA, limit=10, job=view)
    assert [(event.what, event.job) for event in story] == [
        (Happening.CLAIMED, None),
        (Happening.RETRY, first.job.id),
    ]
    assert await world.ledger.history(AMELIA, limit=1, job=view) == story[1:]
    later = await world.ledger.history(AMELIA, limit=10, job=await world.view(second.job.id))
    assert [event.what for event in later] == [Happening.CLAIMED, Happening.HANDED_BACK, Happening.RELEASED]


async def test_history_can_be_told_over_all_lanes(world: World) -> None:
    await world.start(AMELIA)
    world.clock.advance(1)
    await world.start(BRAVO, W2)
    told = await world.ledger.history(None, limit=10)
    assert [(event.lane, event.what) for event in told] == [
        (AMELIA, Happening.CLAIMED),
        (BRAVO, Happening.CLAIMED),
    ]
    assert await world.ledger.history(None, limit=1) == told[1:]


# --- results ----------------------------------------------------------------------------------------


async def test_the_result_of_an_ended_job_is_there_at_once(world: World) -> None:
    delivery = await world.start()
    await world.broker.settle(delivery, Failed("no such page"), more=False)
    view = await soon(world.ledger.result(delivery.job.id, wait=3600))
    assert (view.state, view.note) == (JobState.FAILED, "no such page")


async def test_a_job_that_has_not_ended_in_time_is_shown_as_it_is(world: World) -> None:
    """Whoever waits is told that no worker has picked it up yet, instead of an error."""
    job = await world.submit()
    assert (await world.ledger.result(job, wait=0)).state is JobState.QUEUED
    assert (await world.ledger.result(job, wait=0.02)).state is JobState.QUEUED


async def test_looking_changes_nothing(world: World) -> None:
    """Read models only: the dashboard must be safe to leave open."""
    await world.start(AMELIA)
    await world.submit(BRAVO)
    world.outlive_the_lease()
    before = await world.everything()
    assert await world.everything() == before
