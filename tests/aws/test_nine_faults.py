"""What went wrong when this was first built in a cloud, one test each (mission, "What went wrong").

The ninth, that a forged sender was believed, is not about this backend: mail is judged before it gets here.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.aws.faulty import FaultyCloud
from tests.aws.test_hints import depth, drained, received, send
from tests.conformance.world import AMELIA, BRAVO, LIMITS, LONG, W1, W2, World
from tests.waiting import HANG_SECONDS, soon, until, waiting
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.claim import Delivery
from webordinary.core.errors import ClaimLost
from webordinary.core.job import Arrival, JobState
from webordinary.core.outcome import Done, Preempted
from webordinary.core.work import AgentEvent, EventKind


@pytest.fixture
def line(settings: AwsSettings) -> FaultyCloud:
    """A line to the cloud that shows what was called."""
    return FaultyCloud(settings)


class MeanwhileCloud(Cloud):
    """Lets something else happen after a call has looked and before it writes, once."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        if operation == "transact_write_items" and self.meanwhile is not None:
            first, self.meanwhile = self.meanwhile, None
            await first()
        return await super().call(service, operation, **parameters)


async def idle(world: World) -> Delivery:
    """A lane that W1 holds with nothing left to do."""
    delivery = await world.start(worker=W1)
    await world.broker.settle(delivery, Done(), more=False)
    return delivery


async def test_1_the_gatekeeper_looks_and_claims_nothing(
    process: Callable[..., World], line: FaultyCloud, settings: AwsSettings
) -> None:
    """It once claimed the lane in the name of a container that nobody had started."""
    here, looking = process(), process(line)
    await here.submit()
    before = await here.everything()
    assert await looking.backend.gatekeeper.owner(AMELIA) is None
    assert line.made == ["dynamodb get_item"]
    assert await here.everything() == before
    cloud = Cloud(settings)
    (request,) = await received(cloud, settings, settings.unclaimed)  # a worker was asked for instead
    assert json.loads(request)["type"] == "CLAIM_REQUEST"
    await cloud.aclose()


async def test_2_a_crashed_owner_blocks_its_lane_no_longer_than_its_lease(world: World) -> None:
    """The condition of a claim was once that the item does not exist, and only its TTL removed it."""
    await world.start(worker=W1)
    world.clock.advance(LIMITS.lease_seconds - 0.25)
    await world.broker.sweep()
    assert not (await world.claim(W2)).claims
    world.clock.advance(0.25)
    await world.broker.sweep()
    world.clock.advance(LIMITS.warm_seconds)
    (claim,) = (await world.claim(W2)).claims
    assert claim.fence == 2  # the item was there all the time


async def test_3_an_owner_that_lets_go_while_a_job_is_sent_strands_nothing(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """The sender has seen an owner, and there is none any more when it writes."""
    cloud = MeanwhileCloud(settings)
    sender, owner = process(cloud), process()
    claim = (await idle(owner)).claim
    cloud.meanwhile = lambda: owner.broker.release(claim)
    job = await sender.submit()
    assert await sender.waits()
    taken = await owner.take(worker=W2)
    assert (await owner.deliver(taken)).job.id == job


async def test_3_an_owner_that_lets_go_finds_the_job_that_was_sent_meanwhile(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """The other way round: the owner has seen an empty lane, and there is a job when it writes."""
    cloud = MeanwhileCloud(settings)
    owner, sender = process(cloud), process()
    claim = (await idle(owner)).claim

    async def send_one() -> None:
        await sender.submit()

    cloud.meanwhile = send_one
    await owner.broker.release(claim)
    assert await sender.waits()
    assert (await sender.claim(W2)).claims


async def test_4_the_jobs_of_a_crashed_owner_are_asked_for_without_new_mail(
    process: Callable[..., World],
) -> None:
    """Whoever sweeps finds them, and whoever waits elsewhere hears of it."""
    crashed, sweeper, free = process(), process(), process()
    old = await crashed.start(worker=W1)
    crashed.outlive_the_lease()
    async with waiting(free.broker.claim(W2, room=1, wait=LONG)) as poll:
        assert await sweeper.broker.sweep() == 1
        (claim,) = (await soon(poll)).claims
    again = await free.deliver(claim)
    assert (again.job.id, again.attempt) == (old.job.id, 2)


async def test_5_a_claim_request_for_an_owned_lane_is_dropped(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """It once went round and round, up to the dead letters."""
    cloud = Cloud(settings)
    owner, free = process(), process()
    await owner.start(worker=W1)  # the request of its submit is still there
    assert await depth(cloud, settings.unclaimed) == 1
    async with waiting(free.broker.claim(W2, room=1, wait=LONG)) as poll:
        await drained(cloud, settings.unclaimed)
        assert not poll.done()
    assert await received(cloud, settings, settings.unclaimed_dead) == []
    await cloud.aclose()


async def test_6_an_idle_owner_gives_way_at_once_when_another_lane_waits(
    process: Callable[..., World],
) -> None:
    """It once kept its lane for thirty minutes, with no free worker for the others."""
    here, there = process(), process()
    claim = (await idle(there)).claim
    await here.submit(BRAVO)
    there.clock.advance(LIMITS.exchange_grace_seconds)
    exchanged = await there.broker.claim(W1, room=0, idle=[claim], wait=LONG)
    assert [new.lane for new in exchanged.claims] == [BRAVO]
    assert exchanged.given_up == (claim,)
    assert await here.backend.gatekeeper.owner(AMELIA) is None


async def test_7_a_worker_that_wakes_after_its_lease_is_refused_everything(
    process: Callable[..., World],
) -> None:
    """Nothing once fenced it. Repositories and sites refuse it by the same fence (see their own tests)."""
    paused, other = process(), process()
    old = await paused.start(worker=W1, reply=True)
    paused.outlive_the_lease()
    await other.broker.sweep()
    other.clock.advance(LIMITS.warm_seconds)
    new = await other.deliver(await other.take(worker=W2))
    for refused in (
        paused.broker.settle(old, Done("late"), more=True),
        paused.broker.next_job(old.claim, wait=0),
        paused.backend.journal.tell(old, [AgentEvent(EventKind.SAID, "late")]),
    ):
        with pytest.raises(ClaimLost):
            await refused
    assert (await paused.beat(W1, [old.claim])).lost == (old.claim,)
    await other.broker.settle(new, Done("in time"), more=False)
    assert (await other.view(old.job.id)).note == "in time"


async def test_8_an_interrupted_jobs_message_blocks_nobody(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """It once stayed invisible at the head of the FIFO. Here no message is in hand while a job runs."""
    cloud = Cloud(settings)
    here, there = process(), process()
    running = await there.start(worker=W1)
    await there.beat(W1, [running.claim])
    async with waiting(there.broker.nudged(W1, wait=LONG)) as nudge:
        newer = await here.submit(arrival=Arrival.INTERRUPT)
        await soon(nudge)
    (interrupt,) = (await there.beat(W1, [running.claim])).interrupts
    await drained(cloud, settings.input_of(AMELIA))
    following = await there.broker.settle(running, Preempted(interrupt.by), more=True)
    assert following is not None
    assert following.job.id == newer
    assert await there.state(running.job.id) is JobState.PREEMPTED
    await cloud.aclose()


async def test_8_a_job_that_came_by_the_fifo_leaves_it_before_it_runs(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """So that a second one right behind it is heard at once, and interrupts it."""
    cloud = Cloud(settings)
    there = process()
    claim = (await idle(there)).claim
    await there.beat(W1, [claim])
    queue = settings.input_of(AMELIA)
    body = {"type": "JOB", "project": "amelia", "user": "scott", "instruction": "do it"}
    async with waiting(there.broker.next_job(claim, wait=LONG)) as poll:
        await until(lambda: _is_there(cloud, queue))  # the owner creates it with its first look
        await send(cloud, queue, json.dumps(body | {"job": "a"}), **_in_order("a"))
        running = await soon(poll)
    assert running is not None
    assert running.job.id == "a"
    await send(cloud, queue, json.dumps(body | {"job": "b"}), **_in_order("b"))
    async with asyncio.timeout(HANG_SECONDS):
        while not (interrupts := (await there.beat(W1, [claim])).interrupts):
            await there.broker.nudged(W1, wait=LONG)
    assert [(interrupt.job, interrupt.by) for interrupt in interrupts] == [("a", "b")]
    await cloud.aclose()


def _in_order(key: str) -> dict[str, str]:
    return {"MessageGroupId": AMELIA.key, "MessageDeduplicationId": key}


async def _is_there(cloud: Cloud, queue: str) -> bool:
    names = await cloud.call("sqs", "list_queues", QueueNamePrefix=queue)
    return bool(names.get("QueueUrls"))
