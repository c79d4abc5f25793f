"""Tables and plots of a run, put into docs/performance.md between its markers."""

from __future__ import annotations

import re
import time
from pathlib import Path

from bench.plot import as_svg
from bench.processes import ROOT
from bench.report import Results, as_table

PAGE = ROOT / "docs" / "performance.md"
PLOTS = "plots"


def write(results: Results, page: Path = PAGE) -> None:
    """Replace what the page says about this part; a part that failed leaves the page as it is."""
    if results.failure:
        return
    marker = f"<!-- bench: {results.part} -->"
    found = re.compile(f"{re.escape(marker)}\n.*?<!-- end -->", re.DOTALL)
    text = page.read_text("utf-8")
    if not found.search(text):
        raise ValueError(f"{page.name} has no place for {results.part}: {marker} ... <!-- end -->")
    for plot in results.plots:
        (page.parent / PLOTS).mkdir(exist_ok=True)
        (page.parent / PLOTS / f"{plot.name}.svg").write_text(as_svg(plot), "utf-8")
    shown = [f"![{plot.title}]({PLOTS}/{plot.name}.svg)" for plot in results.plots]
    measured = f"Measured on {time.strftime('%Y-%m-%d', time.gmtime())}; load {results.load}."
    block = "\n\n".join([marker, measured, f"```text\n{as_table([results])}\n```", *shown, "<!-- end -->"])
    page.write_text(found.sub(lambda _: block, text), "utf-8")
