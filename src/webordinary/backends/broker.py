"""What a backend with transactions offers, and the broker that adds waiting to it.

Each verb of a `Store` is one transaction that never waits; `TransactionalBroker` turns them into the broker's
long polls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from webordinary.backends.wakeups import Subscription, Wakeups
from webordinary.claim.rows import CLAIMS, Nothing, job_topic, lane_topic, worker_topic
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import ENDED, Duplicate, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.core.outcome import Outcome
from webordinary.core.views import JobView
from webordinary.ports.broker import Recall
from webordinary.ports.clock import Clock

T = TypeVar("T")

SHORTEST_POLL_SECONDS = 0.001


async def poll(
    wakeups: Wakeups,
    clock: Clock,
    topic: str,
    wait: float,
    ask: Callable[[], Awaitable[T | Nothing]],
    recall: Recall | None = None,
) -> T | None:
    """Ask until there is something or the seconds are over. No wake-up falls between asking and sleeping."""
    deadline = clock.monotonic() + wait
    while True:
        ear = wakeups.listen(topic)
        if recall is not None:
            recall.attach(ear.wake)
        try:
            answer = await ask()
            if not isinstance(answer, Nothing):
                return answer
            left = deadline - clock.monotonic()
            if left <= 0 or (recall is not None and recall.called):
                return None
            await ear.wait(max(min(left, answer.retry_in), SHORTEST_POLL_SECONDS))
        finally:
            ear.close()


async def poll_result(
    wakeups: Wakeups, clock: Clock, job: JobId, wait: float, look: Callable[[JobId], Awaitable[JobView]]
) -> JobView:
    """Wait for a job to end; when the seconds are over, show it as it is."""
    whole = (await look(job)).id  # people give the beginning of an id; wake-ups carry the whole

    async def ended() -> JobView | Nothing:
        view = await look(whole)
        return view if view.state in ENDED else Nothing()

    return await poll(wakeups, clock, job_topic(whole), wait, ended) or await look(whole)


class Store(Protocol):
    """The broker's promises without the waiting: each verb is one transaction."""

    async def submit(self, job: Job) -> Submitted | Duplicate: ...
    async def owner(self, lane: Lane) -> Ownership | None: ...
    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing: ...
    async def next_job(self, claim: Claim) -> Delivery | Nothing: ...
    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse: ...
    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing: ...
    async def release(self, claim: Claim) -> None: ...
    async def sweep(self) -> int: ...


class TransactionalBroker:
    """The broker (and gatekeeper) of every backend that has transactions."""

    def __init__(self, store: Store, wakeups: Wakeups, clock: Clock) -> None:
        """Put waiting on top of a store."""
        self._store, self._wakeups, self._clock = store, wakeups, clock
        self._nudges: dict[WorkerId, Subscription] = {}

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """See `Broker.submit`."""
        return await self._store.submit(job)

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`."""
        return await self._store.owner(lane)

    async def claim(
        self,
        worker: WorkerId,
        *,
        room: int,
        wait: float,
        idle: Sequence[Claim] = (),
        only: Lane | None = None,
        recall: Recall | None = None,
    ) -> Claimed:
        """See `Broker.claim`."""
        claimed = await poll(
            self._wakeups,
            self._clock,
            CLAIMS,
            wait,
            lambda: self._store.claim(worker, room, idle, only),
            recall,
        )
        return claimed or Claimed()

    async def next_job(self, claim: Claim, *, wait: float, recall: Recall | None = None) -> Delivery | None:
        """See `Broker.next_job`."""
        topic = lane_topic(claim.lane)
        return await poll(
            self._wakeups, self._clock, topic, wait, lambda: self._store.next_job(claim), recall
        )

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Broker.keep`."""
        if presence.worker not in self._nudges:
            self._nudges[presence.worker] = self._wakeups.listen(worker_topic(presence.worker))
        return await self._store.keep(presence, claims)

    async def nudged(self, worker: WorkerId, *, wait: float) -> None:
        """See `Broker.nudged`. The ear stays open between beats, so that no nudge falls in between."""
        topic = worker_topic(worker)
        ear = self._nudges.get(worker) or self._wakeups.listen(topic)
        try:
            await ear.wait(wait)
        finally:
            ear.close()
            self._nudges[worker] = self._wakeups.listen(topic)

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | None:
        """See `Broker.settle`."""
        following = await self._store.settle(delivery, outcome, more=more)
        return following if isinstance(following, Delivery) else None

    async def release(self, claim: Claim) -> None:
        """See `Broker.release`."""
        await self._store.release(claim)

    async def sweep(self) -> int:
        """See `Broker.sweep`."""
        return await self._store.sweep()
