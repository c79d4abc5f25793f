"""Which waiting lane goes next: fair to lanes and to projects, at a cost that does not grow with them.

Beyond our patience the lane that has waited longest goes first. Before that, the project with the fewest
lanes in hand does, with the lane of it that has waited longest. A store offers its waiting lanes in the order
of an index, and only as many of them are read as are taken, and a few more.

Lanes spread over workers: for a moment a waiting lane is left to one that holds fewer and has a free slot.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from webordinary.core.claim import WorkerId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits

RESERVED_LANES_MAX = 64  # that a claim passes over; the rest of them it leaves for its next look


@dataclass(frozen=True, slots=True, order=True)
class WaitingLane:
    """A lane with work and no live owner. It waits from its claim request on, and not during a back-off."""

    since: float
    lane: Lane
    last_worker: WorkerId | None = None

    def ready_at(self, worker: WorkerId, grace: float, *, reserved_seconds: float) -> float:
        """From when on a worker may take it: who served it last goes first for a moment."""
        if self.last_worker not in (None, worker):
            grace = max(grace, reserved_seconds)
        return self.since + grace


@dataclass(frozen=True, slots=True, order=True)
class ProjectLoad:
    """A project with lanes that wait: how many others of it are in hand, and its longest wait."""

    in_hand: int
    since: float
    project: str


@dataclass(frozen=True, slots=True)
class Seats:
    """How many lanes a worker holds, and how many it could."""

    held: int
    slots: int


class WaitingLanes(Protocol):
    """The lanes that wait at one moment. Iterators read on only as far as they are asked to."""

    def longest(self, before: float) -> Iterator[WaitingLane]:
        """Lanes that wait since that moment or longer, longest first."""
        ...

    def projects(self) -> Iterator[ProjectLoad]:
        """Projects with lanes that wait by now, fewest lanes in hand first, then by their longest wait."""
        ...

    def of(self, project: str) -> Iterator[WaitingLane]:
        """A project's lanes that wait by now, longest first."""
        ...

    def next_begins(self) -> float:
        """When the next lane that is in back-off begins to wait; infinity if none is."""
        ...

    def takes_lanes(self, worker: WorkerId) -> bool:
        """Whether a worker is alive and not about to leave, so that its warm lanes are kept for it."""
        ...

    def held(self, worker: WorkerId) -> int:
        """How many lanes a worker holds."""
        ...

    def others_with_room(self, worker: WorkerId) -> Sequence[Seats]:
        """The other workers that are alive, not about to leave, and have a free slot."""
        ...

    def count(self, most: int) -> int:
        """How many lanes wait by now, counted up to so many."""
        ...


class FairChoice:
    """One worker's choice among the lanes that wait."""

    def __init__(
        self,
        waiting: WaitingLanes,
        worker: WorkerId,
        now: float,
        limits: Limits,
        *,
        grace: float = 0.0,
        spread: bool = False,
    ) -> None:
        """Choose for a worker. `grace` is how long others go first; `spread` keeps it from holding most."""
        self._waiting, self._worker, self._now, self._limits = waiting, worker, now, limits
        self._grace, self._spread = grace, spread
        self._most = 0
        self._share: int | None = None  # how many may be taken before others had a moment
        self._alive: dict[WorkerId, bool] = {}
        self._passed_over = 0
        self._soonest = math.inf
        self._chosen: dict[Lane, WaitingLane] = {}
        self._chosen_of: Counter[str] = Counter()

    def lanes(self, most: int) -> list[Lane]:
        """Choose up to so many lanes, fairest first."""
        self._most = most
        self._choose_overdue(most)
        self._choose_by_project(most)
        return list(self._chosen)

    def retry_in(self) -> float:
        """In how many seconds there may be more to choose from."""
        begins = self._waiting.next_begins() + self._grace
        return max(min(self._soonest, begins) - self._now, 0.0)

    def is_ready(self, one: WaitingLane) -> bool:
        """Whether the worker may take this lane now; if not, note from when on it may."""
        last = one.last_worker
        if last is not None and last not in self._alive:
            self._alive[last] = self._waiting.takes_lanes(last)
        reserved = self._limits.warm_seconds if last is not None and self._alive[last] else 0.0
        ready_at = one.ready_at(self._worker, self._grace, reserved_seconds=reserved)
        if self._spread and last != self._worker:
            others_go_first = one.since + self._limits.exchange_grace_seconds
            if others_go_first > max(ready_at, self._now) and len(self._chosen) >= self._own_share():
                ready_at = others_go_first
        if ready_at > self._now:
            self._passed_over += 1
            self._soonest = min(self._soonest, ready_at)
        return ready_at <= self._now

    def _own_share(self) -> int:
        """How many lanes are the worker's own if those that wait go to whoever holds fewest."""
        if self._share is None:
            held = self._waiting.held(self._worker)
            others = [] if held + self._most == 1 else self._waiting.others_with_room(self._worker)
            self._share = fair_share(Seats(held, held + self._most), others, self._waiting.count)
        return self._share

    def _choose_overdue(self, most: int) -> None:
        for one in self._waiting.longest(self._now - self._limits.patience_seconds):
            if len(self._chosen) >= most or self._passed_over >= RESERVED_LANES_MAX:
                return
            if self.is_ready(one):
                self._choose(one)

    def _choose_by_project(self, most: int) -> None:
        """Take one lane of the least loaded project, count it as in hand, and so on."""
        by_load = self._waiting.projects()
        following = next(by_load, None)
        heap: list[ProjectLoad] = []
        lanes: dict[str, Iterator[WaitingLane]] = {}
        seen: dict[str, WaitingLane] = {}  # read, and not yet its turn
        while len(self._chosen) < most and self._passed_over < RESERVED_LANES_MAX:
            while following is not None and (not heap or following <= heap[0]):
                heapq.heappush(heap, self._with_chosen(following))
                following = next(by_load, None)
            if not heap:
                return
            load = heapq.heappop(heap)
            of_project = lanes.setdefault(load.project, self._waiting.of(load.project))
            one = seen.pop(load.project, None) or self._next_ready(of_project)
            if one is None:
                continue
            if one.since > load.since:  # its longest wait is taken, or kept for somebody else
                seen[load.project] = one
                heapq.heappush(heap, ProjectLoad(load.in_hand, one.since, load.project))
                continue
            self._choose(one)
            heapq.heappush(heap, ProjectLoad(load.in_hand + 1, one.since, load.project))

    def _with_chosen(self, load: ProjectLoad) -> ProjectLoad:
        return ProjectLoad(load.in_hand + self._chosen_of[load.project], load.since, load.project)

    def _next_ready(self, lanes: Iterator[WaitingLane]) -> WaitingLane | None:
        for one in lanes:
            if self._passed_over >= RESERVED_LANES_MAX:
                return None
            if one.lane not in self._chosen and self.is_ready(one):
                return one
        return None

    def _choose(self, one: WaitingLane) -> None:
        self._chosen[one.lane] = one
        self._chosen_of[one.lane.project] += 1


def fair_share(mine: Seats, others: Sequence[Seats], waiting: Callable[[int], int]) -> int:
    """How many of the waiting lanes one worker gets if each lane goes to whoever holds fewest by then."""
    if not others:
        return mine.slots - mine.held
    pool = [mine, *others]

    def taken(level: int) -> int:
        """How many lanes it takes until everybody holds so many, or all it can."""
        return sum(max(min(one.slots, level) - one.held, 0) for one in pool)

    highest = max(one.slots for one in pool)
    lanes = waiting(taken(highest))
    level = bisect_left(range(highest), lanes, key=taken)
    return max(min(mine.slots, level) - mine.held, 0)
