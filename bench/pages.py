"""Every page and API route of the dashboard on a store of 10,000 jobs, beside the same queries by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import pages_store
from bench.effort import Effort
from bench.processes import ROOT
from bench.report import Row, percentile, row

AIM_MILLISECONDS = 200.0
GROWTH_MEGABYTES = 10.0
OK = 200
TIMES = 20
SHOWN = 8


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Fill a store, and let a process of its own ask for everything."""
    home = folder / "pages"
    shape, times = pages_store.Shape(effort.size(pages_store.LANES, least=20)), effort.size(TIMES)
    pages_store.fill(home, shape)
    command = [sys.executable, "-m", "bench.pages_process", str(home), str(shape.lanes), str(times)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the dashboard of the measurement ended badly:\n{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    wrong = [one["address"] for one in answer["asked"] if one["status"] != OK]
    if wrong:
        raise RuntimeError(f"these did not answer well: {', '.join(wrong)}")
    return [*_slowest_first(answer["asked"]), *_memory(answer)]


def _slowest_first(asked: list[dict[str, Any]]) -> list[Row]:
    ordered = sorted(asked, key=lambda one: percentile(one["milliseconds"], 95), reverse=True)
    highs = [percentile(one["milliseconds"], 95) for one in ordered]
    rows = [row("page", f"slowest of {len(asked)} addresses, p95", "ms", highs[:1], at_most=AIM_MILLISECONDS)]
    used = [percentile(one["cpu_milliseconds"], 50) for one in asked]
    rows.append(row("page", "the one in the middle, p95", "ms", [percentile(highs, 50)]))
    rows.append(row("page", "the one that uses most CPU, p50", "ms", [max(used)]))
    for one in ordered[:SHOWN]:
        name, taken = one["address"], one["milliseconds"]
        high = percentile(taken, 95)
        rows.append(Row("page", f"{name}, p95", "ms", high, high, high, at_most=AIM_MILLISECONDS))
        rows.append(row("page", "... p50", "ms", taken))
        rows.append(row("page", "... p50 of its CPU", "ms", one["cpu_milliseconds"]))
        if one["by_hand"]:
            rows.append(row("page", "... p50 of its queries by hand", "ms", one["by_hand"]))
    return rows


def _memory(answer: dict[str, Any]) -> list[Row]:
    before, after = answer["megabytes_before"], answer["megabytes_after"]
    return [
        row("memory", "of the process, everything asked for", "MB", [before]),
        row("memory", "... ten times as many requests later", "MB", [after]),
        row("memory", "... growth", "MB", [max(after - before, 0.0)], at_most=GROWTH_MEGABYTES),
    ]
