"""The same random calls on the reference model and on SQLite give the same answers and leave the same store.

`WEBORDINARY_EXAMPLES=5000` looks further, at new calls in every run.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.conformance.world import (
    AMELIA,
    AMELIA_2,
    BRAVO,
    LIMITS,
    START,
    W1,
    W2,
    Everything,
    ManualClock,
    everything,
)
from webordinary.backends.memory.open import open_memory
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.claim import Claim, Claimed, Delivery, Presence, WorkerId
from webordinary.core.errors import WebordinaryError
from webordinary.core.job import ENDED, MOVES, Arrival, Intent, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import Letter
from webordinary.core.outcome import Done, Failed, HandedBack, Outcome, Preempted, Retry
from webordinary.ports.backend import Backend

FEW = replace(LIMITS, deliveries_max=2, breaker_failures=2, breaker_seconds=100.0, retry_most_seconds=8.0)
MEMORY_FOLDER = Path("/dev/shm")

OUTCOMES = (Done("done"), Failed("no"), Preempted(None, "kept"), Retry("flaky"), Retry("flaky"), HandedBack())

# What leads somewhere is drawn more often than what does not.
lanes = st.sampled_from((AMELIA, AMELIA, AMELIA, AMELIA_2, BRAVO))
workers = st.sampled_from((W1, W1, W2))
moods = st.sampled_from(("here", "here", "draining", "gone"))
outcomes = st.sampled_from(OUTCOMES)
seconds = st.sampled_from((0.0, 0.0, 0.0, 0.25, 0.5, 2.0, 8.0, 30.0, 60.0, 100.0))
sessions = st.sampled_from(("", "", "one", "two"))  # conversations of a lane
intents = st.sampled_from((Intent.EDIT, Intent.EDIT, Intent.EDIT, Intent.PUBLISH))
recently = st.sampled_from((0, 0, 0, 0, 0, 1, 1, 2, 3))  # how many of the latest to pass over

# One rule draws all calls: Hypothesis leaves some rules out of each run, and most of these need each other.
CALLS: dict[str, tuple[int, st.SearchStrategy[tuple[object, ...]]]] = {
    "submit": (5, st.tuples(lanes, st.sampled_from(Arrival), st.booleans(), sessions, intents)),
    "submit_a_copy": (1, st.tuples(recently, lanes)),
    "claim": (3, st.tuples(workers, st.sampled_from((1, 1, 2, 3)), st.none() | lanes)),
    "exchange": (2, st.tuples(st.lists(recently, max_size=2), st.none() | lanes)),
    "next_job": (4, st.tuples(recently)),
    "settle": (5, st.tuples(recently, outcomes, st.booleans())),
    "keep_failing": (1, st.tuples(st.integers(1, 3))),
    "keep": (2, st.tuples(workers, st.lists(recently, max_size=3), moods)),
    "release": (2, st.tuples(recently, moods, st.booleans(), st.none() | workers)),
    "sweep": (1, st.tuples()),
    "start": (3, st.tuples(lanes, workers)),
    "lose_owner": (2, st.tuples(lanes, workers, st.booleans())),
    "take_letters": (1, st.tuples(st.sampled_from(("s1", "s2")), st.sampled_from((1, 3)))),
    "tell_of_a_letter": (1, st.tuples(recently, st.sampled_from(("sent", "postpone", "abandon")))),
    "interrupt": (1, st.tuples(lanes, st.none() | recently)),
    "evict": (1, st.tuples(lanes)),
    "bury": (1, st.tuples(lanes, workers)),
    "set_the_clock_back": (1, st.tuples(st.sampled_from((0.25, 30.0, 250.0, 7200.0)))),
    "dead_letter": (1, st.tuples(recently, st.booleans())),
}
WEIGHTED = [name for name, (weight, _) in CALLS.items() for _ in range(weight)]
DRAWN = {name: st.tuples(st.just(name), arguments) for name, (_, arguments) in CALLS.items()}
calls = st.sampled_from(WEIGHTED).flatmap(DRAWN.__getitem__)

T = TypeVar("T")
Answer = tuple[str, object]
Call = Callable[[Backend], Awaitable[object]]


class SameAsMemory(RuleBasedStateMachine):
    """Makes every call twice, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=MEMORY_FOLDER if MEMORY_FOLDER.exists() else None)
        self._runner = asyncio.Runner()
        self._clock = ManualClock()
        self._memory = open_memory(self._clock, FEW)
        self._sqlite = open_sqlite(Path(self._folder.name), self._clock, FEW, synchronous="OFF")
        self._jobs: list[Job] = []
        self._claims: list[Claim] = []
        self._deliveries: list[Delivery] = []
        self._letters: list[Letter] = []
        self._seen = Everything([], [], [], [], {})

    def teardown(self) -> None:
        self._sqlite.close()
        self._runner.close()
        self._folder.cleanup()

    # --- calling both -----------------------------------------------------------------------------

    @rule(call=calls, after=seconds)
    def call(self, call: tuple[str, tuple[Any, ...]], after: float) -> None:
        """Let some time pass and make a call."""
        name, arguments = call
        self._clock.advance(after)
        getattr(self, f"_{name}")(*arguments)

    def both(self, call: Call) -> object:
        """Make the call on both and compare all there is; give the value, or None if it was refused."""
        return self._runner.get_loop().run_until_complete(self._compared(call))

    async def _compared(self, call: Call) -> object:
        model, real = await answer(call(self._memory)), await answer(call(self._sqlite))
        assert model == real
        then, self._seen = self._seen, await everything(self._memory.ledger)
        assert self._seen == await everything(self._sqlite.ledger)
        letters = [await b.outbox.letters(limit=1000) for b in (self._memory, self._sqlite)]
        assert letters[0] == letters[1]
        for lane in self._seen.lanes:
            owners = [await b.gatekeeper.owner(lane.lane) for b in (self._memory, self._sqlite)]
            assert owners[0] == owners[1]
        check_promises(self._seen)
        check_moves(then, self._seen)
        kind, value = model
        self._remember(value)
        return value if kind == "value" else None

    def _remember(self, value: object) -> None:
        if isinstance(value, Claimed):
            self._claims += value.claims
        if isinstance(value, list):
            self._letters += value
        if isinstance(value, Delivery) and value not in self._deliveries[-1:]:
            self._deliveries.append(value)

    # --- the broker -------------------------------------------------------------------------------

    def _submit(
        self, lane: Lane, arrival: Arrival, reply: bool, session: str = "", intent: Intent = Intent.EDIT
    ) -> None:
        name = self._clock.unique()
        job = Job(JobId(name), lane, f"do {name}", f"<{name}>", arrival, reply, session, intent)
        self._jobs.append(job)
        self.both(lambda backend: backend.broker.submit(job))

    def _submit_a_copy(self, back: int, lane: Lane) -> None:
        original = latest(self._jobs, back)
        if original is not None:
            job = replace(original, id=JobId(self._clock.unique()), lane=lane)
            self._jobs.append(job)
            self.both(lambda backend: backend.broker.submit(job))

    def _claim(self, worker: WorkerId, room: int, only: Lane | None) -> None:
        self.both(lambda b: b.broker.claim(worker, room=room, wait=0, only=only))

    def _exchange(self, backs: list[int], waiting: Lane | None) -> None:
        """A worker offers what it holds, perhaps for a lane that has waited through the grace."""
        idle = [claim for back in backs if (claim := latest(self._claims, back))]
        if waiting is not None:
            self._submit(waiting, Arrival.QUEUE, reply=False)
            self._clock.advance(FEW.warm_seconds)
        worker = idle[0].worker if idle else W1
        self.both(lambda b: b.broker.claim(worker, room=0, wait=0, idle=idle))

    def _next_job(self, back: int) -> None:
        claim = latest(self._claims, back)
        if claim is not None:
            self.both(lambda backend: backend.broker.next_job(claim, wait=0))

    def _settle(self, back: int, outcome: Outcome, more: bool) -> None:
        delivery = latest(self._deliveries, back)
        if delivery is not None:
            self.both(lambda b: b.broker.settle(delivery, outcome, more=more))

    def _keep_failing(self, times: int) -> None:
        for _ in range(times):
            self._settle(0, Retry("flaky"), more=True)
            self._clock.advance(FEW.retry_most_seconds)
            self._next_job(0)

    def _keep(self, worker: WorkerId, backs: list[int], mood: str) -> None:
        claims = [claim for back in backs if (claim := latest(self._claims, back))]
        presence = Presence(worker, 2, START, "host", 1, draining=mood == "draining", gone=mood == "gone")
        self.both(lambda backend: backend.broker.keep(presence, claims))

    def _release(self, back: int, mood: str, newer: bool, successor: WorkerId | None) -> None:
        """A worker lets go; a newer job may arrive, and somebody else may be waiting for the lane."""
        claim = latest(self._claims, back)
        if claim is not None:
            self._keep(claim.worker, [back], mood)
            self.both(lambda backend: backend.broker.release(claim))
            if newer:
                self._submit(claim.lane, Arrival.INTERRUPT, reply=False)
            if successor is not None:
                self._claim(successor, 1, claim.lane)

    def _sweep(self) -> None:
        self.both(lambda backend: backend.broker.sweep())

    def _start(self, lane: Lane, worker: WorkerId) -> None:
        """A worker takes a lane and its head."""
        claimed = self.both(lambda b: b.broker.claim(worker, room=1, wait=0, only=lane))
        if isinstance(claimed, Claimed) and claimed.claims:
            self.both(lambda backend: backend.broker.next_job(claimed.claims[0], wait=0))

    def _lose_owner(self, lane: Lane, worker: WorkerId, cold: bool) -> None:
        """The leases of all run out, and a worker takes up what is stranded in a lane."""
        self._clock.advance(FEW.lease_seconds)
        self._sweep()
        self._clock.advance(FEW.warm_seconds if cold else 0.0)
        self._start(lane, worker)

    # --- the outbox -------------------------------------------------------------------------------

    def _take_letters(self, sender: str, limit: int) -> None:
        self.both(lambda b: b.outbox.take(sender, limit=limit, hold=30.0, wait=0))

    def _tell_of_a_letter(self, back: int, word: str) -> None:
        letter = latest(self._letters, back)
        if letter is not None:
            words: dict[str, Call] = {
                "sent": lambda b: b.outbox.sent(letter, f"<{letter.attempts}@us>"),
                "postpone": lambda b: b.outbox.postpone(letter, 2.0, "busy"),
                "abandon": lambda b: b.outbox.abandon(letter, "no"),
            }
            self.both(words[word])

    # --- the operator -----------------------------------------------------------------------------

    def _interrupt(self, lane: Lane, back: int | None) -> None:
        job = latest(self._jobs, back) if back is not None else None
        self.both(lambda backend: backend.control.interrupt(lane, job.id if job else None))

    def _evict(self, lane: Lane) -> None:
        self.both(lambda backend: backend.control.evict(lane))

    def _bury(self, lane: Lane, worker: WorkerId) -> None:
        self.both(lambda backend: backend.control.bury(lane, worker))

    def _set_the_clock_back(self, by: float) -> None:
        self._clock.advance(-by)
        self._sweep()

    def _dead_letter(self, back: int, redrive: bool) -> None:
        dead = [view.id for view in self._seen.jobs if view.state is JobState.DEAD]
        job = latest(dead or [job.id for job in self._jobs], back)
        if job is not None:
            self.both(lambda b: b.control.redrive(job) if redrive else b.control.drop(job))


async def answer(call: Awaitable[object]) -> Answer:
    """What came back; an error of ours is an answer, too."""
    try:
        return "value", await call
    except WebordinaryError as error:
        return type(error).__name__, str(error)


def latest(things: list[T], back: int) -> T | None:
    return things[max(len(things) - 1 - back, 0)] if things else None


def check_promises(seen: Everything) -> None:
    """Promises that need no comparison."""
    for lane in seen.lanes:
        here = [view for view in seen.jobs if view.lane == lane.lane]
        assert sum(view.state is JobState.RUNNING for view in here) <= 1, "at most one unsettled job per lane"
        if lane.depth and lane.worker is None:
            assert lane.waiting_since is not None, "work and no owner means a claim request"
    for view in seen.jobs:
        assert (view.finished_at is not None) == (view.state in ENDED)


def check_moves(before: Everything, after: Everything) -> None:
    """Every job made an allowed move or none."""
    then = {view.id: view for view in before.jobs}
    for view in after.jobs:
        was = then.get(view.id)
        if was is None:
            assert view.state is JobState.QUEUED
        elif (was.state, was.attempt, was.fence) != (view.state, view.attempt, view.fence):
            assert view.state in MOVES[was.state], f"{was.state} -> {view.state}"


EXAMPLES = os.environ.get("WEBORDINARY_EXAMPLES")

TestSameAsMemory = SameAsMemory.TestCase
TestSameAsMemory.settings = settings(
    max_examples=int(EXAMPLES or 80),
    stateful_step_count=60,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
