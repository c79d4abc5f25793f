"""Listening to queues while somebody here waits, and taking in what they bring.

A message is a hint or a letter to a lane. It is written into the tables and then deleted, so none is held
while a job runs: nothing has to be kept invisible, and no message ever blocks those behind it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

from webordinary.backends.aws import queues as messages_of
from webordinary.backends.aws.callbacks import Callbacks
from webordinary.backends.aws.changing import Lanes
from webordinary.backends.aws.errors import NoQueue
from webordinary.backends.aws.queues import CLAIM_REQUEST, Queues
from webordinary.backends.aws.submitting import attach_token, submit
from webordinary.backends.aws.values import Item
from webordinary.backends.aws.wakeups import LANE, CloudWakeups
from webordinary.claim.rows import CLAIMS, WORKER, lane_topic, worker_topic
from webordinary.core.claim import WorkerId
from webordinary.core.errors import BadInput, WebordinaryError
from webordinary.core.job import Arrival, Duplicate, Intent, Job, JobId
from webordinary.core.lane import Lane

log = logging.getLogger("webordinary.store")

REQUESTS_AT_ONCE = 1  # others may have room as well
MESSAGES_AT_ONCE = 10
TAKE_IN_SECONDS = 1  # a moment for what was sent together with a claim request
TROUBLE_FIRST_SECONDS, TROUBLE_MOST_SECONDS = 1.0, 30.0


class Listening:
    """One task a queue, for as long as somebody here waits for what it may bring."""

    def __init__(self, lanes: Lanes, queues: Queues, callbacks: Callbacks, wakeups: CloudWakeups) -> None:
        """Listen for the waiters of this process."""
        self._lanes, self._queues, self._callbacks, self._wakeups = lanes, queues, callbacks, wakeups
        self._settings, self._clock = lanes.settings, lanes.clock
        self._held: dict[WorkerId, list[Lane]] = {}
        self._tasks: dict[Lane | None, asyncio.Task[None]] = {}  # None: claim requests
        self._handed_over = False  # a request, and nobody has come back since to wait for another
        wakeups.waiting = self._somebody_waits

    def holds(self, worker: WorkerId, lanes: list[Lane]) -> None:
        """Note what a worker of this process holds: it is to hear of these lanes also while it works."""
        self._held[worker] = lanes
        if not lanes:
            del self._held[worker]

    def took(self, worker: WorkerId, lanes: list[Lane]) -> None:
        """Note what a worker that sends beats holds from now on; its next beat is too late to say so."""
        if self._wakeups.somebody_waits(worker_topic(worker)):
            self._held[worker] = [*self._held.get(worker, ()), *lanes]
            for lane in lanes:
                self._listen(lane)

    def close(self) -> None:
        """Stop listening; a message that is just being handed over appears again after a while."""
        for task in self._tasks.values():
            if not task.get_loop().is_closed():
                task.cancel()

    def _somebody_waits(self, topic: str, _seconds: float) -> None:
        if topic == CLAIMS:
            self._handed_over = False
            self._listen(None)
        elif topic.startswith(LANE):
            self._listen(Lane.from_key(topic.removeprefix(LANE)))
        elif topic.startswith(WORKER):
            for lane in self._held.get(WorkerId(topic.removeprefix(WORKER)), ()):
                self._listen(lane)

    def _listen(self, source: Lane | None) -> None:
        task = self._tasks.get(source)
        if task is None or task.done():
            self._tasks[source] = asyncio.get_running_loop().create_task(self._keep_listening(source))

    def _is_wanted(self, source: Lane | None) -> bool:
        if source is None:
            # Whoever was just given one is busy with it: the next one is for those who still wait.
            return self._wakeups.somebody_waits(CLAIMS) and not self._handed_over
        held = any(source in lanes for lanes in self._held.values())
        return held or self._wakeups.somebody_waits(lane_topic(source))

    async def _keep_listening(self, source: Lane | None) -> None:
        """Receive again and again. Trouble is told once, and nobody is worse off than before by it."""
        trouble = 0.0
        while self._is_wanted(source):
            try:
                await self._hear(source, self._settings.receive_seconds)
                trouble = 0.0
            except WebordinaryError as error:
                if not trouble and not isinstance(error, NoQueue):  # such a lane is about to be let go
                    log.warning("can't listen to the queue of %s: %s", source or "claim requests", error)
                trouble = min(max(trouble * 2, TROUBLE_FIRST_SECONDS), TROUBLE_MOST_SECONDS)
                await self._clock.sleep(trouble)
        self._tasks.pop(source, None)

    async def _hear(self, source: Lane | None, wait: int) -> int:
        if source is None:
            name = self._settings.unclaimed
            messages = await self._queues.receive(name, most=REQUESTS_AT_ONCE, wait=wait)
            for message in messages:
                await self._take_request(name, message)
        else:
            name = self._settings.input_of(source)
            messages = await self._queues.receive(name, most=MESSAGES_AT_ONCE, wait=wait)
            for message in messages:
                await self._take_input(name, source, message)
        return len(messages)

    # --- claim requests ---------------------------------------------------------------------------

    async def _take_request(self, name: str, message: Item) -> None:
        """A hint: have whoever waits here look at the tables. It is never sent round and round."""
        body = _body(message)
        lane = _lane(body)
        if lane is None or body.get("type") != CLAIM_REQUEST:
            await self._put_aside(name, None, message, "it is no claim request")
            return
        if not body.get("stored"):
            await self._take_in_first(lane)
        if not self._wakeups.somebody_waits(CLAIMS):
            await self._queues.give_back(name, message)
            return
        self._handed_over = True
        self._wakeups.send([CLAIMS])
        await self._queues.done_with(name, message)

    async def _take_in_first(self, lane: Lane) -> None:
        """Take in what whoever asks for an owner sent before, so that there is something to claim for."""
        with suppress(NoQueue):  # a lane that nobody has; the request is in vain, and gets it no queue
            while await self._hear(lane, TAKE_IN_SECONDS):
                continue

    # --- what is sent to a lane -------------------------------------------------------------------

    async def _take_input(self, name: str, lane: Lane, message: Item) -> None:
        body = _body(message)
        token = body.get("taskToken")
        try:
            if _lane(body) != lane:
                raise BadInput(f"it is not for {lane}")  # noqa: TRY301 - one way out for all that is not ours
            match body.get("type"):
                case messages_of.JOB:
                    await self._take_job(lane, body, token)
                case messages_of.WAKE:
                    pass
                case other:
                    raise BadInput(f"nobody knows the type {other!r}")  # noqa: TRY301 - the same
        except BadInput as error:
            if isinstance(token, str):
                await self._callbacks.refuse(token, str(error))
            await self._put_aside(name, lane, message, str(error))
            return
        self._wakeups.send([lane_topic(lane), *map(worker_topic, self._held_by_here(lane))])
        await self._queues.done_with(name, message)

    def _held_by_here(self, lane: Lane) -> list[WorkerId]:
        return [worker for worker, lanes in self._held.items() if lane in lanes]

    async def _take_job(self, lane: Lane, body: Item, token: object) -> None:
        """Write a job into its lane, once; and who waits for its end."""
        job = _text(body, "job")
        if token is not None and not isinstance(token, str):
            raise BadInput("its task token is no text")
        if "instruction" in body:
            answer = await submit(self._lanes, _job(lane, job, body), token)
            if not isinstance(answer, Duplicate):
                return
            job = answer.job
        if token is not None:
            ended = await attach_token(self._lanes, lane, JobId(job), token)
            if ended is not None:
                await self._callbacks.send(token, ended)

    async def _put_aside(self, name: str, lane: Lane | None, message: Item, why: str) -> None:
        log.warning("a message in %s is not ours and was put to the dead letters: %s", name, why)
        await self._queues.send_to_the_dead(lane, message["Body"])
        await self._queues.done_with(name, message)


def _body(message: Item) -> dict[str, Any]:
    try:
        body = json.loads(message["Body"])
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _lane(body: Item) -> Lane | None:
    try:
        return Lane(_text(body, "project"), _text(body, "user"))
    except BadInput:
        return None


def _job(lane: Lane, job: str, body: Item) -> Job:
    try:
        arrival, intent = Arrival(body.get("arrival", "interrupt")), Intent(body.get("intent", "edit"))
    except ValueError as error:
        raise BadInput(str(error)) from error
    return Job(
        JobId(job),
        lane,
        _text(body, "instruction"),
        _text(body, "messageId") if "messageId" in body else job,
        arrival,
        body.get("wantsReply") is True,
        _text(body, "session") if "session" in body else "",
        intent,
    )


def _text(body: Item, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise BadInput(f"its {name} is no text")
    return value
