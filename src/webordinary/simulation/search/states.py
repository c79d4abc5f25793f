"""How much can happen, and everything that there is at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise, permutations
from typing import NamedTuple

from webordinary.core.job import Arrival, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.simulation.search.calls import Answer, Call, Names
from webordinary.simulation.search.rows import GONE, LEASE, NOBODY, Clock, RowStore


@dataclass(frozen=True, slots=True)
class Setup:
    """How much can happen. Pauses and lost answers are not counted, all else that goes wrong is."""

    jobs: int = 2
    workers: int = 2
    lanes: int = 1
    slots: int = 1
    arrival: Arrival = Arrival.QUEUE
    outcomes: tuple[str, ...] = ("done",)
    deliveries: int = 2
    breaker: int = 0  # failures that park a lane; 0: it never is
    crashes: int = 1
    strays: int = 0  # requests that arrive after their sender gave them up
    operator: int = 0  # calls of an operator
    clock_steps: int = 0  # times that the store's clock is set back
    steps: bool = False  # the store has no transactions
    pauses: bool = True  # time may pass while a worker does nothing
    losses: bool = True  # answers may be lost
    sweep: bool = True
    releases: bool = True  # idle owners may let go by themselves
    polls: bool = True  # who waits asks again now and then; else only when woken
    warm: bool = False  # a lane's last worker goes first for a moment

    @property
    def limits(self) -> Limits:
        """A second is a tick; what takes less than one is over with the next."""
        return Limits(
            lease_seconds=LEASE,
            beat_seconds=0.5,
            retry_first_seconds=1.0,
            retry_most_seconds=1.0,
            breaker_seconds=1.0,
            breaker_failures=self.breaker or 1000,
            deliveries_max=self.deliveries,
            patience_seconds=0.75,
        )

    @property
    def names(self) -> Names:
        """The lanes, and jobs for them in turn."""
        lanes = [Lane(f"p{number}", "u") for number in range(self.lanes)]
        jobs = []
        for number in range(self.jobs):
            arrival = self.arrival if number else Arrival.QUEUE
            lane = lanes[number % self.lanes]
            jobs.append(
                Job(JobId(str(number + 1)), lane, "change it", f"m{number}", arrival, wants_reply=True)
            )
        return Names(lanes, jobs)

    def __str__(self) -> str:
        """Say its size, and what differs from the plainest world."""
        size = f"{self.jobs} jobs, {self.workers} workers, {self.crashes} crashes"
        own = [name for name in self.__slots__[2:] if getattr(self, name) != getattr(PLAIN, name)]
        return ", ".join([size, *(f"{name}={getattr(self, name)}" for name in own if name != "crashes")])


PLAIN = Setup()
WORLDS = {
    "transactions": PLAIN,
    "steps": Setup(jobs=1, steps=True),
    "late requests": Setup(jobs=1, crashes=0, strays=1),
    "interrupt": Setup(arrival=Arrival.INTERRUPT),
    "replace": Setup(arrival=Arrival.REPLACE_PENDING),
    "failures": Setup(jobs=1, outcomes=("done", "failed", "retry"), breaker=2),
    "operator": Setup(jobs=1, crashes=0, outcomes=("done", "retry"), operator=2),
    "operator after a crash": Setup(jobs=1, operator=1),
    "exchange": Setup(workers=1, lanes=2, crashes=0),
    "two lanes": Setup(lanes=2, pauses=False, losses=False),
    "clock": Setup(jobs=1, clock_steps=1),
    "warm": Setup(jobs=1, crashes=0, warm=True),
    "wake-ups": Setup(crashes=0, pauses=False, losses=False, sweep=False, polls=False),
    "wake-ups in steps": Setup(crashes=0, pauses=False, losses=False, sweep=False, polls=False, steps=True),
}


class Held(NamedTuple):
    """A claim as its worker knows it; it may be out of date."""

    lane: int
    fence: int
    job: int = -1
    attempt: int = 0
    stop: bool = False
    asleep: int = 0


class Worker(NamedTuple):
    """What a worker knows, and the call it has begun."""

    claims: tuple[Held, ...] = ()
    pending: tuple[Call, ...] = ()
    late: int = 0  # ticks since it was decided
    asleep: int = 0


AWAKE, DOZES, SLEEPS = 0, 1, 2  # who dozes wakes with the next tick


class State(NamedTuple):
    """Everything there is at one moment. The rows and who knows what, by number."""

    rows: int
    workers: tuple[Worker, ...]
    submitter: Worker
    sent: int = 0
    stray: tuple[tuple[int, Call], ...] = ()
    crashes: int = 0
    strays: int = 0
    operator: int = 0
    clock_steps: int = 0

    def with_worker(self, who: int, worker: Worker) -> State:
        """A worker knows something else."""
        workers = self.workers
        return State(self[0], (*workers[:who], worker, *workers[who + 1 :]), *self[2:])

    def with_pending(self, who: int, call: Call | None) -> State:
        """A worker, or the submitter, has begun a call, or ended it."""
        pending = () if call is None else (call,)
        if who == NOBODY:
            return self._replace(submitter=Worker(pending=pending))
        return self.with_worker(who, self.workers[who]._replace(pending=pending, late=0))


class Step(NamedTuple):
    """One thing that can happen, and the state after it."""

    who: int
    call: Call | Clock | None
    how: str
    after: State
    sure: bool = True  # a lane may count on it: neither new mail nor bad luck
    broken: str = ""
    answer: Answer = None

    def __str__(self) -> str:
        """Say it in a line of a trace."""
        who = {NOBODY: "", GONE: "a dead worker:"}.get(self.who, f"worker {'ABCDEFGH'[self.who]}:")
        what = self.call.value if isinstance(self.call, Clock) else str(self.call or "")
        answer = "" if self.answer is None else f": {self.answer}"
        return " ".join(part for part in (who, what, self.how) if part) + answer


def canonical(state: State, store: RowStore) -> State:
    """The one state that stands for all that differ only in the names of workers and fences."""
    state = _ranked_fences(state, store)
    workers = state.workers
    first = tuple(sorted(range(len(workers)), key=workers.__getitem__))
    if all(workers[a] != workers[b] for a, b in pairwise(first)):
        return _reordered(state, store, first)
    best = [workers[one] for one in first]
    alike = [one for one in permutations(first) if [workers[place] for place in one] == best]
    return min(_reordered(state, store, order) for order in alike)


def _reordered(state: State, store: RowStore, order: tuple[int, ...]) -> State:
    everybody = tuple(range(len(order)))
    if order == everybody:
        return state
    new = {old: place for place, old in enumerate(order)}
    names = tuple(new[one] for one in everybody)
    return state._replace(
        rows=store.renamed(state.rows, names),
        workers=tuple(state.workers[one] for one in order),
        stray=tuple((new.get(who, who), call) for who, call in state.stray),
    )


def _ranked_fences(state: State, store: RowStore) -> State:
    """Fences are only compared with each other, and a new one is larger than all."""
    known = [{0, lane.fence if lane else 0} for lane in store[state.rows].lanes]
    for worker in state.workers:
        for held in worker.claims:
            known[held.lane].add(held.fence)
    for call in chain(*(worker.pending for worker in state.workers), (call for _, call in state.stray)):
        for lane, fence in call.fences():
            known[lane].add(fence)
    ranks = tuple(tuple(sorted(one)) for one in known)
    rows = store.renamed(state.rows, tuple(range(len(state.workers))), ranks)
    if all(one[-1] == len(one) - 1 for one in ranks):
        return state if rows == state.rows else state._replace(rows=rows)
    workers = tuple(
        worker._replace(
            claims=tuple(one._replace(fence=ranks[one.lane].index(one.fence)) for one in worker.claims),
            pending=tuple(call.renamed(ranks) for call in worker.pending),
        )
        for worker in state.workers
    )
    stray = tuple((who, call.renamed(ranks)) for who, call in state.stray)
    return state._replace(rows=rows, workers=workers, stray=stray)
