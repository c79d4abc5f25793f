"""One schedule: the real worker and broker, a workload and faults drawn from a seed, and the checkers."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import random
import shutil
import tempfile
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from webordinary.backends.broker import TransactionalBroker
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.store import SqliteStore
from webordinary.claim.worker import Worker
from webordinary.core.claim import Presence, WorkerId
from webordinary.core.errors import BackendUnavailable, NotAllowed, NotFound
from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.simulation.clock import SimClock
from webordinary.simulation.engine import SimEngine
from webordinary.simulation.faults import EVERY_FAULT, Fault, FaultyStore, LossyWakeups, Weather
from webordinary.simulation.handler import SimHandler
from webordinary.simulation.kernel import Kernel, Process, Stuck
from webordinary.simulation.mutants import MUTANTS, Mutant
from webordinary.simulation.probes import MemoryProbe, Probe, SqliteProbe
from webordinary.simulation.witness import Checker, Witness

BackendName = Literal["memory", "sqlite"]

FAULTS_END_SECONDS = 150.0
DRAIN_BOUND_SECONDS = 1500.0  # well under the thirty minutes of idle release, so nothing may lean on that
IDLE_WAIT_BOUND_SECONDS = 60.0
HEED_SECONDS = 30.0  # a beat, the graces of asking and killing, and a little more
LOOK_SECONDS = 5.0
ARRIVALS = (*Arrival, Arrival.QUEUE, Arrival.INTERRUPT)  # what a schedule's jobs do to those before them
SESSIONS = ("", "", "one", "two")  # the conversations of a lane; none is one, too
LIMITS = Limits(
    job_budget_seconds=120, breaker_failures=4, breaker_seconds=120, deliveries_max=4, retry_most_seconds=30
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """What to run; the same schedule always runs the same way."""

    seed: int
    backend: BackendName = "memory"
    faults: frozenset[Fault] = EVERY_FAULT
    mutant: str | None = None
    sweep: bool = True


@dataclass(slots=True)
class Report:
    """What one schedule showed."""

    seed: int
    jobs: int
    virtual_seconds: float
    steps: int
    faults: dict[Fault, int]
    violations: list[str]
    checker: str | None
    trace: str = ""


@dataclass(slots=True)
class _Shape:
    """The size of a schedule, drawn from its seed."""

    workers: int
    slots: int
    lanes: list[Lane]
    jobs: int


def run(schedule: Schedule, *, trace: bool = False) -> Report:
    """Run one schedule to its end."""
    kernel = Kernel(schedule.seed)
    with _worker_log_into(kernel), kernel, World(schedule, kernel).opened() as world:
        try:
            kernel.run(world.live(), max_virtual_seconds=10 * DRAIN_BOUND_SECONDS, max_steps=2_000_000)
        except Stuck as stuck:
            world.witness.broken(Checker.DRAINS, str(stuck))
        return world.report(trace=trace)


@contextlib.contextmanager
def _worker_log_into(kernel: Kernel) -> Iterator[None]:
    """Have the workers' log in the trace, and nowhere else."""

    class IntoTrace(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kernel.note(record.getMessage())

    log, handler = logging.getLogger("webordinary.worker"), IntoTrace()
    propagate, level, log.propagate = log.propagate, log.level, False
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
        log.setLevel(level)


@dataclass
class World:
    """Everything in one schedule."""

    schedule: Schedule
    kernel: Kernel
    weather: Weather = field(init=False)
    witness: Witness = field(init=False)
    _workers: dict[Process, Worker] = field(default_factory=dict)
    _folder: Path | None = None
    _engines: list[Engine] = field(default_factory=list)
    _memory: MemoryStore | None = None
    _started: int = 0
    _victim: tuple[Process, Fault, int] | None = None
    _idle_waits: float = 0.0
    _pending: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Draw the schedule's size and weather."""
        rng = self.kernel.rng
        projects = rng.randint(1, 3)
        lanes = [Lane(f"p{n % projects}", f"u{n}") for n in range(rng.randint(1, 5))]
        self.shape = _Shape(rng.randint(1, 3), rng.randint(1, 3), lanes, rng.randint(4, 14))
        self.mutant = MUTANTS[self.schedule.mutant] if self.schedule.mutant else Mutant()
        self.weather = Weather(random.Random(rng.random()), self.schedule.faults)
        self.wakeups = LossyWakeups(self.weather)
        self.clock = SimClock(self.kernel, "store")

    @contextlib.contextmanager
    def opened(self) -> Iterator[World]:
        """Open the store of this world, and put it away afterwards."""
        try:
            self.witness = Witness(self._probe(), self.clock.now, LIMITS, self.kernel.note)
            if not self.schedule.faults:
                self.witness.heed_seconds, self.witness.repeats = HEED_SECONDS, False
            yield self
        finally:
            for engine in self._engines:
                engine.close()
            if self._folder is not None:
                shutil.rmtree(self._folder)

    def _probe(self) -> Probe:
        if self.schedule.backend == "memory":
            self._memory = self.mutant.store(LIMITS, self.clock, self.wakeups, self.mutant.rules)
            return MemoryProbe(self._memory)
        in_memory = Path("/dev/shm")  # noqa: S108 - durability has a test of its own
        self._folder = Path(tempfile.mkdtemp(dir=in_memory if in_memory.is_dir() else None))
        return SqliteProbe(self._engine(), LIMITS)

    def _engine(self) -> Engine:
        assert self._folder is not None
        engine = SimEngine(self._folder / "store.db", self.clock, self.wakeups, lambda: self.witness)
        self._engines.append(engine)
        return engine

    def _broker(self, clock: SimClock) -> TransactionalBroker:
        """What one process sees of the store: over SQLite, through a connection of its own."""
        return TransactionalBroker(self._store(), self.wakeups, clock)

    def _store(self) -> FaultyStore:
        store = self._memory or SqliteStore(self._engine(), LIMITS, self.mutant.rules)
        return FaultyStore(store, self.kernel, self.weather, self.witness)

    # --- the story --------------------------------------------------------------------------------

    async def live(self) -> None:
        """Faults first, calm afterwards; in the calm everything must drain."""
        self.kernel.step_hook = self._strike
        for _ in range(self.shape.workers):
            self._start_worker()
        adversaries = [
            asyncio.ensure_future(one) for one in (self._adversary(), self._operator(), self._time_keeper())
        ]
        submitters = await self._submit_everything()
        await asyncio.sleep(max(FAULTS_END_SECONDS - self.kernel.time(), 0))
        for adversary in adversaries:
            adversary.cancel()
        self._calm_down()
        await self._drain(submitters)
        self.witness.check_the_end()
        self._check_surprises()

    async def _submit_everything(self) -> list[Process]:
        rng, submitters = self.kernel.rng, []
        for number in range(self.shape.jobs):
            await asyncio.sleep(rng.choice((0.0, 0.01, 1.0, 10.0, 25.0)) * rng.random())
            job = Job(
                JobId(f"job{number:02}"),
                rng.choice(self.shape.lanes),
                "do something",
                f"m{number}",
                rng.choice(ARRIVALS),
                wants_reply=True,
                session=rng.choice(SESSIONS),
            )
            submitters.append(self._start_submitter(job))
            if self.weather.strikes(Fault.DUPLICATES, 5):
                submitters.append(self._start_submitter(replace(job, id=JobId(f"dup{number:02}"))))
        return submitters

    def _start_submitter(self, job: Job) -> Process:
        clock = self._skewed(f"submitter-{job.id}")
        broker = self._broker(clock)

        async def submit() -> None:
            while True:
                try:
                    await broker.owner(job.lane)
                    await broker.submit(job)
                except BackendUnavailable:
                    await clock.sleep(0.5 + clock.chance())
                else:
                    return

        return self.kernel.spawn(f"submitter-{job.id}", submit)

    def _start_worker(self) -> None:
        self._started += 1
        name = f"worker-{self._started}"
        clock = self._skewed(name)
        broker, handler = self._broker(clock), SimHandler(self.weather)

        async def work() -> None:
            worker = Worker(
                Presence(WorkerId(name), self.shape.slots, clock.now()), broker, handler, clock, LIMITS
            )
            worker.lane_server = self.mutant.server
            if not (self.schedule.sweep and self.mutant.sweep):
                worker.sweeps = False
            self._workers[process] = worker
            await worker.run()

        process = self.kernel.spawn(name, work)

    def _skewed(self, name: str) -> SimClock:
        skew = self.weather.rng.uniform(-7200, 7200) if self.weather.strikes(Fault.SKEW, 10) else 0.0
        return SimClock(self.kernel, name, skew)

    # --- faults -----------------------------------------------------------------------------------

    async def _adversary(self) -> None:
        """Now and then choose a process, and strike it a few of its own steps later: at any await."""
        rng = self.weather.rng
        kinds = [fault for fault in (Fault.KILL, Fault.PAUSE, Fault.DRAIN) if self.weather.rates.get(fault)]
        while kinds:
            await asyncio.sleep(rng.expovariate(1 / 25))
            running = [process for process in self.kernel.loop.processes if process.state == "running"]
            victims = [process for process in running if process is not self.kernel.environment]
            if victims:
                self._victim = (rng.choice(victims), rng.choice(kinds), rng.randint(0, 30))

    async def _operator(self) -> None:
        """Now and then somebody uses the operators' verbs."""
        rng, store = self.weather.rng, self._store()
        while self.weather.rates.get(Fault.OPERATOR):
            await asyncio.sleep(rng.expovariate(1 / 20))
            self.weather.count(Fault.OPERATOR)
            with contextlib.suppress(BackendUnavailable, NotFound, NotAllowed):
                await store.operate(rng.choice(self.shape.lanes), rng.randrange(4))

    async def _time_keeper(self) -> None:
        """Now and then the store's clock is set, or its file is locked by some other program."""
        rng, rates = self.weather.rng, self.weather.rates
        kinds = [fault for fault in (Fault.CLOCK, Fault.LOCK) if rates.get(fault)]
        while kinds:
            await asyncio.sleep(rng.expovariate(1 / 40))
            fault = rng.choice(kinds)
            if fault is Fault.CLOCK:
                self.clock.skew += rng.choice((-7200.0, -30.0, 30.0, 7200.0))
                self.witness.clock_stepped()
            elif self._folder is None:
                continue
            else:
                with (self._folder / "store.db.lock").open("r+b") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    await asyncio.sleep(rng.choice((0.01, 1.0, 15.0)))
            self.weather.count(fault)
            self.kernel.note(fault)

    def _strike(self, _step: int, process: Process | None) -> None:
        if self._victim is None or process is not self._victim[0]:
            return
        victim, fault, steps_left = self._victim
        if steps_left:
            self._victim = (victim, fault, steps_left - 1)
            return
        self._victim = None
        if self.weather.calm:
            return
        self.weather.count(fault)
        self.kernel.note(f"{fault} {victim.name}")
        match fault:
            case Fault.KILL:
                self.kernel.kill(victim)
                self._later(self._bury(victim))
                self._later(self._replace(victim))
            case Fault.PAUSE:
                self.kernel.pause(victim)
                self._later(self._resume_later(victim))
            case _:
                if victim in self._workers:
                    self._workers[victim].drain()
                    self._later(self._replace(victim))

    def _later(self, what: Coroutine[None, None, None]) -> None:
        self._pending.append(self.kernel.in_environment(what))

    async def _bury(self, victim: Process) -> None:
        """Do as `up` does, which knows its dead workers: free their lanes before their leases run out."""
        store = self._store()
        for lane in self.shape.lanes if Fault.OPERATOR in self.weather.rates else ():
            await asyncio.sleep(self.weather.rng.random())
            with contextlib.suppress(BackendUnavailable, NotFound):
                await store.bury(lane, WorkerId(victim.name))

    async def _replace(self, victim: Process) -> None:
        await asyncio.sleep(self.weather.rng.uniform(0, 30))
        if victim.name.startswith("worker") and not self.weather.calm:
            self._start_worker()

    async def _resume_later(self, victim: Process) -> None:
        await asyncio.sleep(self.weather.rng.choice((2.0, 70.0, 140.0)))
        self.kernel.note(f"resume {victim.name}")
        self.kernel.resume(victim)

    def _calm_down(self) -> None:
        self.kernel.note("calm")
        self.weather.calm = True
        for process in self.kernel.loop.processes:
            self.kernel.resume(process)
        self._start_worker()  # one healthy worker is all that draining may need

    # --- the end ----------------------------------------------------------------------------------

    async def _drain(self, submitters: list[Process]) -> None:
        deadline = self.kernel.time() + DRAIN_BOUND_SECONDS
        while not (all(s.state in ("ended", "killed") for s in submitters) and self.witness.all_ended()):
            if self.kernel.time() > deadline:
                unfinished = ", ".join(self.witness.unfinished())
                self.witness.broken(
                    Checker.DRAINS, f"after {DRAIN_BOUND_SECONDS:g} calm seconds: {unfinished}"
                )
                return
            await asyncio.sleep(LOOK_SECONDS)
            self._check_idle_waits()

    def _check_idle_waits(self) -> None:
        """Checker 6, in the calm: does a lane wait although somebody could take it?"""
        able = any(
            process.state == "running" and any(worker.capacity()) for process, worker in self._workers.items()
        )
        waits = self.witness.probe.longest_wait() > IDLE_WAIT_BOUND_SECONDS
        self._idle_waits = self._idle_waits + LOOK_SECONDS if able and waits else 0.0
        if self._idle_waits > IDLE_WAIT_BOUND_SECONDS:
            self.witness.broken(Checker.NO_IDLE_WAIT, f"for {self._idle_waits:g} calm seconds")
            self._idle_waits = float("-inf")

    def _check_surprises(self) -> None:
        for process in self.kernel.loop.processes:
            if process.failed is not None:
                self.witness.broken(Checker.NO_SURPRISE, f"{process.name} failed: {process.failed!r}")
        if getattr(self._memory, "dead_requests", 0):
            self.witness.broken(Checker.NOTHING_LOST, "a claim request ended in the dead letters")

    def report(self, *, trace: bool) -> Report:
        """Say what this schedule showed."""
        violations = self.witness.violations
        return Report(
            seed=self.schedule.seed,
            jobs=len(self.witness.jobs),
            virtual_seconds=self.kernel.time(),
            steps=self.kernel.loop.step,
            faults=dict(self.weather.counts),
            violations=[str(violation) for violation in violations],
            checker=violations[0].checker.value if violations else None,
            trace=self.kernel.render_trace().replace(str(self._folder or "(no home)"), "(home)")
            if trace or violations
            else "",
        )
