"""What a job costs in calls: counted, printed and bounded, so that nobody makes it dearer unnoticed."""

from collections.abc import Callable

import pytest

from tests.aws.faulty import FaultyCloud
from tests.conformance.world import AMELIA, BRAVO, W1, W2, World
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.outcome import Done


@pytest.fixture
def line(settings: AwsSettings) -> FaultyCloud:
    """A line to the cloud that counts."""
    return FaultyCloud(settings)


class Bill:
    """Calls by what they were for."""

    def __init__(self, line: FaultyCloud) -> None:
        self._line = line
        self.dynamodb = self.sqs = 0

    def item(self, what: str) -> None:
        """Write down what was called since the last item."""
        dynamodb, sqs = self._line.count("dynamodb"), self._line.count("sqs")
        self.dynamodb, self.sqs = self.dynamodb + dynamodb, self.sqs + sqs
        print(f"{what:45} {dynamodb:3} DynamoDB {sqs:3} SQS")


async def test_calls_of_a_job_in_an_unclaimed_lane(process: Callable[..., World], line: FaultyCloud) -> None:
    world, bill = process(line), Bill(line)
    await world.start(BRAVO, W2)  # the first message ever finds the queue's address
    line.made.clear()
    await world.submit(AMELIA)
    bill.item("submit, nobody owns the lane")
    (claim,) = (await world.claim(W1)).claims
    bill.item("claim")
    delivery = await world.deliver(claim)
    bill.item("first job")
    for _ in range(10):
        await world.beat(W1, [claim])
    bill.item("ten beats")
    await world.broker.settle(delivery, Done("yes"), more=True)
    bill.item("settle, with the next job")
    beats = 10 * 3  # the lease, the presence, and who waits
    assert bill.dynamodb - beats <= 12
    assert bill.sqs <= 2


async def test_calls_of_an_idle_worker(process: Callable[..., World], line: FaultyCloud) -> None:
    """Per minute: four beats, six sweeps, six looks for lanes after them, and three long polls."""
    world, bill = process(line), Bill(line)
    await world.beat(W2)
    line.count("dynamodb")
    for _ in range(4):
        await world.beat(W2)
    bill.item("four beats of an idle worker")
    for _ in range(6):
        await world.broker.sweep()
        await world.claim(W2)
    bill.item("six sweeps, each with a look for lanes")
    assert bill.dynamodb <= 30
