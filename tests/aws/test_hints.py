"""Processes that share nothing but tables and queues: hints wake them, and lost hints harm nobody."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.aws.faulty import FaultyCloud
from tests.conformance.world import AMELIA, BRAVO, LONG, W1, W2, World
from tests.waiting import soon, until, waiting
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.errors import NoQueue
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Arrival, JobState
from webordinary.core.outcome import Done, Retry

DOWN = BackendUnavailable("the line is down")


async def received(cloud: Cloud, settings: AwsSettings, queue: str) -> list[str]:
    """Take all that is in a queue now."""
    url = (await cloud.call("sqs", "get_queue_url", QueueName=queue))["QueueUrl"]
    bodies: list[str] = []
    while messages := (await cloud.call("sqs", "receive_message", QueueUrl=url, MaxNumberOfMessages=10)).get(
        "Messages"
    ):
        bodies += [message["Body"] for message in messages]
    return bodies


async def send(cloud: Cloud, queue: str, body: str, **options: str) -> None:
    url = (await cloud.call("sqs", "get_queue_url", QueueName=queue))["QueueUrl"]
    await cloud.call("sqs", "send_message", QueueUrl=url, MessageBody=body, **options)


@pytest.fixture
def line(settings: AwsSettings) -> FaultyCloud:
    """A line to the cloud that a test can break."""
    return FaultyCloud(settings)


# --- waking others --------------------------------------------------------------------------------


async def test_a_worker_elsewhere_is_woken_by_a_claim_request(process: Callable[..., World]) -> None:
    here, there = process(), process()
    async with waiting(there.broker.claim(W1, room=1, wait=LONG)) as poll:
        await here.submit()
        assert [claim.lane for claim in (await soon(poll)).claims] == [AMELIA]


async def test_an_owner_elsewhere_is_woken_when_a_job_arrives(process: Callable[..., World]) -> None:
    here, there = process(), process()
    delivery = await there.start()
    await there.broker.settle(delivery, Done(), more=False)
    async with waiting(there.broker.next_job(delivery.claim, wait=LONG)) as poll:
        job = await here.submit()
        following = await soon(poll)
        assert following is not None
        assert following.job.id == job


async def test_an_interrupt_reaches_an_owner_elsewhere_at_once(process: Callable[..., World]) -> None:
    """The lane's own queue carries it, so that nobody has to wait for the next beat."""
    here, there = process(), process()
    running = await there.start()
    await there.beat(W1, [running.claim])
    async with waiting(there.broker.nudged(W1, wait=LONG)) as nudge:
        newer = await here.submit(arrival=Arrival.INTERRUPT)
        await soon(nudge)
    (interrupt,) = (await there.beat(W1, [running.claim])).interrupts
    assert (interrupt.job, interrupt.by) == (running.job.id, newer)


async def test_an_eviction_reaches_an_owner_elsewhere_at_once(process: Callable[..., World]) -> None:
    here, there = process(), process()
    running = await there.start()
    await there.beat(W1, [running.claim])
    async with waiting(there.broker.nudged(W1, wait=LONG)) as nudge:
        await here.control.evict(AMELIA)
        await soon(nudge)


async def test_of_two_workers_elsewhere_each_is_told_of_one_lane(process: Callable[..., World]) -> None:
    """Scenario two of the mission: two workers, two lanes, each claims one."""
    here, there, beyond = process(), process(), process()
    async with (
        waiting(there.broker.claim(W1, room=1, wait=LONG)) as first,
        waiting(beyond.broker.claim(W2, room=1, wait=LONG)) as second,
    ):
        await here.submit(AMELIA)
        await here.submit(BRAVO)
        claims = [*(await soon(first)).claims, *(await soon(second)).claims]
        assert sorted(claim.lane for claim in claims) == [AMELIA, BRAVO]


class SlowToLook(Cloud):
    """A line on which looking for lanes takes a while."""

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        if operation == "query":
            await asyncio.sleep(0.3)
        return await super().call(service, operation, **parameters)


async def test_a_worker_that_is_busy_with_one_request_leaves_the_next_to_others(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """It has one slot, and would have kept the second lane from those with room until their next sweep."""
    cloud = Cloud(settings)
    here, there = process(), process(SlowToLook(settings))
    poll = asyncio.create_task(there.broker.claim(W1, room=1, wait=LONG))
    await asyncio.sleep(0.5)  # it has looked, and listens
    await here.submit(AMELIA)
    await here.submit(BRAVO)
    assert len((await soon(poll)).claims) == 1
    assert await depth(cloud, settings.unclaimed) == 1
    await cloud.aclose()


# --- hints that are lost or vain ------------------------------------------------------------------


async def test_a_job_is_stored_though_nobody_could_be_told(
    process: Callable[..., World], line: FaultyCloud
) -> None:
    """The queue is down; the mail is not lost, and the next sweep finds a worker for it."""
    here, there = process(line), process()
    line.before["send_message"] = [DOWN]
    async with waiting(there.broker.claim(W1, room=1, wait=LONG)) as poll:
        job = await here.submit()
        await there.broker.sweep()
        (claim,) = (await soon(poll)).claims
    assert (await there.deliver(claim)).job.id == job


async def test_an_owner_whose_wake_up_was_lost_finds_its_job_with_its_next_beat(
    process: Callable[..., World], line: FaultyCloud
) -> None:
    here, there = process(line), process()
    delivery = await there.start()
    await there.broker.settle(delivery, Done(), more=False)
    line.before["send_message"] = [DOWN]
    async with waiting(there.broker.next_job(delivery.claim, wait=LONG)) as poll:
        await here.submit()
        await there.beat(W1, [delivery.claim])
        assert await soon(poll) is not None


async def test_a_claim_request_for_an_owned_lane_is_dropped_and_never_bounced(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """It once went back to the queue again and again, up to the dead letters."""
    cloud = Cloud(settings)
    here, there = process(), process()
    await here.start(worker=W1)  # its request is still in the queue
    request = {"type": "CLAIM_REQUEST", "project": "amelia", "user": "scott", "queueUrl": "x"}
    await send(cloud, settings.unclaimed, json.dumps(request))
    async with waiting(there.broker.claim(W2, room=1, wait=LONG)) as poll:
        await drained(cloud, settings.unclaimed)
        assert not poll.done()
    assert await received(cloud, settings, settings.unclaimed_dead) == []
    await cloud.aclose()


async def depth(cloud: Cloud, queue: str) -> int:
    """How many messages are in a queue, in hand or not."""
    url = (await cloud.call("sqs", "get_queue_url", QueueName=queue))["QueueUrl"]
    told: dict[str, Any] = await cloud.call(
        "sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["All"]
    )
    return sum(int(told["Attributes"][f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible"))


async def drained(cloud: Cloud, queue: str) -> None:
    """Come back when a queue is empty."""

    async def is_empty() -> bool:
        return await depth(cloud, queue) == 0

    await until(is_empty)


# --- messages that are not ours -------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    ["no json", "[1]", '{"type": "CLAIM_REQUEST"}', '{"type": "X", "project": "amelia", "user": "scott"}'],
)
async def test_what_is_no_claim_request_is_put_aside_and_the_next_one_is_heard(
    process: Callable[..., World], settings: AwsSettings, body: str
) -> None:
    cloud = Cloud(settings)
    here, there = process(), process()
    await send(cloud, settings.unclaimed, body)
    async with waiting(there.broker.claim(W1, room=1, wait=LONG)) as poll:
        await until(lambda: depth(cloud, settings.unclaimed_dead))
        assert await received(cloud, settings, settings.unclaimed_dead) == [body]
        await here.submit()
        assert (await soon(poll)).claims
    await cloud.aclose()


async def test_what_is_no_message_for_a_lane_is_put_aside_and_the_next_one_is_heard(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    cloud = Cloud(settings)
    here, there = process(), process()
    delivery = await there.start()
    await there.broker.settle(delivery, Done(), more=False)
    async with waiting(there.broker.next_job(delivery.claim, wait=LONG)) as poll:
        await here.submit()
        assert await soon(poll) is not None  # and now the queue is there
    bodies = ["no json", '{"type": "WAKE", "project": "bravo", "user": "kim"}', '{"type": "JOB"}']
    for number, body in enumerate(bodies):
        options = {"MessageGroupId": "g", "MessageDeduplicationId": f"stranger-{number}"}
        await send(cloud, settings.input_of(AMELIA), body, **options)
    await there.beat(W1, [delivery.claim])
    async with waiting(there.broker.nudged(W1, wait=LONG)) as nudge:
        await here.control.interrupt(AMELIA)
        await soon(nudge)
    assert await received(cloud, settings, settings.dead_of(AMELIA)) == bodies
    await cloud.aclose()


# --- queues that are gone -------------------------------------------------------------------------


async def test_a_queue_that_was_deleted_under_us_is_created_again(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    cloud = Cloud(settings)
    here, there = process(), process()
    await here.submit(AMELIA)
    url = (await cloud.call("sqs", "get_queue_url", QueueName=settings.unclaimed))["QueueUrl"]
    await cloud.call("sqs", "delete_queue", QueueUrl=url)
    with pytest.raises(NoQueue):
        await cloud.call("sqs", "get_queue_url", QueueName=settings.unclaimed)
    (claimed,) = (await there.claim(W1)).claims
    assert claimed.lane == AMELIA
    async with waiting(there.broker.claim(W2, room=1, wait=LONG)) as poll:
        await here.submit(BRAVO)
        assert [claim.lane for claim in (await soon(poll)).claims] == [BRAVO]
    await cloud.aclose()


async def test_word_of_a_dead_job_is_in_the_lanes_dead_letter_queue(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """Alarms look at that queue; the job itself is redriven from the tables."""
    cloud = Cloud(settings)
    here = process()
    delivery = await here.start()
    for _ in range(here.limits.deliveries_max):
        await here.broker.settle(delivery, Retry("the agent is broken"), more=False)
        here.clock.advance(here.limits.retry_most_seconds + 1)
        following = await here.broker.next_job(delivery.claim, wait=0)
        delivery = following or delivery
    assert (await here.ledger.job(delivery.job.id)).state is JobState.DEAD
    await until(lambda: depth(cloud, settings.dead_of(AMELIA)))
    (word,) = await received(cloud, settings, settings.dead_of(AMELIA))
    told = json.loads(word)
    assert (told["type"], told["job"], told["note"]) == ("DEAD_JOB", delivery.job.id, "the agent is broken")
    await here.control.redrive(delivery.job.id)
    assert (await here.ledger.job(delivery.job.id)).state is JobState.QUEUED
    await cloud.aclose()
