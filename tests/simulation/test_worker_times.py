"""The worker's timers to the second, on virtual time: whose job they stop, and from when on they count."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

import pytest

from webordinary.backends.broker import TransactionalBroker
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.wakeups import LocalWakeups
from webordinary.claim.rows import Nothing
from webordinary.claim.worker import Worker
from webordinary.core.claim import Claim, Claimed, Delivery, Presence, Pulse, WorkerId
from webordinary.core.job import Arrival, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.outcome import Done, Outcome, Preempted
from webordinary.ports.handler import Stop
from webordinary.simulation.clock import SimClock
from webordinary.simulation.kernel import Kernel

LANE = Lane("shop", "amelia")
LIMITS = Limits()
NEVER = 100_000.0
BEAT, LEASE, GRACE = LIMITS.beat_seconds, LIMITS.lease_seconds, LIMITS.stop_grace_seconds


class LateStore(MemoryStore):
    """Carries everything out at once; the answers to beats and claims may be long under way."""

    def __init__(self, kernel: Kernel, wakeups: LocalWakeups) -> None:
        super().__init__(LIMITS, SimClock(kernel, "store"), wakeups)
        self.keeps_take: list[float] = []  # the next ones; then no time
        self.claims_take: list[float] = []

    async def keep(self, presence: Presence, claims: Sequence[Claim]) -> Pulse:
        answer = await super().keep(presence, claims)
        await asyncio.sleep(self.keeps_take.pop(0) if self.keeps_take else 0)
        return answer

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        answer = await super().claim(worker, room, idle, only)
        await asyncio.sleep(self.claims_take.pop(0) if self.claims_take else 0)
        return answer


@dataclass
class Scene:
    """A lane, one worker, jobs that take as many seconds as their instruction says."""

    kernel: Kernel
    wakeups: LocalWakeups = field(default_factory=LocalWakeups)
    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = LateStore(self.kernel, self.wakeups)

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        name = delivery.job.id
        self.began[name] = self.kernel.time()
        try:
            async with asyncio.timeout(float(delivery.job.instruction)):
                await stop.wait()
        except TimeoutError:
            return Done()
        except asyncio.CancelledError:
            self.killed.append(name)
            raise
        else:
            return Preempted(kept="half of it")
        finally:
            self.ended[name] = self.kernel.time()

    def start(self) -> None:
        clock = SimClock(self.kernel, "worker")
        broker = TransactionalBroker(self.store, self.wakeups, clock)
        worker = Worker(Presence(WorkerId("w"), 1, 0), broker, self, clock, LIMITS)
        self.kernel.spawn("worker", worker.run)

    async def submit(self, name: str, seconds: float, arrival: Arrival = Arrival.QUEUE) -> None:
        job = Job(JobId(name), LANE, str(seconds), name, arrival)
        await self.store.submit(job)

    def state(self, name: str) -> JobState:
        return self.store.rows.jobs[JobId(name)].state

    def play(self, story: Callable[[], Coroutine[None, None, None]]) -> None:
        self.kernel.run(story())


@pytest.fixture
def scene(kernel: Kernel) -> Scene:
    return Scene(kernel)


def test_the_watchdog_counts_from_before_the_beat_was_sent(scene: Scene) -> None:
    """An answer that was long under way must not make a lease longer than the store knows it."""

    async def story() -> None:
        await scene.submit("job", 1000)
        scene.start()
        await asyncio.sleep(1)
        claimed_at = scene.began["job"]
        scene.store.keeps_take = [40.0, NEVER]
        await asyncio.sleep(2 * LEASE)
        asked_by = claimed_at + BEAT + 1  # the late one
        assert scene.killed == ["job"]
        assert scene.ended["job"] <= asked_by + LEASE
        assert scene.ended["job"] > claimed_at + LEASE, "the late answer did renew it"

    scene.play(story)


def test_a_claims_lease_counts_from_before_it_was_asked_for(scene: Scene) -> None:
    """The answer to the claim itself may be late, too."""

    async def story() -> None:
        await scene.submit("job", 1000)
        scene.store.keeps_take, scene.store.claims_take = [0.0, NEVER], [50.0]
        scene.start()
        await asyncio.sleep(52)
        assert 50 <= scene.began["job"] < 52
        await asyncio.sleep(LEASE)
        assert scene.ended["job"] <= LEASE + 1

    scene.play(story)


def test_the_timer_that_forces_a_stop_does_not_hit_the_next_job(scene: Scene) -> None:
    """The job that was asked stops in time; the one after it was asked nothing."""

    async def story() -> None:
        await scene.submit("first", 1000)
        scene.start()
        await asyncio.sleep(1)
        await scene.submit("second", 10 * GRACE, Arrival.INTERRUPT)
        await asyncio.sleep(20 * GRACE)
        assert (scene.state("first"), scene.state("second")) == (JobState.PREEMPTED, JobState.DONE)
        assert scene.store.rows.jobs[JobId("second")].attempt == 1
        assert scene.killed == []

    scene.play(story)


def test_a_job_after_a_stopped_one_is_not_stopped_and_can_be(scene: Scene) -> None:
    """A stop is for one job: the next starts without it, and is stopped as quickly when its turn comes."""

    async def story() -> None:
        await scene.submit("first", 1000)
        scene.start()
        await asyncio.sleep(1)
        await scene.submit("second", 1000, Arrival.INTERRUPT)
        await asyncio.sleep(BEAT)
        assert "second" not in scene.ended
        stopped_at = scene.kernel.time()
        await scene.submit("third", 3, Arrival.INTERRUPT)
        await asyncio.sleep(2 * BEAT)
        assert scene.ended["second"] <= stopped_at + GRACE
        states = [scene.state(name) for name in ("first", "second", "third")]
        assert states == [JobState.PREEMPTED, JobState.PREEMPTED, JobState.DONE]

    scene.play(story)
