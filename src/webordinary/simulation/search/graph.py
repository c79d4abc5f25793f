"""Visit every reachable state; report each broken promise with a shortest way to it.

Safety is checked on every step. Liveness is checked backwards: from every state a drained one must be
reachable by steps that are sure to come, which new mail, crashes and lost messages are not.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from webordinary.simulation.search.states import Setup, State, Step
from webordinary.simulation.search.world import World

PROGRESS_STATES = 10_000  # between two calls of `progress`


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that can be broken, and a shortest way there."""

    what: str
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a search saw. With a safety violation it ends there, so the counts are of the part it visited."""

    setup: Setup
    states: int
    transitions: int
    steps_deep: int  # the longest of all shortest ways from the start
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        """Whether no promise can be broken."""
        return not self.violations

    def __str__(self) -> str:
        """One line of numbers, then each broken promise with its steps."""
        size = f"{self.states:,} states, {self.transitions:,} transitions, {self.steps_deep} steps deep"
        lines = [f"{self.setup}: {size}, {'no violation' if self.ok else 'VIOLATED'}"]
        for violation in self.violations:
            lines.append(f"  {violation.what}")
            lines += [f"  {number:3}. {step}" for number, step in enumerate(violation.trace, start=1)]
        return "\n".join(lines)


@dataclass(slots=True)
class _Graph:
    """What is remembered of the search. A state's number is its place in the order of discovery."""

    numbers: dict[State, int] = field(default_factory=dict)
    parents: array[int] = field(default_factory=lambda: array("i"))
    drained: bytearray = field(default_factory=bytearray)
    sure: array[int] = field(default_factory=lambda: array("I"))  # where sure steps lead, state by state ...
    sure_from: array[int] = field(default_factory=lambda: array("I", [0]))  # ... and each state's part of it
    transitions: int = 0

    def add(self, state: State, parent: int, *, drained: bool) -> int:
        number = self.numbers[state] = len(self.parents)
        self.parents.append(parent)
        self.drained.append(drained)
        return number

    def ways_on(self, number: int) -> array[int]:
        return self.sure[self.sure_from[number] : self.sure_from[number + 1]]

    def way_to(self, number: int) -> list[int]:
        """The states on a shortest way to this one, without the start."""
        way = []
        while number > 0:
            way.append(number)
            number = self.parents[number]
        return way[::-1]


def explore(world: World, *, progress: Callable[[int], None] | None = None) -> Report:
    """Search everything that can happen in a world. Stops at the first broken safety promise."""
    graph = _Graph()
    bad = _search(graph, world, progress)
    violations = [_unsafe(graph, world, *bad)] if bad else _stuck(graph, world)
    states = len(graph.parents)
    deep = len(graph.way_to(states - 1))
    return Report(world.setup, states, graph.transitions, deep, tuple(violations))


def _search(graph: _Graph, world: World, progress: Callable[[int], None] | None) -> tuple[int, Step] | None:
    """Breadth first, so that the first way found to a state is a shortest one."""
    first = world.canonical(world.start())
    graph.add(first, -1, drained=True)
    frontier = deque([first])
    number = -1
    while frontier:
        state = frontier.popleft()
        number += 1
        if progress and number % PROGRESS_STATES == 0:
            progress(len(graph.parents))
        for step in world.steps(state):
            if step.broken:
                return number, step
            if step.after == state:
                continue
            graph.transitions += 1
            target = graph.numbers.get(step.after)
            if target is None:
                after = world.canonical(step.after)
                target = graph.numbers.get(after)
                if target is None:
                    target = graph.add(after, number, drained=not world.left(after))
                    frontier.append(after)
                graph.numbers[step.after] = target
            if step.sure:
                graph.sure.append(target)
        graph.sure_from.append(len(graph.sure))
    return None


def _unsafe(graph: _Graph, world: World, number: int, step: Step) -> Violation:
    state, lines = _replayed(graph, world, number)
    last = next(one for one in world.steps(state) if one.broken == step.broken)
    return Violation(step.broken, (*lines, str(last)))


def _stuck(graph: _Graph, world: World) -> list[Violation]:
    """A state where nothing moves any more explains itself; without one, the first doomed state has to do."""
    doomed = _doomed(graph)
    if not doomed:
        return []
    still = next((number for number in doomed if not graph.ways_on(number)), None)
    state, lines = _replayed(graph, world, doomed[0] if still is None else still)
    jobs = " and ".join(f"job {job}" for job in world.left(state))
    how = "everything goes round in circles" if still is None else "nothing moves any more"
    return [Violation(f"stuck: {how} and {jobs} is left behind", lines)]


def _doomed(graph: _Graph) -> list[int]:
    """The states that no drained one can be reached from, in the order of discovery.

    Going backwards, most states find a saved successor in the first pass; a few passes settle the rest.
    """
    saved = graph.drained[:]
    left = [number for number in range(len(saved)) if not saved[number]]
    before = len(left) + 1
    while len(left) < before:
        before = len(left)
        still_left = []
        for number in reversed(left):
            if any(saved[target] for target in graph.ways_on(number)):
                saved[number] = True
            else:
                still_left.append(number)
        left = still_left[::-1]
    return left


def _replayed(graph: _Graph, world: World, number: int) -> tuple[State, tuple[str, ...]]:
    """Walk to a state with names that last, so that worker A stays worker A and fences keep counting."""
    state, lines = world.start(), []
    for waypoint in graph.way_to(number):
        ahead = ((graph.numbers.get(world.canonical(one.after)), one) for one in world.steps(state))
        step = next(one for reached, one in ahead if reached == waypoint)
        state = step.after
        lines.append(str(step))
    return state, tuple(lines)
