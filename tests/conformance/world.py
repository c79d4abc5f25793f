"""What every conformance test needs: a clock that obeys, and short words for the steps of the protocol."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from webordinary.core.claim import Claim, Claimed, Delivery, Presence, Pulse, WorkerId
from webordinary.core.job import Arrival, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.views import Happening, JobView, LaneEvent, LaneView, WorkerView
from webordinary.ports.backend import Backend
from webordinary.ports.broker import Broker
from webordinary.ports.control import Control
from webordinary.ports.ledger import Ledger

AMELIA = Lane("amelia", "scott")
AMELIA_2 = Lane("amelia", "tara")
AMELIA_3 = Lane("amelia", "uma")
BRAVO = Lane("bravo", "kim")
CORAL = Lane("coral", "lee")

W1, W2, W3 = WorkerId("w1"), WorkerId("w2"), WorkerId("w3")

# With steps of 1/4 s, sums of times stay exact. Not in the past: an emulated cloud removes items whose time
# is over by its own clock.
START = float(2**31)

LIMITS = Limits(
    lease_seconds=60.0,
    beat_seconds=15.0,
    deliveries_max=3,
    retry_first_seconds=2.0,
    retry_most_seconds=120.0,
    exchange_grace_seconds=0.25,
    warm_seconds=0.5,
    patience_seconds=30.0,
    breaker_failures=4,
    breaker_seconds=600.0,
)

LONG = 300.0  # seconds a long poll would take if nobody woke it


class ManualClock:
    """A clock whose `now` moves only when told. Long polls end in real time: they use the loop's timers."""

    def __init__(self, name: str = "n") -> None:
        self._name, self._names = name, count(1)
        self._advanced = 0.0

    def now(self) -> float:
        return START + self._advanced

    def monotonic(self) -> float:
        return time.monotonic() + self._advanced

    def advance(self, seconds: float) -> None:
        self._advanced += seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def chance(self) -> float:
        return 0.5

    def unique(self) -> str:
        return f"{self._name}{next(self._names):05d}"


@dataclass(frozen=True, slots=True)
class Everything:
    """All that the ledger tells."""

    lanes: list[LaneView]
    jobs: list[JobView]
    history: list[list[LaneEvent]]
    workers: list[WorkerView]
    counts: dict[JobState, int]


async def everything(ledger: Ledger) -> Everything:
    """Read all that there is."""
    lanes = await ledger.lanes(limit=1000)
    return Everything(
        lanes=lanes,
        jobs=await ledger.jobs(limit=1000),
        history=[await ledger.history(view.lane, limit=1000) for view in lanes],
        workers=await ledger.workers(),
        counts=await ledger.counts(),
    )


@dataclass(frozen=True, slots=True)
class World:
    """A backend, its clock, and the steps that tests are made of."""

    backend: Backend
    clock: ManualClock
    limits: Limits

    @property
    def broker(self) -> Broker:
        return self.backend.broker

    @property
    def ledger(self) -> Ledger:
        return self.backend.ledger

    @property
    def control(self) -> Control:
        return self.backend.control

    def job(self, lane: Lane = AMELIA, arrival: Arrival = Arrival.QUEUE, *, reply: bool = False) -> Job:
        """A job that nobody has seen before."""
        name = self.clock.unique()
        return Job(JobId(name), lane, f"do {name}", f"<{name}@example.org>", arrival, reply)

    async def submit(
        self, lane: Lane = AMELIA, arrival: Arrival = Arrival.QUEUE, *, reply: bool = False
    ) -> JobId:
        """Submit a new job."""
        submitted = await self.broker.submit(self.job(lane, arrival, reply=reply))
        assert isinstance(submitted, Submitted)
        return submitted.job

    async def claim(
        self, worker: WorkerId = W1, *, room: int = 1, idle: Sequence[Claim] = (), only: Lane | None = None
    ) -> Claimed:
        """Claim without waiting."""
        return await self.broker.claim(worker, room=room, wait=0, idle=idle, only=only)

    async def take(self, lane: Lane = AMELIA, worker: WorkerId = W1) -> Claim:
        """Claim this waiting lane; it must be there to be had."""
        (claim,) = (await self.claim(worker, only=lane)).claims
        assert claim.lane == lane
        return claim

    async def next_job(self, claim: Claim) -> Delivery | None:
        """Ask for the head of the lane without waiting."""
        return await self.broker.next_job(claim, wait=0)

    async def deliver(self, claim: Claim) -> Delivery:
        """Take the head of the lane; there must be one."""
        delivery = await self.next_job(claim)
        assert delivery is not None
        return delivery

    async def start(
        self,
        lane: Lane = AMELIA,
        worker: WorkerId = W1,
        arrival: Arrival = Arrival.QUEUE,
        *,
        reply: bool = False,
    ) -> Delivery:
        """Submit a job to a lane that nobody owns, claim the lane and start the job."""
        await self.submit(lane, arrival, reply=reply)
        return await self.deliver(await self.take(lane, worker))

    async def beat(
        self,
        worker: WorkerId = W1,
        claims: Sequence[Claim] = (),
        *,
        draining: bool = False,
        gone: bool = False,
    ) -> Pulse:
        """Send one beat."""
        presence = Presence(worker, 4, START, "host", 1, draining, gone)
        return await self.broker.keep(presence, claims)

    def outlive_the_lease(self) -> None:
        """Let so much time pass that nobody who has not beaten since owns anything."""
        self.clock.advance(self.limits.lease_seconds)

    async def view(self, job: JobId) -> JobView:
        return await self.ledger.job(job)

    async def state(self, job: JobId) -> JobState:
        return (await self.view(job)).state

    async def waits(self, lane: Lane = AMELIA) -> bool:
        """Whether the lane has a claim request."""
        return (await self.ledger.lane(lane)).waiting_since is not None

    async def happenings(self, lane: Lane = AMELIA, job: JobId | None = None) -> list[Happening]:
        events = await self.ledger.history(lane, limit=1000, job=await self.view(job) if job else None)
        return [event.what for event in events if job in (None, event.job)]

    async def everything(self) -> Everything:
        return await everything(self.ledger)
