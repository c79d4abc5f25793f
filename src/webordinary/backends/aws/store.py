"""The claim protocol on the cloud: each verb is one transaction, and never waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from webordinary.backends.aws import submitting
from webordinary.backends.aws.changing import Lanes
from webordinary.backends.aws.claiming import Claiming
from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.listening import Listening
from webordinary.backends.aws.rows import job_key, lane_key, ownership
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.wakeups import CloudWakeups
from webordinary.backends.loading import Call, RuleStore
from webordinary.claim.rows import CLAIMS, Nothing, lane_topic
from webordinary.core.claim import Claim, Claimed, Ownership, Presence, Pulse, WorkerId
from webordinary.core.errors import NotFound
from webordinary.core.job import Duplicate, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.ports.clock import Clock

T = TypeVar("T")


class AwsGatekeeper:
    """See `Gatekeeper`. It has one way to read and none to write."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings, clock: Clock, limits: Limits) -> None:
        """Look at the ownership table."""
        self._get, self._table, self._clock, self._limits = dynamo.get, settings.lanes, clock, limits

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`."""
        return ownership(await self._get(self._table, lane_key(lane)), self._clock.now(), self._limits)


class AwsStore(RuleStore):
    """See `Store` and `Control`. A call reads its lanes and jobs, and writes them if nobody was quicker."""

    def __init__(
        self,
        lanes: Lanes,
        claiming: Claiming,
        gatekeeper: AwsGatekeeper,
        wakeups: CloudWakeups,
        listening: Listening,
    ) -> None:
        """Keep the protocol in tables."""
        self._lanes, self._claiming, self._gatekeeper = lanes, claiming, gatekeeper
        self._wakeups, self._listening = wakeups, listening

    async def run(self, call: Call[T]) -> T:
        """See `RuleStore.run`."""
        needs = call.needs
        if not needs.lanes:
            needs = replace(needs, lanes=[await self._lane_of(job) for job in needs.jobs])
        return await self._lanes.change(needs, lambda model: call.rule(model.rules))

    async def _lane_of(self, job: JobId) -> Lane:
        item = await self._lanes.dynamo.get(self._lanes.settings.jobs, job_key(job)) if job else None
        if item is None:
            raise NotFound(f"there is no job {job}")
        return Lane.from_key(item["lane"])

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """See `Broker.submit`."""
        return await submitting.submit(self._lanes, job)

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`."""
        return await self._gatekeeper.owner(lane)

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Broker.claim`."""
        self._wakeups.own_workers.add(worker)
        answer = await self._claiming.claim(worker, room, idle, only)
        if isinstance(answer, Claimed):
            self._listening.took(worker, [claim.lane for claim in answer.claims])
        elif only is not None:
            # Whoever is tied to one lane must not take requests for others from their queue.
            return Nothing(min(answer.retry_in, self._wakeups.look_again_seconds))
        return answer

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Broker.keep`. An owner whose wake-up was lost finds its jobs with its next beat."""
        self._wakeups.own_workers.add(presence.worker)
        pulse = await self._claiming.keep(presence, claims)
        kept = [claim.lane for claim in claims if claim not in pulse.lost]
        self._listening.holds(presence.worker, kept)
        if pulse.lanes_with_work:
            self._wakeups.send(lane_topic(lane) for lane in kept)
        if presence.gone:
            self._wakeups.own_workers.discard(presence.worker)
        return pulse

    async def sweep(self) -> int:
        """See `Broker.sweep`. Whoever waits here for lanes looks again: a request may have been lost."""
        found, some_wait = await self._claiming.sweep()
        if some_wait:
            self._wakeups.send([CLAIMS])
        return found
