"""The claim protocol on SQLite: each verb is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from webordinary.backends.sqlite import claiming, submitting, working
from webordinary.backends.sqlite.engine import Engine
from webordinary.claim.rows import Nothing
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, Presence, Pulse, WorkerId
from webordinary.core.job import Duplicate, Job, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Outcome


class SqliteStore:
    """See `Store`. What would find nothing to do looks first, and takes no lock."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        """Keep the protocol in a file."""
        self._engine, self._limits = engine, limits
        self._swept_to = ""

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """See `Broker.submit`."""
        return await self._engine.write(partial(submitting.submit, limits=self._limits, job=job))

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`. Runs on the connection that cannot write."""
        return self._engine.read(partial(claiming.owner, lane=lane))

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Broker.claim`."""
        limits = self._limits
        exchange = not room
        ready, retry_in = self._engine.read(
            lambda tx: claiming.ready_lanes(tx, limits, worker, 1, only, exchange=exchange)
        )
        if not ready:
            return Nothing(retry_in)
        return await self._engine.write(lambda tx: claiming.claim(tx, limits, worker, room, idle, only))

    async def next_job(self, claim: Claim) -> Delivery | Nothing:
        """See `Broker.next_job`."""
        nothing = self._engine.read(lambda tx: working.anything_to_deliver(tx, claim))
        if nothing is not None:
            return nothing
        return await self._engine.write(lambda tx: working.next_job(tx, self._limits, claim))

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Broker.keep`."""
        return await self._engine.write(lambda tx: claiming.keep(tx, self._limits, presence, claims))

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """See `Broker.settle`."""
        return await self._engine.write(
            lambda tx: working.settle(tx, self._limits, delivery, outcome, more=more)
        )

    async def release(self, claim: Claim) -> None:
        """See `Broker.release`."""
        await self._engine.write(lambda tx: claiming.release(tx, self._limits, claim))

    async def sweep(self) -> int:
        """See `Broker.sweep`. Each goes on where the one before it stopped."""
        limits, after = self._limits, self._swept_to
        found = self._engine.read(lambda tx: claiming.stranded_lanes(tx, limits, after))
        self._swept_to = found.looked_to
        if not found.lanes and not self._engine.read(claiming.has_forgotten_workers):
            return 0
        return await self._engine.write(lambda tx: claiming.sweep(tx, limits, after))
