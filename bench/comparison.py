"""Two checkouts of the package under the same bench, round by round, so that both meet the same machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.effort import Effort
from bench.plot import Plot
from bench.processes import ROOT
from bench.report import Row, ratios, row

ROUNDS = 5
COMPARED = ("drain", "hot-lane", "latency", "waiting")
# What is ours in each table: the machine's own numbers and the peers' are not compared.
OURS = {
    "drain": ("jobs, ", "CPU a job"),
    "hot-lane": ("jobs in one lane",),
    "latency": ("a lane that a worker holds, p", "a lane that must be claimed first, p"),
    "waiting": ("CPU a job",),
}

Table = dict[tuple[str, str, str], float]


def against(other: Path, part: str) -> Callable[[Path, Effort], Sequence[Row | Plot]]:
    """Measure a part with the package of another checkout and with ours."""

    def measure(folder: Path, effort: Effort) -> list[Row]:
        before: list[Table] = []
        after: list[Table] = []
        for number in range(effort.times(ROUNDS)):
            sides = [(other, before), (ROOT, after)]
            for checkout, tables in sides if number % 2 else sides[::-1]:  # nobody is always the first
                tables.append(_once(checkout, part, folder, smallest=effort.share < 1))
        return [one for name in _common(part, before[0], after[0]) for one in _rows(name, before, after)]

    return measure


def _once(checkout: Path, part: str, folder: Path, *, smallest: bool) -> Table:
    """One round in a process of its own, whose package is that checkout's."""
    path = os.pathsep.join([str(checkout.resolve() / "src"), str(ROOT)])
    command = [sys.executable, "-m", "bench", part, "--json", "--rounds", "1", "--without-peers"]
    done = subprocess.run(
        [*command, "--folder", str(folder), *(["--smallest"] if smallest else [])],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{part} did not run with {checkout}: {done.stderr[-2000:]}")
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return {(one["section"], one["name"], one["unit"]): one["value"] for one in rows}


def _common(part: str, before: Table, after: Table) -> list[tuple[str, str, str]]:
    wanted = OURS.get(part, ("",))
    return [
        key for key in after if key in before and key[2] != "x" and any(word in key[1] for word in wanted)
    ]


def _rows(key: tuple[str, str, str], before: Sequence[Table], after: Sequence[Table]) -> list[Row]:
    section, name, unit = key
    old, new = [one[key] for one in before], [one[key] for one in after]
    return [
        row(section, f"{name}, before", unit, old),
        row(section, f"{name}, after", unit, new),
        row(section, "... after over before", "x", ratios(new, old)),
    ]
