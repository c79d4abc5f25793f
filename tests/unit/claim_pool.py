"""A pool of real workers on the memory backend and the real clock, for tests of stage 4."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.waiting import HANG_SECONDS, soon, until
from webordinary.backends.memory.open import open_memory
from webordinary.claim.worker import Shape, Worker
from webordinary.core.claim import Claim, Claimed, Delivery, Presence, Pulse, WorkerId
from webordinary.core.errors import BackendUnavailable
from webordinary.core.job import Arrival, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Failed, Outcome, Preempted
from webordinary.core.views import Happening, JobView
from webordinary.ports.broker import Broker, Recall
from webordinary.ports.handler import Stop
from webordinary.system.clock import SystemClock

T = TypeVar("T")

AMELIA, BRAVO, CORAL = Lane("amelia", "scott"), Lane("bravo", "kim"), Lane("coral", "lee")

# A lease is long enough for a machine that is busy with something else for a while.
QUICK = Limits(
    lease_seconds=5.0,
    beat_seconds=0.1,
    sweep_seconds=0.1,
    stop_grace_seconds=0.2,
    drain_grace_seconds=0.2,
    retry_first_seconds=0.02,
    exchange_grace_seconds=0.01,
    warm_seconds=0.01,
)


class Actor:
    """A handler that does what the instruction says."""

    def __init__(self) -> None:
        self.started: list[tuple[JobId, int]] = []
        self.killed: list[JobId] = []
        self.running = 0
        self.most_running = 0
        self.gate = asyncio.Event()

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        self.started.append((delivery.job.id, delivery.attempt))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._act(delivery, stop)
        except asyncio.CancelledError:
            self.killed.append(delivery.job.id)
            raise
        finally:
            self.running -= 1

    async def _act(self, delivery: Delivery, stop: Stop) -> Outcome:
        match delivery.job.instruction.split():
            case ["wait"]:
                await self.gate.wait()
            case ["sleep", seconds]:
                await asyncio.sleep(float(seconds))
            case ["polite"]:
                await stop.wait()
                return Preempted(kept="half of it")
            case ["sulky"]:
                await stop.wait()
                raise RuntimeError("I was not finished")
            case ["stuck"]:
                await self._ignore_everybody()
            case ["refuse"]:
                return Failed("it can't be done")
            case ["raise"]:
                raise ValueError("out of luck")
            case ["raise", "once"] if delivery.attempt == 1:
                raise ValueError("out of luck")
        return Done(delivery.job.instruction)

    async def _ignore_everybody(self) -> None:
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                continue


class Faulty:
    """The real broker behind a line that fails: before a call took effect, or after."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.before: set[str] = set()
        self.after: set[str] = set()
        self.held: dict[str, asyncio.Event] = {}
        self.calls: list[str] = []

    async def _through(self, verb: str, call: Callable[[], Awaitable[T]]) -> T:
        self.calls.append(verb)
        if verb in self.before:
            raise BackendUnavailable("the line is down")
        answer = await call()
        if verb in self.held:
            await self.held[verb].wait()
        if verb in self.after:
            raise BackendUnavailable("the answer was lost")
        return answer

    async def submit(self, job: Job) -> Submitted | Duplicate:
        return await self._broker.submit(job)

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
        return await self._through(
            "claim",
            lambda: self._broker.claim(worker, room=room, wait=wait, idle=idle, only=only, recall=recall),
        )

    async def next_job(self, claim: Claim, *, wait: float, recall: Recall | None = None) -> Delivery | None:
        return await self._through("next_job", lambda: self._broker.next_job(claim, wait=wait, recall=recall))

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        return await self._through("keep", lambda: self._broker.keep(presence, claims))

    async def nudged(self, worker: WorkerId, *, wait: float) -> None:
        await self._broker.nudged(worker, wait=wait)

    async def settle(self, delivery: Delivery, outcome: Outcome, *, more: bool) -> Delivery | None:
        return await self._through("settle", lambda: self._broker.settle(delivery, outcome, more=more))

    async def release(self, claim: Claim) -> None:
        await self._through("release", lambda: self._broker.release(claim))

    async def sweep(self) -> int:
        return await self._through("sweep", self._broker.sweep)


@dataclass
class Pool:
    """A store, a handler for all workers, and the workers that run."""

    limits: Limits = QUICK
    actor: Actor = field(default_factory=Actor)
    workers: dict[str, tuple[Worker, asyncio.Task[None]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = SystemClock()
        self.backend = open_memory(self.clock, self.limits)
        self.ledger, self.control = self.backend.ledger, self.backend.control
        self.broker = Faulty(self.backend.broker)

    def start(
        self, name: str = "w1", *, slots: int = 1, shape: Shape | None = None
    ) -> tuple[Worker, asyncio.Task[None]]:
        """Bring a worker up."""
        presence = Presence(WorkerId(name), slots, self.clock.now())
        worker = Worker(presence, self.broker, self.actor, self.clock, self.limits, shape)
        self.workers[name] = worker, asyncio.create_task(worker.run())
        return self.workers[name]

    async def drained(self, name: str = "w1") -> None:
        """Tell a worker to leave, and see it gone."""
        worker, task = self.workers[name]
        worker.drain()
        await soon(task)

    async def submit(
        self, instruction: str = "do", lane: Lane = AMELIA, arrival: Arrival = Arrival.QUEUE
    ) -> JobId:
        name = JobId(self.clock.unique())
        await self.backend.broker.submit(Job(name, lane, instruction, f"<{name}>", arrival))
        return name

    async def ended(self, job: JobId) -> JobView:
        """Wait for the job's end."""
        view = await self.ledger.result(job, wait=HANG_SECONDS)
        assert view.finished_at is not None, f"still {view.state}"
        return view

    async def state(self, job: JobId) -> JobState:
        return (await self.ledger.job(job)).state

    async def begun(self, job: JobId, attempt: int = 1) -> None:
        """Wait until a worker is at the job."""
        await until(lambda: (job, attempt) in self.actor.started)

    async def owned(self, lane: Lane = AMELIA) -> bool:
        return await self.backend.gatekeeper.owner(lane) is not None

    async def unowned(self, lane: Lane = AMELIA) -> None:
        """Wait until nobody holds the lane."""

        async def is_free() -> bool:
            return not await self.owned(lane)

        await until(is_free)

    async def happenings(self, lane: Lane = AMELIA) -> list[Happening]:
        return [event.what for event in await self.ledger.history(lane, limit=1000)]

    async def close(self) -> None:
        """End whatever still runs."""
        self.actor.gate.set()
        for worker, task in self.workers.values():
            worker.drain()
            task.cancel()
        await asyncio.gather(*(task for _, task in self.workers.values()), return_exceptions=True)
