"""Whoever waits with a task token is told once how the job ended, whatever dies in between."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.aws.faulty import FaultyCloud
from tests.conformance.world import AMELIA, LONG, W1, ManualClock, World
from tests.emulators import REPOSITORY
from tests.waiting import HANG_SECONDS, soon, until, waiting
from webordinary.backends.aws.callbacks import OWED_AT_ONCE, WAITED_FOR_SECONDS
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.letters import CALLBACK, due
from webordinary.backends.aws.queues import Queues
from webordinary.backends.aws.rows import job_key
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable
from webordinary.core.facts import Facts, PreviewFacts
from webordinary.core.job import Arrival, JobState
from webordinary.core.outcome import Done, Failed, Outcome, Preempted

DOWN = BackendUnavailable("the line is down")
ROLE = "arn:aws:iam::000000000000:role/test"


class Workflow:
    """A state machine that sends a job to a lane, asks for an owner, and waits for the job's end."""

    def __init__(self, cloud: Cloud, settings: AwsSettings, machine: str) -> None:
        self._cloud, self._settings, self._machine = cloud, settings, machine

    async def start(self, job: str, **others: object) -> str:
        lane = {"project": AMELIA.project, "user": AMELIA.user}
        what = {"type": "JOB", "job": job, "instruction": f"do {job}", **lane, **others}
        answer = await self._cloud.call(
            "stepfunctions", "start_execution", stateMachineArn=self._machine, input=json.dumps(what)
        )
        return str(answer["executionArn"])

    async def awaited(self, job: str) -> None:
        """Come back when the end of a job is going to be told to somebody."""
        items = Dynamo(self._cloud, ManualClock())

        async def has_token() -> bool:
            return "taskToken" in (await items.get(self._settings.jobs, job_key(job)) or {})

        await until(has_token)

    async def ended(self, execution: str) -> dict[str, Any]:
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                told = await self._cloud.call("stepfunctions", "describe_execution", executionArn=execution)
                if told["status"] != "RUNNING":
                    return told
                await asyncio.sleep(0.05)


@pytest.fixture
async def workflow(settings: AwsSettings, world: World) -> AsyncIterator[Workflow]:
    cloud = Cloud(settings)
    queues = Queues(cloud, settings, world.clock)
    url, unclaimed = await queues.create_input(AMELIA), await queues.create_unclaimed()
    request = {"type": "CLAIM_REQUEST", "project": "amelia", "user": "scott", "queueUrl": url}
    send_job = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {
            "QueueUrl": url,
            "MessageGroupId": AMELIA.key,
            "MessageDeduplicationId.$": "$.job",
            "MessageBody": {
                "type": "JOB",
                "job.$": "$.job",
                "project.$": "$.project",
                "user.$": "$.user",
                "instruction.$": "$.instruction",
                "taskToken.$": "$$.Task.Token",
            },
        },
        "End": True,
    }
    send_request = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": unclaimed, "MessageBody": request},
        "End": True,
    }
    both = {
        "Type": "Parallel",
        "End": True,
        "Branches": [
            {"StartAt": "SendToContainer", "States": {"SendToContainer": send_job}},
            {"StartAt": "SendClaimRequest", "States": {"SendClaimRequest": send_request}},
        ],
    }
    machine = await cloud.call(
        "stepfunctions",
        "create_state_machine",
        name=f"{settings.prefix}-email-processor",
        roleArn=ROLE,
        definition=json.dumps({"StartAt": "Both", "States": {"Both": both}}),
    )
    yield Workflow(cloud, settings, machine["stateMachineArn"])
    await cloud.aclose()


async def picked_up(world: World) -> Delivery:
    """A worker that knew of nothing is asked, claims the lane, and gets the job."""
    (claim,) = (await soon(world.broker.claim(W1, room=1, wait=LONG))).claims
    return await world.deliver(claim)


async def test_a_job_that_came_by_the_state_machine_is_done_and_told(
    world: World, workflow: Workflow
) -> None:
    """The whole way: queue, claim request, claim, job, callback; the execution ends well."""
    execution = await workflow.start("j1")
    delivery = await picked_up(world)
    assert (delivery.job.id, delivery.job.instruction, delivery.job.lane) == ("j1", "do j1", AMELIA)
    await world.beat(W1, [delivery.claim])
    await world.broker.settle(
        delivery, Done("the title is new", Facts(preview=PreviewFacts("c1"))), more=False
    )
    told = await workflow.ended(execution)
    assert told["status"] == "SUCCEEDED"
    output = json.loads(told["output"])[0]
    assert output == {"state": "done", "note": "the title is new", "facts": {"preview": {"commit": "c1"}}}


@pytest.mark.parametrize(
    ("outcome", "error", "cause"),
    [(Failed("no homepage"), "FAILED", "no homepage"), (Preempted(None, "kept"), "PREEMPTED", "kept")],
)
async def test_a_preempted_job_is_told_apart_from_a_failed_one(
    world: World, workflow: Workflow, outcome: Outcome, error: str, cause: str
) -> None:
    execution = await workflow.start("j1")
    await world.broker.settle(await picked_up(world), outcome, more=False)
    told = await workflow.ended(execution)
    assert (told["status"], told["error"], told["cause"]) == ("FAILED", error, cause)


async def test_a_second_mail_interrupts_and_both_executions_end(world: World, workflow: Workflow) -> None:
    """Scenario three of the mission, by way of the state machine."""
    first = await workflow.start("j1")
    running = await picked_up(world)
    await world.beat(W1, [running.claim])
    async with waiting(world.broker.nudged(W1, wait=LONG)) as nudge:
        second = await workflow.start("j2")
        await soon(nudge)
    (interrupt,) = (await world.beat(W1, [running.claim])).interrupts
    following = await world.broker.settle(running, Preempted(interrupt.by, "kept"), more=True)
    assert following is not None
    assert following.job.id == "j2"
    await world.broker.settle(following, Done("yes"), more=False)
    assert (await workflow.ended(first))["error"] == "PREEMPTED"
    assert (await workflow.ended(second))["status"] == "SUCCEEDED"


async def test_the_word_that_somebody_died_before_giving_is_given_by_a_sweep(
    process: Callable[..., World], settings: AwsSettings, workflow: Workflow
) -> None:
    """The outcome was stored, then the worker was killed: nothing is done again, and the caller is told."""
    line = FaultyCloud(settings)
    dying, other = process(line), process()
    execution = await workflow.start("j1")
    delivery = await picked_up(dying)
    line.before["send_task_success"] = [DOWN]
    await dying.broker.settle(delivery, Done("yes"), more=False)
    assert await other.state(delivery.job.id) is JobState.DONE
    await other.broker.sweep()
    assert (await workflow.ended(execution))["status"] == "SUCCEEDED"
    assert [letter for letter, _ in await other.backend.outbox.letters(limit=9)] == []


async def test_a_token_for_a_job_that_is_in_its_lane_already_is_told_its_end(
    world: World, workflow: Workflow
) -> None:
    """The mail was taken in, and only then the state machine started: one job, one who waits for it."""
    job = world.job(arrival=Arrival.INTERRUPT)
    await world.broker.submit(job)
    execution = await workflow.start(job.id, instruction="the same mail")
    delivery = await picked_up(world)
    assert delivery.job == job
    await world.beat(W1, [delivery.claim])
    async with waiting(world.broker.nudged(W1, wait=LONG)):
        await workflow.awaited(job.id)
    await world.broker.settle(delivery, Done("yes"), more=False)
    assert (await workflow.ended(execution))["status"] == "SUCCEEDED"
    assert len(await world.ledger.jobs(limit=9)) == 1


async def test_what_is_no_job_is_told_to_whoever_waits_for_it(world: World, workflow: Workflow) -> None:
    execution = await workflow.start("j1", instruction=" ")
    async with waiting(world.broker.claim(W1, room=1, wait=LONG)) as poll:
        told = await workflow.ended(execution)
        assert (told["status"], told["error"]) == ("FAILED", "BAD_INPUT")
        assert not poll.done()


async def test_words_that_can_not_be_given_keep_no_other_back(
    process: Callable[..., World], settings: AwsSettings, workflow: Workflow
) -> None:
    """Twenty-five of them once were all that a sweep looked at, for ever."""
    line = FaultyCloud(settings)
    dying, other = process(line), process()
    for number in range(OWED_AT_ONCE):
        owed = {
            "about": f"stuck{number}",
            "kind": CALLBACK,
            "owed": CALLBACK,
            "due": due(other.clock.now() - 60, f"{number:03d}"),
            # Half of them are from before it was noted when a word was owed first.
            **({"owedAt": other.clock.now() - 60} if number % 2 else {}),
            "taskToken": "",  # which the service takes for a mistake of the caller
            "state": JobState.DONE.value,
            "note": "",
        }
        await Dynamo(line, other.clock).put(settings.outbox, owed)
    execution = await workflow.start("j1")
    delivery = await picked_up(dying)
    line.before["send_task_success"] = [DOWN]
    await dying.broker.settle(delivery, Done("yes"), more=False)
    await other.broker.sweep()
    await other.broker.sweep()
    assert (await workflow.ended(execution))["status"] == "SUCCEEDED"
    assert await owed_now(line, settings) == OWED_AT_ONCE
    other.clock.advance(WAITED_FOR_SECONDS + 1)
    await other.broker.sweep()
    assert await owed_now(line, settings) == 0, "no execution waits for so long"


async def owed_now(line: Cloud, settings: AwsSettings) -> int:
    told = await line.call("dynamodb", "scan", TableName=settings.outbox)
    return len([item for item in told["Items"] if item["kind"]["S"] == CALLBACK])


def test_a_callback_is_owed_for_as_long_as_the_state_machine_waits() -> None:
    definition = json.loads((REPOSITORY / "infra" / "email-processor.asl.json").read_text())
    waits = re.findall(r'"TimeoutSeconds": (\d+)', json.dumps(definition))
    assert WAITED_FOR_SECONDS in {float(seconds) for seconds in waits}
