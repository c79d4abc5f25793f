"""Rows of the table: a number, what it is compared with, and what we aimed at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from bench.plot import Plot

HEADINGS = ("measured", "result", "rounds", "aim", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the median of some rounds, their extremes, and the aim if there is one."""

    section: str
    name: str
    unit: str
    value: float
    lowest: float
    highest: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the aim was reached; None without one."""
        if self.at_least is not None:
            return self.value >= self.at_least
        if self.at_most is not None:
            return self.value <= self.at_most
        return None


@dataclass(frozen=True, slots=True)
class Results:
    """What one part of the bench measured; or why it could not."""

    part: str
    rows: Sequence[Row] = ()
    plots: Sequence[Plot] = ()
    failure: str = ""
    load: str = field(default="", compare=False)  # of the machine, while it was measured


def row(
    section: str,
    name: str,
    unit: str,
    rounds: Sequence[float],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """Make a line of the rounds of one measurement."""
    return Row(section, name, unit, median(rounds), min(rounds), max(rounds), at_least, at_most)


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Divide round by round: what was measured back to back belongs together."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def percentile(sample: Sequence[float], percent: float) -> float:
    """Take the nearest rank of a sample."""
    ordered = sorted(sample)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def as_table(results: Sequence[Results]) -> str:
    """Write the rows for people, a section at a time; parts that failed come last, with the reason."""
    rows = [one for part in results for one in part.rows]
    lines = [HEADINGS, *(_cells(one) for one in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    written = [_line(HEADINGS, widths), _line(tuple("-" * width for width in widths), widths)]
    section = rows[0].section if rows else ""
    for one in rows:
        if one.section != section:
            section = one.section
            written.append("")
        written.append(_line(_cells(one), widths))
    failed = [f"{part.part}: FAILED: {part.failure}" for part in results if part.failure]
    return "\n".join([*written, *([""] if failed else []), *failed])


def as_json(about: dict[str, str], results: Sequence[Results]) -> str:
    """Write the rows for programs."""
    return json.dumps(
        {
            "about": about,
            "rows": [{**asdict(one), "met": one.met} for part in results for one in part.rows],
            "failed": {part.part: part.failure for part in results if part.failure},
        },
        indent=2,
    )


def _cells(one: Row) -> tuple[str, ...]:
    aim = ""
    if one.at_least is not None:
        aim = f">= {number(one.at_least)} {one.unit}".rstrip()
    if one.at_most is not None:
        aim = f"<= {number(one.at_most)} {one.unit}".rstrip()
    verdict = {True: "met", False: "missed", None: ""}[one.met]
    rounds = "" if one.lowest == one.highest else f"{number(one.lowest)} .. {number(one.highest)}"
    return f"{one.section}: {one.name}", f"{number(one.value)} {one.unit}", rounds, aim, verdict


def _line(cells: tuple[str, ...], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def number(value: float) -> str:
    """Write a number with as many digits as are of use."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
