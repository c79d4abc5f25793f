"""Queues: one input queue a lane, and the one queue of claim requests. Created when they are missing."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.directory import AwsDirectory
from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.errors import NoQueue
from webordinary.backends.aws.rows import lane_key
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.values import Item
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.ports.clock import Clock

CLAIM_REQUEST, WAKE, JOB, DEAD_JOB = "CLAIM_REQUEST", "WAKE", "JOB", "DEAD_JOB"  # kinds of messages

VISIBILITY_SECONDS = 30  # of a message in hand: it is taken in within that, or somebody else gets it
INPUT_DELIVERIES = 10  # after that a message that nobody could take in goes to the dead letters
REQUEST_DELIVERIES = 1000  # a request is handed on by those without room, and must not die of that
DELAY_MOST_SECONDS = 900
KEPT_SECONDS = 14 * 24 * 3600


class Queues:
    """Sends and receives. Every message may be lost or doubled without harm."""

    def __init__(self, cloud: Cloud, settings: AwsSettings, clock: Clock) -> None:
        """Use the queues of an account."""
        self._cloud, self._settings, self._clock = cloud, settings, clock
        self._dynamo = Dynamo(cloud, clock)
        self._urls: dict[str, str] = {}
        if settings.unclaimed_queue_url is not None:
            self._urls[settings.unclaimed] = settings.unclaimed_queue_url

    # --- sending ----------------------------------------------------------------------------------

    async def send_claim_request(self, lane: Lane, delay: float = 0.0) -> None:
        """Ask for an owner; not before the lane has something to do."""
        beside, _, _ = (await self._url_or_new(self._settings.unclaimed)).rpartition("/")
        body = {
            "type": CLAIM_REQUEST,
            "project": lane.project,
            "user": lane.user,
            "queueUrl": f"{beside}/{self._settings.input_of(lane)}",
            "stored": True,  # the job is in the tables; nobody has to look for it in the lane's queue
        }
        seconds = min(max(math.ceil(delay), 0), DELAY_MOST_SECONDS)
        await self._send(self._settings.unclaimed, body, DelaySeconds=seconds)

    async def send_wake(self, lane: Lane, why: str) -> None:
        """Have the lane's owner look at its lane; one that nobody has any more needs no waking."""
        body = {"type": WAKE, "project": lane.project, "user": lane.user}
        with suppress(NoQueue):
            await self._send_in_order(self._settings.input_of(lane), body, lane, f"wake-{why}")

    async def send_to_the_dead(self, lane: Lane | None, text: str) -> None:
        """Put a message aside that is none of ours, for the operator."""
        if lane is None:
            await self._send_text(self._settings.unclaimed_dead, text)
        else:
            key = self._clock.unique()
            await self._send_text(
                self._settings.dead_of(lane), text, MessageGroupId=lane.key, MessageDeduplicationId=key
            )

    async def send_dead_job(self, lane: Lane, job: JobId, note: str) -> None:
        """Leave word of a job whose attempts ran out; it is redriven from the tables."""
        body = {"type": DEAD_JOB, "project": lane.project, "user": lane.user, "job": job, "note": note}
        await self.send_to_the_dead(lane, json.dumps(body))

    async def _send_in_order(self, name: str, body: Item, lane: Lane, key: str) -> None:
        await self._send(name, body, MessageGroupId=lane.key, MessageDeduplicationId=key)

    async def _send(self, name: str, body: Item, **options: object) -> None:
        await self._send_text(name, json.dumps(body), **options)

    async def _send_text(self, name: str, text: str, **options: object) -> None:
        await self._at(name, "send_message", MessageBody=text, **options)

    # --- receiving --------------------------------------------------------------------------------

    async def receive(self, name: str, *, most: int, wait: int) -> list[Item]:
        """Wait for messages. Never cancelled while the queue may be handing one over."""
        answer = await self._at(name, "receive_message", MaxNumberOfMessages=most, WaitTimeSeconds=wait)
        return list(answer.get("Messages", ()))

    async def done_with(self, name: str, message: Item) -> None:
        """Remove a message that was taken in."""
        await self._at(name, "delete_message", ReceiptHandle=message["ReceiptHandle"])

    async def give_back(self, name: str, message: Item) -> None:
        """Let somebody else have a message."""
        await self._at(
            name, "change_message_visibility", ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
        )

    # --- being there ------------------------------------------------------------------------------

    async def create_unclaimed(self) -> str:
        """Create the queue of claim requests and its dead letters; safe to repeat."""
        dead = await self._create(
            self._settings.unclaimed_dead, {"MessageRetentionPeriod": str(KEPT_SECONDS)}
        )
        policy = await self._policy(dead, REQUEST_DELIVERIES)
        return await self._create(self._settings.unclaimed, policy)

    async def create_input(self, lane: Lane) -> str:
        """Create a lane's input queue and its dead letters; safe to repeat."""
        fifo = {"FifoQueue": "true"}
        dead = await self._create(
            self._settings.dead_of(lane), fifo | {"MessageRetentionPeriod": str(KEPT_SECONDS)}
        )
        policy = await self._policy(dead, INPUT_DELIVERIES)
        return await self._create(self._settings.input_of(lane), fifo | policy)

    async def delete_input(self, lane: Lane) -> None:
        """Remove a lane's queues, for one that is offboarded; safe to repeat."""
        for name in (self._settings.input_of(lane), self._settings.dead_of(lane)):
            try:
                url = self._urls.pop(name, None) or await self._url(name)
                await self._cloud.call("sqs", "delete_queue", QueueUrl=url)
            except NoQueue:
                continue
            self._urls.pop(name, None)

    async def _policy(self, dead: str, deliveries: int) -> dict[str, str]:
        asked = await self._cloud.call(
            "sqs", "get_queue_attributes", QueueUrl=dead, AttributeNames=["QueueArn"]
        )
        target = {"deadLetterTargetArn": asked["Attributes"]["QueueArn"], "maxReceiveCount": deliveries}
        return {
            "VisibilityTimeout": str(VISIBILITY_SECONDS),
            "MessageRetentionPeriod": str(KEPT_SECONDS),
            "RedrivePolicy": json.dumps(target),
        }

    async def _create(self, name: str, attributes: dict[str, str]) -> str:
        answer = await self._cloud.call("sqs", "create_queue", QueueName=name, Attributes=attributes)
        self._urls[name] = str(answer["QueueUrl"])
        return self._urls[name]

    async def _url(self, name: str) -> str:
        if name not in self._urls:
            answer = await self._cloud.call("sqs", "get_queue_url", QueueName=name)
            self._urls[name] = str(answer["QueueUrl"])
        return self._urls[name]

    async def _url_or_new(self, name: str) -> str:
        try:
            return await self._url(name)
        except NoQueue:
            await self._create_by_name(name)
            return await self._url(name)

    async def _at(self, name: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        """Make a call on a queue; one that is missing, or was deleted under us, is made if it has a use."""
        url = await self._url_or_new(name)
        try:
            return await self._cloud.call("sqs", operation, QueueUrl=url, **parameters)
        except NoQueue:
            self._urls.pop(name, None)
            url = await self._url_or_new(name)
            return await self._cloud.call("sqs", operation, QueueUrl=url, **parameters)

    async def _create_by_name(self, name: str) -> None:
        lane = self._settings.lane_of(name)
        if lane is None:
            await self.create_unclaimed()
        elif await self._is_in_use(lane):
            await self.create_input(lane)
        else:  # offboarded, or made up by whoever sent a message: its queues would stay for ever
            raise NoQueue(f"{lane} has no queue: nobody writes to it, nobody holds it, and it has no jobs")

    async def _is_in_use(self, lane: Lane) -> bool:
        known = await self._dynamo.get(self._settings.lanes, lane_key(lane))
        if known is not None and ("containerId" in known or known["open"]):
            return True
        directory = AwsDirectory(self._dynamo, self._settings, self._clock)
        return any(member.lane == lane for member in await directory.members(lane.project))
