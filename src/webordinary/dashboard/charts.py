"""Charts as numbers: where lines, dots and labels go. A template draws them, the style sheet colours them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from webordinary.core.waiting import counted, span
from webordinary.dashboard.metrics import Metrics, Sample, Spread, spread

WIDTH, HEIGHT = 440.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 10.0, 12.0, 26.0  # on the left there is room for `100,000 s`, on a phone too
BUCKETS = 24
DECADES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0)
CLAIM_KINDS = ("claimed", "taken over", "given in exchange", "released")


@dataclass(frozen=True, slots=True)
class Dot:
    """One sample."""

    x: float
    y: float
    kind: str
    label: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """A piece of a column."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Label:
    """A word at an axis."""

    x: float
    y: float
    text: str
    anchor: str = "end"


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything to draw, and the same in words."""

    name: str
    title: str
    summary: str
    empty: str  # what to do to see something here
    labels: list[Label] = field(default_factory=list)
    dots: list[Dot] = field(default_factory=list)
    blocks: list[ChartBlock] = field(default_factory=list)
    area: str = ""
    legend: list[str] = field(default_factory=list)
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    bottom: float = HEIGHT - BOTTOM

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (self.dots or self.blocks or self.area)


def charts(metrics: Metrics) -> list[Chart]:
    """All charts of the page."""
    return [
        _times(
            "time-to-claim",
            "Time to claim",
            metrics.time_to_claim,
            metrics.now,
            empty="From a mail's arrival until a worker holds its lane. Send a mail, and a dot appears.",
        ),
        _times(
            "latency",
            "Job latency",
            metrics.latency,
            metrics.now,
            empty="From a mail's arrival until its job has ended. The first ended job puts a dot here.",
            links=True,
        ),
        _depth(metrics),
        _claims(metrics),
    ]


def _in_words(spread_: Spread | None, noun: str) -> str:
    if spread_ is None:
        return "nothing measured yet"
    return (
        f"{counted(spread_.count, noun)}: half within {span(spread_.median)}, "
        f"95 of 100 within {span(spread_.high)}, the longest {span(spread_.most)}"
    )


def _times(
    name: str, title: str, samples: Sequence[Sample], now: float, *, empty: str, links: bool = False
) -> Chart:
    """Samples at their time, on a logarithmic scale: a tenth of a second and ten minutes both matter."""
    summary = _in_words(spread(samples), "job" if links else "claim")
    if not samples:
        return Chart(name, title, summary, empty)
    low, high = _decades([sample.seconds for sample in samples])
    first = samples[0].at

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min((at - first) / max(now - first, 1.0), 1.0)

    def y(seconds: float) -> float:
        share = (math.log10(min(max(seconds, low), high)) - math.log10(low)) / math.log10(high / low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    dots = [
        Dot(
            x(sample.at),
            y(sample.seconds),
            sample.kind,
            f"{sample.of}: {sample.kind}, {span(sample.seconds)}",
            f"/jobs/{sample.of}" if links else "",
        )
        for sample in samples
    ]
    labels = [Label(LEFT - 6, y(decade), _decade(decade)) for decade in DECADES if low <= decade <= high]
    ends = _ends(first, now)
    return Chart(
        name, title, summary, empty, [*labels, *ends], dots, legend=sorted({dot.kind for dot in dots})
    )


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low = max((decade for decade in DECADES if decade <= max(min(values), DECADES[0])), default=DECADES[0])
    high = min((decade for decade in DECADES if decade >= max(values)), default=DECADES[-1])
    return (low, high) if high > low else (low, low * 10)


def _decade(seconds: float) -> str:
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:,.0f} s"


def _ends(first: float, now: float) -> list[Label]:
    y = HEIGHT - 8
    return [Label(LEFT, y, f"{span(now - first)} ago", "start"), Label(WIDTH - RIGHT, y, "now")]


def _depth(metrics: Metrics) -> Chart:
    title, empty = (
        "Open jobs",
        "How many jobs wait or run. It rises when mail comes faster than it is worked off.",
    )
    steps = metrics.depth
    if not steps:
        return Chart("depth", title, "nothing measured yet", empty)
    first, now = steps[0][0], max(metrics.now, steps[-1][0] + 1)
    most = max(depth for _, depth in steps)
    top = max(most, 1)

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - first) / (now - first)

    def y(depth: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * depth / top

    path = f"M{x(first):.1f},{y(0):.1f}"
    for at, depth in steps:
        path += f"H{x(at):.1f}V{y(depth):.1f}"
    path += f"H{x(now):.1f}V{y(0):.1f}Z"
    summary = f"{counted(steps[-1][1], 'job')} open now, at most {most:,} in this window"
    labels = [Label(LEFT - 6, y(value), f"{value:,}") for value in sorted({0, top // 2, top})]
    return Chart("depth", title, summary, empty, [*labels, *_ends(first, metrics.now)], area=path)


def _claims(metrics: Metrics) -> Chart:
    title, empty = "Claims and releases", "Every time a worker takes a lane or lets go of it."
    claims = metrics.claims
    if not claims:
        return Chart("claims", title, "nothing measured yet", empty)
    first, now = claims[0][0], max(metrics.now, claims[-1][0] + 1)
    seconds = (now - first) / BUCKETS
    buckets = [Counter[str]() for _ in range(BUCKETS)]
    for at, kind in claims:
        buckets[min(int((at - first) / seconds), BUCKETS - 1)][kind] += 1
    most = max(bucket.total() for bucket in buckets)
    whole = Counter(kind for _, kind in claims)
    summary = ", ".join(f"{whole[kind]:,} {kind}" for kind in CLAIM_KINDS if whole[kind])
    room = HEIGHT - TOP - BOTTOM
    labels = [
        Label(LEFT - 6, HEIGHT - BOTTOM - room * value / most, f"{value:,}")
        for value in sorted({0, most // 2, most})
    ]
    return Chart(
        "claims",
        title,
        summary,
        empty,
        [*labels, *_ends(first, metrics.now)],
        blocks=_columns(buckets, most, seconds),
        legend=[kind for kind in CLAIM_KINDS if whole[kind]],
    )


def _columns(buckets: Sequence[Counter[str]], most: int, seconds: float) -> list[ChartBlock]:
    width = (WIDTH - LEFT - RIGHT) / BUCKETS
    blocks = []
    for number, bucket in enumerate(buckets):
        bottom = HEIGHT - BOTTOM
        for kind in CLAIM_KINDS:
            if not bucket[kind]:
                continue
            height = (HEIGHT - TOP - BOTTOM) * bucket[kind] / most
            bottom -= height
            label = f"{bucket[kind]} {kind} within {span(seconds)}"
            blocks.append(ChartBlock(LEFT + number * width + 1, bottom, width - 2, height, kind, label))
    return blocks
