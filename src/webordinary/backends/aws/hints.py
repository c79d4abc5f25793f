"""Telling those who wait that something changed. All hints: the tables decide, and the sweep makes sure."""

from __future__ import annotations

import logging

from webordinary.backends.aws.callbacks import Callbacks
from webordinary.backends.aws.changes import Changes
from webordinary.backends.aws.model import Model
from webordinary.backends.aws.queues import Queues
from webordinary.backends.aws.values import Item
from webordinary.backends.aws.wakeups import CloudWakeups
from webordinary.claim.rows import lane_topic, worker_topic
from webordinary.core.claim import WorkerId
from webordinary.core.errors import WebordinaryError
from webordinary.core.lane import Lane
from webordinary.core.views import Happening
from webordinary.ports.clock import Clock

log = logging.getLogger("webordinary.store")


class Hints:
    """Wakes waiters here by their ears, and waiters elsewhere by queues."""

    def __init__(self, wakeups: CloudWakeups, queues: Queues, callbacks: Callbacks, clock: Clock) -> None:
        """Tell this process and the others."""
        self._wakeups, self._queues, self._callbacks, self._clock = wakeups, queues, callbacks, clock

    async def announce(self, model: Model, made: Changes) -> None:
        """Tell what was written. The call that wrote it has succeeded, whatever happens here."""
        topics = set(model.topics)
        for lane, after in made.lanes.items():
            before = model.lanes_read.get(lane, {})
            try:
                await self._wake_others(lane, before, after, topics)
                await self._show_the_dead(lane, model)
            except WebordinaryError as error:
                log.warning("%s: nobody could be told at once, the next sweep does: %s", lane, error)
        self._wakeups.send(topics)
        for owed in made.callbacks:
            await self._callbacks.try_now(owed)

    async def _wake_others(self, lane: Lane, before: Item, after: Item, topics: set[str]) -> None:
        if _newly_wanted(before, after):
            await self._queues.send_claim_request(lane, after["wantedFrom"] - self._clock.now())
        owner = before.get("containerId")
        if owner is None or WorkerId(owner) in self._wakeups.own_workers:
            return
        if lane_topic(lane) in topics or worker_topic(WorkerId(owner)) in topics:
            await self._queues.send_wake(lane, str(after["version"]))

    async def _show_the_dead(self, lane: Lane, model: Model) -> None:
        """Leave word in the lane's dead-letter queue, where alarms look; the job stays in the tables."""
        for event in model.events:
            if event.lane == lane and event.what is Happening.DEAD and event.job is not None:
                await self._queues.send_dead_job(lane, event.job, event.note)


def _newly_wanted(before: Item, after: Item) -> bool:
    if "wantedSince" not in after:
        return False
    return "wantedSince" not in before or bool(after["wantedFrom"] < before["wantedFrom"])
