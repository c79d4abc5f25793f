"""`python -m bench [NAME...] [--json]`: measure, and print one table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import commits, drain, hot_lane, idle, latency, machine, mail, pages, sites, waiting
from bench.report import Row, as_json, as_table

MEASUREMENTS: dict[str, Callable[[Path], list[Row]]] = {
    "commits": commits.measure,
    "drain": drain.measure,
    "latency": latency.measure,
    "hot-lane": hot_lane.measure,
    "waiting": waiting.measure,
    "idle": idle.measure,
    "mail": mail.measure,
    "sites": sites.measure,
    "pages": pages.measure,
}


def main() -> int:
    """Run the measurements that were asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure beside peers on this machine."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of: {', '.join(MEASUREMENTS)} (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--folder", type=Path, default=machine.FOLDER, help="where the stores go (default: %(default)s)"
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement is called {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}")
    about = {**machine.about(args.folder), "load before": machine.load()}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="wo-bench-", dir=args.folder) as folder:
        for name in args.names or MEASUREMENTS:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows += MEASUREMENTS[name](Path(folder))
    about["load after"] = machine.load()
    if args.json:
        print(as_json(about, rows))
    else:
        print("\n".join(f"{name}: {value}" for name, value in about.items()), as_table(rows), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
