"""The picture of a lane: who held it when, what ran, what happened. Numbers only; a template draws it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from webordinary.core.job import ENDED
from webordinary.core.views import Happening, JobView, LaneEvent, LaneView
from webordinary.core.waiting import span

WIDTH = 960.0
LEFT, RIGHT = (
    16.0,
    16.0,
)  # margins; names are above their rows, so that they stay in sight when it is scrolled
ROW, BAR, TOP = 38.0, 16.0, 20.0
TICK_APART = 110.0
TICK_HALF = 48.0  # about half of a label's width
WORKERS_DRAWN = 6
LABEL_CHARACTERS = 40
NAMES_WIDTH = 320.0

TAKES = frozenset({Happening.CLAIMED, Happening.TAKEN_OVER})
GIVES = frozenset({Happening.EXCHANGED, Happening.RELEASED, Happening.EVICTED, Happening.BURIED})


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time."""

    x: float
    y: float
    width: float
    kind: str
    label: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """A moment."""

    x: float
    y: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment on the axis."""

    x: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything to draw."""

    height: float
    rows: list[tuple[float, str]]
    bars: list[Bar]
    marks: list[TimelineMark]
    ticks: list[Tick]
    summary: str  # the picture in words
    width: float = WIDTH
    left: float = LEFT
    right: float = WIDTH - RIGHT
    bar: float = BAR
    names_width: float = NAMES_WIDTH


class Axis:
    """Time from left to right; the longer nothing happened, the more it is shortened."""

    def __init__(self, moments: Sequence[float]) -> None:
        """Give every pause between two moments the room that its length's logarithm asks for."""
        self._at = sorted(set(moments))
        places = [0.0]
        for earlier, later in zip(self._at, self._at[1:], strict=False):
            places.append(places[-1] + 0.2 + math.log1p(later - earlier))
        whole = places[-1] or 1.0
        room = WIDTH - LEFT - RIGHT
        self._x = [LEFT + room * place / whole for place in places]

    def x(self, at: float) -> float:
        """Where a moment is."""
        if at <= self._at[0]:
            return self._x[0]
        if at >= self._at[-1]:
            return self._x[-1]
        after = bisect_right(self._at, at)
        before_at, after_at = self._at[after - 1], self._at[after]
        share = (at - before_at) / (after_at - before_at)
        return self._x[after - 1] + share * (self._x[after] - self._x[after - 1])

    def ticks(self, now: float) -> list[Tick]:
        """Name moments, the latest first, as long as there is room."""
        ticks = [Tick(self._x[-1], "now", "end")]
        for at, x in zip(reversed(self._at), reversed(self._x), strict=True):
            if ticks[-1].x - x >= TICK_APART:
                ticks.append(Tick(x, f"{span(now - at)} ago", "start" if x < TICK_HALF else "middle"))
        return ticks


@dataclass(frozen=True, slots=True)
class _Hold:
    worker: str
    since: float
    until: float
    fence: int
    ended: str


def draw(lane: LaneView, events: Sequence[LaneEvent], jobs: Sequence[JobView], now: float) -> Timeline | None:
    """Draw a lane's history; None if it has none yet."""
    holds = _holds(lane, events, now)
    first = min([event.at for event in events], default=now)
    ran = [job for job in jobs if job.started_at is not None and (job.finished_at or now) >= first]
    if not holds and not ran:
        return None
    moments = [now, *(event.at for event in events)]
    moments += [moment for hold in holds for moment in (hold.since, hold.until)]
    moments += [moment for job in ran for moment in (job.started_at or now, _end(job, now))]
    axis = Axis(moments)
    workers = list(dict.fromkeys(hold.worker for hold in reversed(holds)))[:WORKERS_DRAWN]
    rows = {worker: TOP + ROW * (number + 1) for number, worker in enumerate(workers)}
    return Timeline(
        height=TOP + ROW * (len(rows) + 1) + 24,
        rows=[(TOP, "jobs"), *((y, _short(worker)) for worker, y in rows.items())],
        bars=[*_job_bars(ran, axis, now), *_hold_bars(holds, rows, axis)],
        marks=_marks(events, rows, axis),
        ticks=axis.ticks(now),
        summary=_summary(lane, holds, ran, now),
    )


def _end(job: JobView, now: float) -> float:
    return job.finished_at if job.finished_at is not None else now


def _holds(lane: LaneView, events: Sequence[LaneEvent], now: float) -> list[_Hold]:
    """Put claims together with what ended them. Those whose lease ran out ended with the next claim."""
    holds: list[_Hold] = []
    begun: LaneEvent | None = None
    for event in events:
        if begun is not None and (
            event.what in TAKES or (event.what in GIVES and event.fence == begun.fence)
        ):
            ended = "taken over" if event.what in TAKES else event.what.value
            holds.append(_Hold(begun.worker or "", begun.at, event.at, begun.fence, ended))
            begun = None
        if event.what in TAKES:
            begun = event
    if begun is not None:
        owned = lane.owned_at(now) and lane.fence == begun.fence
        until = now if owned else min(lane.lease_until or now, now)
        ended = "held now" if owned else "its lease ran out"
        holds.append(_Hold(begun.worker or "", begun.at, max(until, begun.at), begun.fence, ended))
    return holds


def _job_bars(jobs: Sequence[JobView], axis: Axis, now: float) -> list[Bar]:
    bars = []
    for job in jobs:
        start, end = job.started_at or now, _end(job, now)
        x = axis.x(start)
        took = span(end - start)
        label = f"job {job.id}: {job.state.value}, {took}"
        kind = job.state.value if job.state in ENDED else "running"
        bars.append(Bar(x, TOP, max(axis.x(end) - x, 3.0), kind, label, f"/jobs/{job.id}"))
    return bars


def _hold_bars(holds: Sequence[_Hold], rows: dict[str, float], axis: Axis) -> list[Bar]:
    return [
        Bar(
            x := axis.x(hold.since),
            rows[hold.worker],
            max(axis.x(hold.until) - x, 3.0),
            "held",
            f"{hold.worker} held it for {span(hold.until - hold.since)} (fence {hold.fence}); {hold.ended}",
        )
        for hold in holds
        if hold.worker in rows
    ]


_KINDS = {
    Happening.CLAIMED: "claimed",
    Happening.TAKEN_OVER: "taken-over",
    Happening.EXCHANGED: "released",
    Happening.RELEASED: "released",
    Happening.EVICTED: "evicted",
    Happening.BURIED: "evicted",
    Happening.INTERRUPTED: "interrupted",
    Happening.RETRY: "retry",
    Happening.HANDED_BACK: "released",
    Happening.REDELIVERED: "retry",
    Happening.DEAD: "dead",
    Happening.PARKED: "parked",
    Happening.REDRIVEN: "redriven",
    Happening.DROPPED: "dead",
}
_OF_JOBS = frozenset(
    {Happening.INTERRUPTED, Happening.RETRY, Happening.DEAD, Happening.REDRIVEN, Happening.DROPPED}
)


def _marks(events: Sequence[LaneEvent], rows: dict[str, float], axis: Axis) -> list[TimelineMark]:
    marks = []
    for event in events:
        y = TOP if event.what in _OF_JOBS else rows.get(event.worker or "", TOP)
        note = f": {event.note}" if event.note else ""
        marks.append(TimelineMark(axis.x(event.at), y, _KINDS[event.what], f"{event.what.value}{note}"))
    return marks


def _short(worker: str) -> str:
    return worker if len(worker) <= LABEL_CHARACTERS else worker[: LABEL_CHARACTERS - 1] + "…"


def _summary(lane: LaneView, holds: Sequence[_Hold], jobs: Sequence[JobView], now: float) -> str:
    holder = f"held by {lane.worker} now" if lane.owned_at(now) else "held by nobody now"
    return f"Timeline of {lane.lane}: {len(holds)} claims and {len(jobs)} jobs shown, {holder}."


def kind_of(what: Happening) -> str:
    """The class by which a happening is coloured."""
    return _KINDS[what]
