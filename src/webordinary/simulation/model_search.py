"""Visit every reachable state of the model; report each broken promise with a shortest way to it.

Safety is checked on every step. Liveness is checked backwards: from every state a drained one must be
reachable by steps that are sure to come, which new mail, crashes, pauses and duplicates are not.
"""

from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from webordinary.simulation.model import Setup, State, Step, canonical, packed, start
from webordinary.simulation.model_world import steps

PROGRESS_STATES = 10_000
"""States between two calls of `progress`."""

Progress = Callable[[int], None]
"""Told from time to time how many states have been found."""


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
    steps_deep: int
    """The length of the longest of all shortest ways from the start."""
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        return not self.violations


@dataclass(slots=True)
class _Graph:
    """What is remembered of the search. A state's number is its place in the order of discovery."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    parents: "array[int]" = field(default_factory=lambda: array("i"))
    drained: bytearray = field(default_factory=bytearray)
    sure: "array[int]" = field(default_factory=lambda: array("I"))
    """The states that sure steps lead to, for one state after the other ..."""
    sure_from: "array[int]" = field(default_factory=lambda: array("I", [0]))
    """... and where each state's part of it begins."""
    transitions: int = 0

    def add(self, key: bytes, state: State, parent: int) -> int:
        number = self.numbers[key] = len(self.numbers)
        self.parents.append(parent)
        self.drained.append(state.drained)
        return number

    def ways_on(self, number: int) -> "array[int]":
        return self.sure[self.sure_from[number] : self.sure_from[number + 1]]

    def way_to(self, number: int) -> list[int]:
        """The states on a shortest way to this one, without the start."""
        way = []
        while number > 0:
            way.append(number)
            number = self.parents[number]
        return way[::-1]


def explore(setup: Setup, *, progress: Progress | None = None) -> Report:
    """Search everything `setup` allows. Stops at the first broken safety promise."""
    graph = _Graph()
    bad = _search(graph, setup, progress)
    violations = [_unsafe(graph, setup, *bad)] if bad else _stuck(graph, setup)
    states = len(graph.numbers)
    return Report(setup, states, graph.transitions, len(graph.way_to(states - 1)), tuple(violations))


def _search(graph: _Graph, setup: Setup, progress: Progress | None) -> tuple[int, Step] | None:
    """Breadth first, so that the first way found to a state is a shortest one."""
    first = canonical(start(setup), setup)
    graph.add(packed(first), first, -1)
    frontier = deque([first])
    number = -1
    while frontier:
        state = frontier.popleft()
        number += 1
        if progress and number % PROGRESS_STATES == 0:
            progress(len(graph.numbers))
        for step in steps(state, setup):
            graph.transitions += 1
            if step.broken:
                return number, step
            after = canonical(step.after, setup)
            key = packed(after)
            target = graph.numbers.get(key)
            if target is None:
                target = graph.add(key, after, number)
                frontier.append(after)
            if step.kind.sure:
                graph.sure.append(target)
        graph.sure_from.append(len(graph.sure))
    return None


def _unsafe(graph: _Graph, setup: Setup, number: int, step: Step) -> Violation:
    state, lines = _replayed(graph, setup, number)
    last = next(one for one in steps(state, setup) if one.broken == step.broken)
    return Violation(step.broken, (*lines, _line(last)))


def _stuck(graph: _Graph, setup: Setup) -> list[Violation]:
    """A state where nothing moves any more explains itself; without one, the first doomed state has to do."""
    doomed = _doomed(graph)
    if not doomed:
        return []
    still = next((number for number in doomed if not graph.ways_on(number)), None)
    state, lines = _replayed(graph, setup, doomed[0] if still is None else still)
    jobs = " and ".join(f"job {job}" for job in range(state.accepted + 1, state.sent + 1))
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


def _replayed(graph: _Graph, setup: Setup, number: int) -> tuple[State, tuple[str, ...]]:
    """Walk to a state with names that last, so that worker A stays worker A and fences keep counting."""
    state, lines = start(setup), []
    for waypoint in graph.way_to(number):
        ahead = ((graph.numbers.get(packed(canonical(one.after, setup))), one) for one in steps(state, setup))
        step = next(one for reached, one in ahead if reached == waypoint)
        state = step.after
        lines.append(_line(step))
    return state, tuple(lines)


def _line(step: Step) -> str:
    return f"{step.who} {step.what}"


def render(report: Report) -> str:
    """The report for people: one line of numbers, then each broken promise with its steps."""
    fault = f"[{report.setup.fault}] " if report.setup.fault else ""
    size = f"{report.states:,} states, {report.transitions:,} transitions, {report.steps_deep} steps deep"
    lines = [f"{fault}{report.setup}: {size}, {'no violation' if report.ok else 'VIOLATED'}"]
    for violation in report.violations:
        lines.append(f"  {violation.what}")
        lines += [f"  {number:3}. {step}" for number, step in enumerate(violation.trace, start=1)]
    return "\n".join(lines)
