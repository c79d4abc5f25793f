"""Callbacks to whoever waits with a task token: a heartbeat, success, or failure with a name of its own."""

from __future__ import annotations

import json
import logging

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.dynamo import Dynamo, Where
from webordinary.backends.aws.errors import NoTask
from webordinary.backends.aws.letters import CALLBACK, due, due_before
from webordinary.backends.aws.rows import facts_of
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.tables import DUE_INDEX
from webordinary.backends.aws.values import Item
from webordinary.core.errors import WebordinaryError
from webordinary.core.job import JobState
from webordinary.core.json_codec import encode
from webordinary.ports.clock import Clock

log = logging.getLogger("webordinary.store")

ERRORS = {JobState.PREEMPTED: "PREEMPTED", JobState.FAILED: "FAILED", JobState.DEAD: "DEAD"}
OUTPUT_BYTES, CAUSE_CHARACTERS = 200_000, 8_000  # the service allows 256 KB and 32,768
OWED_AT_ONCE = 25
AGAIN_FIRST_SECONDS, AGAIN_MOST_SECONDS = 5.0, 3600.0
WAITED_FOR_SECONDS = 24 * 3600.0  # as long as the state machine waits: infra/email-processor.asl.json


class Callbacks:
    """Words to the state machine. One that is owed is kept until it was given or nobody waits any more."""

    def __init__(self, cloud: Cloud, dynamo: Dynamo, settings: AwsSettings, clock: Clock) -> None:
        """Call back from this account."""
        self._cloud, self._dynamo, self._settings, self._clock = cloud, dynamo, settings, clock

    async def heartbeat(self, token: str) -> bool:
        """Say that the job still runs; False if nobody waits for it any more."""
        try:
            await self._cloud.call("stepfunctions", "send_task_heartbeat", taskToken=token)
        except NoTask:
            return False
        except WebordinaryError as error:
            log.warning("a heartbeat did not get through: %s", error)
        return True

    async def try_now(self, owed: Item) -> bool:
        """Give the word; if that fails, a sweep will."""
        try:
            await self.send(owed["taskToken"], owed)
            key = {"about": owed["about"], "kind": CALLBACK}
            await self._dynamo.delete(self._settings.outbox, key, {"taskToken": owed["taskToken"]})
        except WebordinaryError as error:
            log.warning("the callback of job %s is still owed: %s", owed["about"], error)
            return False
        return True

    async def send(self, token: str, job: Item) -> None:
        """Tell a job's end to whoever waits with this token."""
        state = JobState(job["state"])
        try:
            if state is JobState.DONE:
                await self._cloud.call(
                    "stepfunctions", "send_task_success", taskToken=token, output=_output(job)
                )
            else:
                await self._cloud.call(
                    "stepfunctions",
                    "send_task_failure",
                    taskToken=token,
                    error=ERRORS.get(state, "DEAD"),
                    cause=str(job["note"])[:CAUSE_CHARACTERS],
                )
        except NoTask:
            log.info("nobody waits for job %s any more", job.get("about", job.get("jobId")))

    async def refuse(self, token: str, why: str) -> None:
        """Tell that what came with this token is no job."""
        try:
            await self._cloud.call(
                "stepfunctions",
                "send_task_failure",
                taskToken=token,
                error="BAD_INPUT",
                cause=why[:CAUSE_CHARACTERS],
            )
        except NoTask:
            log.info("nobody waits for what was refused")

    async def give_those_owed(self) -> int:
        """Give words that somebody died before giving; part of every sweep."""
        where = Where(
            self._settings.outbox,
            ("owed", CALLBACK),
            DUE_INDEX,
            ("due", "<=", due_before(self._clock.now()) + "~"),
        )
        given = 0
        for key in await self._dynamo.query(where, limit=OWED_AT_ONCE):
            owed = await self._dynamo.get(self._settings.outbox, {"about": key["about"], "kind": CALLBACK})
            if owed is None:
                continue
            if await self.try_now(owed):
                given += 1
            else:
                await self._postpone(owed)
        return given

    async def _postpone(self, owed: Item) -> None:
        """Let others go first, later and later; after a day no execution waits any more."""
        now, key = self._clock.now(), {"about": owed["about"], "kind": CALLBACK}
        since, tries = float(owed.get("owedAt", now)), owed.get("attempts", 0) + 1
        unchanged = {"taskToken": owed["taskToken"]}
        try:
            if now - since > WAITED_FOR_SECONDS:
                log.warning("the callback of job %s was owed for a day, and is given up", owed["about"])
                await self._dynamo.delete(self._settings.outbox, key, unchanged)
                return
            later = now + min(AGAIN_FIRST_SECONDS * 2**tries, AGAIN_MOST_SECONDS)
            put = {"due": due(later, self._clock.unique()), "attempts": tries, "owedAt": since}
            await self._dynamo.update(self._settings.outbox, key, put=put, where=unchanged)
        except WebordinaryError as error:  # the next sweep tries it again, as if nothing had happened
            log.info("the callback of job %s could not be put off: %s", owed["about"], error)


def _output(job: Item) -> str:
    """What a workflow's execution ends with: only what was left, by the names of its fields."""
    result = {"state": job["state"], "note": job["note"], "facts": encode(facts_of(job.get("facts")))}
    output = json.dumps(result)
    return output if len(output) <= OUTPUT_BYTES else json.dumps({**result, "facts": {}})[:OUTPUT_BYTES]
