"""The bench measures what it says: here only that each of its parts still runs, in its smallest size."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bench import comparison, document
from bench.__main__ import PARTS, Part, measured, part_named
from bench.effort import SMALLEST
from bench.plot import Plot
from bench.report import Results, as_table, row


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_bench_runs(part: str, tmp_path: Path) -> None:
    """A part that nobody runs for a month must not have stopped working meanwhile."""
    results = measured(part, partial(part_named, part), tmp_path, SMALLEST)

    assert not results.failure
    assert results.rows


def test_a_part_that_fails_says_why_and_leaves_the_others_their_numbers(tmp_path: Path) -> None:
    """Ten minutes of measuring are not thrown away for one part."""

    def broken() -> Part:
        raise KeyError("/try")

    commits = measured("commits", partial(part_named, "commits"), tmp_path, SMALLEST)
    table = as_table([measured("pages", broken, tmp_path, SMALLEST), commits])

    assert "pages: FAILED: KeyError: '/try'" in table
    assert "commits: single-row, durable" in table


def test_the_page_has_a_place_for_every_part_and_a_failed_one_leaves_it_alone(tmp_path: Path) -> None:
    """What is written about speed is what was measured, and a mishap takes nothing away."""
    page = tmp_path / "performance.md"
    page.write_text(document.PAGE.read_text("utf-8"), "utf-8")
    whole = Results("", [row("one", "two", "ms", [1.0])], [Plot("p", "Title", "x", "y", {"a": [(1, 1.0)]})])

    for part in (*PARTS, *(f"before-and-after-{one}" for one in comparison.COMPARED)):
        document.write(replace(whole, part=part), page)
    written = page.read_text("utf-8")
    document.write(Results("drain", failure="it was too slow"), page)

    assert written.count("one: two") == len(PARTS) + len(comparison.COMPARED)
    assert page.read_text("utf-8") == written
    assert (tmp_path / "plots" / "p.svg").read_text("utf-8").startswith("<svg")
