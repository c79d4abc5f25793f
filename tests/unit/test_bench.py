"""The bench measures what it says: here only that each of its parts still runs, in its smallest size."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import PARTS, measured
from bench.effort import SMALLEST, Effort
from bench.plot import Plot
from bench.report import Row, as_table


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_bench_runs(part: str, tmp_path: Path) -> None:
    """A part that nobody runs for a month must not have stopped working meanwhile."""
    results = measured(part, PARTS[part], tmp_path, SMALLEST)

    assert not results.failure
    assert results.rows


def test_a_part_that_fails_says_why_and_leaves_the_others_their_numbers(tmp_path: Path) -> None:
    """Ten minutes of measuring are not thrown away for one part."""

    def broken(folder: Path, effort: Effort) -> list[Row | Plot]:
        raise KeyError(f"{folder.name} {effort.share}")

    commits = measured("commits", PARTS["commits"], tmp_path, SMALLEST)
    table = as_table([measured("pages", broken, tmp_path, SMALLEST), commits])

    assert "pages: FAILED: KeyError" in table
    assert "commits: single-row, durable" in table
