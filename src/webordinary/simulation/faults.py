"""Bad luck, drawn from the seed: which faults a schedule has, and the store seen through them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from webordinary.backends.loading import RuleStore
from webordinary.backends.wakeups import LocalWakeups
from webordinary.claim.rows import Nothing
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, Presence, Pulse, WorkerId
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Duplicate, Job, Submitted
from webordinary.core.lane import Lane
from webordinary.core.outcome import Outcome
from webordinary.simulation.engine import EFFECT, Effect
from webordinary.simulation.kernel import Kernel
from webordinary.simulation.witness import Witness

T = TypeVar("T")


class Fault(StrEnum):
    """What can go wrong."""

    KILL = "kill"  # kill -9 of a worker or submitter at any await
    PAUSE = "pause"  # SIGSTOP, often past the lease, then SIGCONT
    DRAIN = "drain"  # SIGTERM in the middle of work
    BEFORE = "before"  # a call fails before it took effect
    AFTER = "after"  # a call fails after it took effect
    SLOW = "slow"  # a request or an answer is under way for long, even past its sender's death
    HINTS = "hints"  # wake-ups get lost
    DUPLICATES = "duplicates"  # the same mail is delivered again
    SKEW = "skew"  # a worker's wall clock is wrong
    RESTART = "restart"  # the store is away for a while
    STUCK = "stuck"  # a job hangs and ignores being asked or cancelled
    LOCK = "lock"  # another program holds the store's lock for a while (SQLite only)
    CLOCK = "clock"  # the store's clock is set back or forth by hours
    OPERATOR = "operator"  # somebody stops jobs, takes lanes away, redrives and drops dead jobs


EVERY_FAULT = frozenset(Fault)


@dataclass(slots=True)
class Weather:
    """The faults of one schedule. `calm` ends them all."""

    rng: random.Random
    kinds: frozenset[Fault]
    calm: bool = False
    down_until: float = 0.0
    counts: dict[Fault, int] = field(default_factory=dict)
    rates: dict[Fault, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Draw how likely each fault is in this schedule; many schedules lack some of them."""
        for fault in sorted(self.kinds):
            self.rates[fault] = self.rng.choice((0.0, 0.01, 0.03, 0.1))

    def strikes(self, fault: Fault, factor: float = 1.0) -> bool:
        """Draw whether a fault happens here and now."""
        rate = self.rates.get(fault, 0.0) * factor
        if self.calm or not rate or self.rng.random() >= rate:
            return False
        self.count(fault)
        return True

    def count(self, fault: Fault) -> None:
        """Remember that a fault was injected."""
        self.counts[fault] = self.counts.get(fault, 0) + 1


class LossyWakeups(LocalWakeups):
    """Wake-ups are hints; these may get lost."""

    def __init__(self, weather: Weather) -> None:
        """Lose what the weather says."""
        super().__init__()
        self._weather = weather

    def send(self, topics: Iterable[str]) -> None:
        """Wake, unless it gets lost."""
        super().send(topic for topic in topics if not self._weather.strikes(Fault.HINTS, 3))


class FaultyStore:
    """A store at the other end of a bad line. The witness sees every effect at the moment it happens."""

    def __init__(self, store: RuleStore, kernel: Kernel, weather: Weather, witness: Witness) -> None:
        """Put a bad line before a store."""
        self._store, self._kernel, self._weather, self._witness = store, kernel, weather, witness

    async def submit(self, job: Job) -> Submitted | Duplicate:
        """See `Store.submit`."""
        return await self._call(
            lambda: self._store.submit(job), lambda answer: self._witness.submitted(job, answer)
        )

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Store.owner`."""

        async def look() -> Ownership | None:
            before = self._witness.probe.fingerprint()
            answer = await self._store.owner(lane)
            self._witness.gatekeeper_looked(before)
            return answer

        return await self._call(look, lambda _: None)

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Store.claim`."""

        async def take() -> Claimed | Nothing:
            before = self._witness.probe.pool(worker)
            answer = await self._store.claim(worker, room, idle, only)
            if room and isinstance(answer, Claimed):
                self._witness.took(worker, before, answer)
            return answer

        return await self._call(take, self._witness.claimed)

    async def next_job(self, claim: Claim) -> Delivery | Nothing:
        """See `Store.next_job`."""
        return await self._call(
            lambda: self._store.next_job(claim), lambda answer: self._witness.delivered(claim, answer)
        )

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        """See `Store.keep`."""
        return await self._call(
            lambda: self._store.keep(presence, claims), lambda answer: self._witness.kept(claims, answer)
        )

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | Nothing:
        """See `Store.settle`."""
        return await self._call(
            lambda: self._store.settle(delivery, outcome, more=more),
            lambda answer: self._witness.settled(delivery, outcome, answer),
        )

    async def release(self, claim: Claim) -> None:
        """See `Store.release`."""
        return await self._call(lambda: self._store.release(claim), lambda _: self._witness.released(claim))

    async def sweep(self) -> int:
        """See `Store.sweep`."""
        return await self._call(self._store.sweep, lambda _: None)

    async def bury(self, lane: Lane, worker: WorkerId) -> None:
        """See `Control.bury`."""
        witness = self._witness
        await self._call(
            lambda: self._store.bury(lane, worker), lambda held: witness.evicted(lane) if held else None
        )

    async def operate(self, lane: Lane, verb: int) -> None:
        """Let an operator do something to a lane, or to a dead job of it."""
        store, witness = self._store, self._witness
        dead = witness.dead_job(lane)
        if verb == 0:
            await self._call(lambda: store.evict(lane), lambda _: witness.evicted(lane))
        elif verb == 1:
            await self._call(lambda: store.interrupt(lane), lambda job: witness.stopped(lane, job))
        elif dead is not None:
            redrives = verb == 2  # noqa: PLR2004 - four verbs, the last two for dead jobs
            move = store.redrive if redrives else store.drop
            await self._call(lambda: move(dead), lambda _: witness.moved(lane, dead, redriven=redrives))

    async def _call(self, verb: Callable[[], Awaitable[T]], saw: Callable[[T], None]) -> T:
        """One call over the bad line. A slow request arrives even if its sender is dead by then."""
        if self._weather.strikes(Fault.SLOW):
            answer = await self._kernel.in_environment(self._arrive_late(verb, saw))
        else:
            answer = await self._arrive(verb, saw)
        if self._weather.strikes(Fault.AFTER):
            raise BackendUnavailable("the answer got lost")
        return answer

    async def _arrive_late(self, verb: Callable[[], Awaitable[T]], saw: Callable[[T], None]) -> T:
        await self._travel()
        answer = await self._arrive(verb, saw)
        await self._travel()
        return answer

    async def _travel(self) -> None:
        rng = self._weather.rng
        await asyncio.sleep(rng.choice((0.01, 0.5, 3.0, 20.0, 90.0)) * rng.random())

    async def _arrive(self, verb: Callable[[], Awaitable[T]], saw: Callable[[T], None]) -> T:
        await asyncio.sleep(0.0005)
        if self._weather.strikes(Fault.BEFORE) or self._away():
            raise BackendUnavailable("the store did not answer")
        effect = Effect(saw)
        token = EFFECT.set(effect)
        try:
            answer = await verb()
        finally:
            EFFECT.reset(token)
        effect.took(answer)  # unless a commit showed it before
        return answer

    def _away(self) -> bool:
        weather = self._weather
        if weather.strikes(Fault.RESTART, 0.05):
            weather.down_until = self._kernel.time() + weather.rng.choice((0.2, 5.0, 40.0))
        return not weather.calm and self._kernel.time() < weather.down_until
