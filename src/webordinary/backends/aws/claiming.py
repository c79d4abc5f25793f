"""Claiming, keeping and letting go of lanes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from webordinary.backends.aws.callbacks import Callbacks
from webordinary.backends.aws.changes import changes_of
from webordinary.backends.aws.changing import Lanes
from webordinary.backends.aws.dynamo import Where, new_token
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.model import Model
from webordinary.backends.aws.pressure import Pressure
from webordinary.backends.aws.rows import OPEN, lane_key, lane_row
from webordinary.backends.aws.tables import BUSY_INDEX, OWNER_INDEX, WANTED_INDEX
from webordinary.backends.aws.values import Item
from webordinary.backends.aws.workers import Workers
from webordinary.backends.loading import HEAD, Needs
from webordinary.claim.rows import LaneRow, Nothing
from webordinary.core.claim import Claim, Claimed, Interrupt, Presence, Pulse, WorkerId
from webordinary.core.lane import Lane

WAITING_LOOKED_AT = 100  # the oldest claim requests; more than any worker has room for
ROUNDS = 5  # of looking again after somebody else was quicker
QUICKER_SECONDS = 0.05


class Claiming:
    """The part of the broker that is about who holds which lane."""

    def __init__(self, lanes: Lanes, workers: Workers, callbacks: Callbacks, pressure: Pressure) -> None:
        """Hold lanes of an account."""
        self._lanes, self._workers, self._callbacks, self._pressure = lanes, workers, callbacks, pressure
        self._settings, self._clock, self._dynamo = lanes.settings, lanes.clock, lanes.dynamo
        # A worker's name is new with every start, so all that it may hold was taken here.
        self._taken: dict[WorkerId, set[Lane]] = {}

    # --- taking -----------------------------------------------------------------------------------

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Broker.claim`. Each lane is taken by itself; an exchange is one step."""
        for attempt in range(ROUNDS):
            model = await self._model(worker, idle, only)
            if model is None:
                return Nothing()
            answer = model.rules.claim(worker, room, idle, only)
            if only is None:
                self._pressure.saw(model.lanes.values())  # without those that are taken now
            if isinstance(answer, Nothing):
                return answer
            taken = await self._take(model, answer)
            if taken.claims:
                self._taken.setdefault(worker, set()).update(claim.lane for claim in taken.claims)
                return taken
            await self._lanes.pause(attempt)
        return Nothing(QUICKER_SECONDS)

    async def _model(self, worker: WorkerId, idle: Sequence[Claim], only: Lane | None) -> Model | None:
        """Read the lanes that wait, those that may go in exchange, and what fairness looks at."""
        waiting = [only] if only is not None else await self._waiting()
        if not waiting:
            self._pressure.saw(())
            return None
        model = await self._lanes.read(Needs(list({*waiting, *(claim.lane for claim in idle)})))
        wanted = [row for row in model.lanes.values() if row.wanted_since is not None]
        if len(wanted) <= 1 and (only is not None or not self._taken.get(worker)):
            last = {row.last_worker for row in wanted if row.last_worker is not None} - {worker}
            model.fill_workers(await self._workers.seen(list(last)))
            return model
        model.fill_workers({row.presence.worker: row for row in await self._workers.everybody()})
        await self._add_rivals(model, {row.lane.project for row in wanted})
        return model

    async def _waiting(self) -> list[Lane]:
        where = Where(self._settings.lanes, ("wanted", "yes"), WANTED_INDEX)
        keys = await self._dynamo.query(where, limit=WAITING_LOOKED_AT)
        return [Lane.from_key(key["projectKey"]) for key in keys]

    async def _add_rivals(self, model: Model, projects: set[str]) -> None:
        """Read the lanes these projects have in hand, and count those of each worker: fewest go first."""
        owned = await self._dynamo.scan(self._settings.lanes, index=OWNER_INDEX)
        model.held_by = Counter(key["containerId"] for key in owned)
        lanes = [Lane.from_key(key["projectKey"]) for key in owned]
        rivals = [lane for lane in lanes if lane.project in projects and lane not in model.lanes]
        if rivals:
            found = await self._dynamo.get_many({self._settings.lanes: [lane_key(lane) for lane in rivals]})
            model.fill(found[self._settings.lanes], (), {})

    async def _take(self, model: Model, answer: Claimed) -> Claimed:
        """Write each claim, with the one that goes for it; what somebody else took first is left out."""
        pairs = list(zip_longest(answer.claims, answer.given_up))
        written = await asyncio.gather(
            *(self._write(model, [claim.lane for claim in pair if claim is not None]) for pair in pairs)
        )
        made = [pair for pair, mine in zip(pairs, written, strict=True) if mine]
        return Claimed(
            tuple(taken for taken, _ in made), tuple(given for _, given in made if given is not None)
        )

    async def _write(self, model: Model, lanes: list[Lane]) -> bool:
        token = new_token()
        made = changes_of(model, lanes, self._settings, self._clock, token)
        try:
            await self._lanes.write(model, made, token)
        except ChangedMeanwhile:
            # An answer that was lost on its way is repeated by the client, and finds its own write.
            found = await self._dynamo.get(self._settings.lanes, lane_key(lanes[0]))
            return found is not None and found.get("writeId") == token
        return True

    # --- keeping ----------------------------------------------------------------------------------

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Broker.keep`. One call a lane renews its lease and brings what its owner must know.

        That also shows that the worker lives, so its own item is written now and then only. Who waits is
        known from the last sweep.
        """
        news = self._workers.is_news(presence) or not claims
        _, pressure, kept = await asyncio.gather(
            self._workers.show(presence) if news else _nothing(),
            self._who_waits(),
            asyncio.gather(*(self._renew(claim, presence.worker) for claim in claims)),
        )
        if not news and not any(kept):
            await self._workers.show(presence)  # all were lost: no lane shows it
        lost, interrupts = [], []
        held: dict[Lane, LaneRow] = {}
        for claim, item in zip(claims, kept, strict=True):
            if item is None:
                lost.append(claim)
                continue
            held[claim.lane] = lane_row(item, {}, 0.0)
            if item.get("interruptedJob") is not None and item["headFence"] == claim.fence:
                interrupts.append(Interrupt(claim.lane, item["interruptedJob"], item.get("interruptedBy")))
        with_work = await self._with_work(presence.worker, held)
        return Pulse(tuple(lost), tuple(interrupts), *pressure, with_work)

    async def _with_work(self, worker: WorkerId, named: dict[Lane, LaneRow]) -> int:
        """Count the lanes of a worker that have work, named in its beat or not."""
        held, now = dict(named), self._clock.now()
        unnamed = [lane for lane in self._taken.get(worker, ()) if lane not in held]
        if unnamed:
            held |= (await self._lanes.read(Needs(unnamed))).lanes
        self._taken[worker] = {lane for lane, row in held.items() if row.worker == worker}
        if not self._taken[worker]:
            del self._taken[worker]
        limits = self._lanes.limits
        return sum(
            bool(row.open) and row.worker == worker and row.owned(now, limits) for row in held.values()
        )

    async def _renew(self, claim: Claim, by: WorkerId) -> Item | None:
        """Renew a lease, unless it is no longer ours; and tell whoever waits that the job still runs."""
        now = self._clock.now()
        shows_life = {"beatAt": now} if by == claim.worker else {}
        try:
            item = await self._dynamo.update(
                self._settings.lanes,
                lane_key(claim.lane),
                put={"leaseUntil": now + self._lanes.limits.lease_seconds, **shows_life},
                add={"version": 1},
                remove=("wanted", "wantedSince"),  # asked for while this beat was late
                where={"containerId": claim.worker, "fence": claim.fence},
            )
        except ChangedMeanwhile:
            return None
        if "taskToken" in item and not await self._callbacks.heartbeat(item["taskToken"]):
            await self._forget_token(claim, item["taskToken"])
        return item

    async def _forget_token(self, claim: Claim, token: str) -> None:
        """Nobody waits for the running job any more; it goes on, and its end is told by mail only."""

        def verb(model: Model) -> None:
            row = model.lanes.get(claim.lane)
            if row is not None and row.head is not None and row.held_by(claim):
                model.dropped_tokens.add(token)

        await self._lanes.change(Needs([claim.lane], HEAD), verb)

    async def _who_waits(self) -> tuple[int, float]:
        if not self._pressure.known:
            waiting = await self._waiting()
            self._pressure.saw((await self._lanes.read(Needs(waiting))).lanes.values() if waiting else ())
        return self._pressure.current()

    # --- sweeping ---------------------------------------------------------------------------------

    async def sweep(self) -> tuple[int, bool]:
        """See `Broker.sweep`; say also whether any lane waits now.

        Looks at lanes with open jobs only, and reads each from its table.
        """
        await self._callbacks.give_those_owed()
        where = Where(self._settings.lanes, ("busy", OPEN), BUSY_INDEX)
        lanes = [Lane.from_key(key["projectKey"]) for key in await self._dynamo.query(where)]
        model = await self._lanes.read(Needs(lanes))
        self._pressure.saw(model.lanes.values())
        wanted = {lane: (row.wanted_since, row.wanted_from) for lane, row in model.lanes.items()}
        model.rules.sweep()
        found = 0
        for lane, row in model.lanes.items():
            if (row.wanted_since, row.wanted_from) != wanted[lane]:
                found += await self._lanes.change(Needs([lane]), lambda one: one.rules.sweep())
        return found, bool(found) or any(since is not None for since, _ in wanted.values())


async def _nothing() -> None:
    """Have nothing to write."""
