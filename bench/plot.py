"""A small plot as SVG: lines on logarithmic axes. By hand, for a dozen points need no library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 44, 54
COLOURS = ("#0b6bcb", "#c4320a", "#15803d", "#7c3aed", "#b45309", "#0e7490", "#be185d", "#4b5563")


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines to be drawn: for each name, points of x and y."""

    name: str  # of the file
    title: str
    x_title: str
    y_title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def as_svg(plot: Plot) -> str:
    """Draw. Both axes grow by powers of ten, for what matters is by how many times a line rises."""
    points = [point for line in plot.lines.values() for point in line]
    x_low, x_high = _powers([x for x, _ in points])
    y_low, y_high = _powers([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x_low) / (x_high - x_low)
        up = (math.log10(y) - y_low) / (y_high - y_low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-label="{escape(plot.title)}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 24, plot.title, size=15),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, plot.x_title, anchor="middle"),
        _text(8, TOP - 6, plot.y_title),
    ]
    for power in range(x_low, x_high + 1):
        x, bottom = place(10**power, 10**y_low)
        drawn += [_line(x, TOP, x, bottom), _text(x, bottom + 18, f"{10**power:,}", anchor="middle")]
    for power in range(y_low, y_high + 1):
        left, y = place(10**x_low, 10**power)
        drawn += [_line(left, y, WIDTH - RIGHT, y), _text(left - 8, y + 4, f"{10.0**power:g}", anchor="end")]
    ends = _apart([place(*line[-1])[1] for line in plot.lines.values()])
    for (name, line), colour, end in zip(plot.lines.items(), _colours(len(plot.lines)), ends, strict=True):
        places = [place(*point) for point in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        drawn.append(_text(WIDTH - RIGHT + 10, end + 4, name, colour=colour))
    return "\n".join([*drawn, "</svg>", ""])


def _powers(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _colours(count: int) -> list[str]:
    return [COLOURS[number % len(COLOURS)] for number in range(count)]


def _apart(ys: Sequence[float], gap: float = 15) -> list[float]:
    """Move names that would be written over each other apart."""
    moved = dict[int, float]()
    last = -math.inf
    for index in sorted(range(len(ys)), key=ys.__getitem__):
        last = moved[index] = max(ys[index], last + gap)
    return [moved[index] for index in range(len(ys))]


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#e5e7eb"/>'


def _text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", colour: str = "#111827"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">'
        f"{escape(text)}</text>"
    )
