"""`python -m bench [NAME...]`: measure, and print one table; `--write` puts it into docs/performance.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from bench import comparison, document, machine
from bench.effort import SMALLEST, Effort
from bench.plot import Plot
from bench.report import Results, Row, as_json, as_table

Part = Callable[[Path, Effort], Sequence[Row | Plot]]
PARTS = (
    *("commits", "drain", "latency", "hot-lane", "waiting", "one-each", "spread", "growth"),
    *("idle", "mail", "sites", "pages"),
)


def part_named(name: str) -> Part:
    """Find a part. Imported only now: with an older checkout's package not all of them can be."""
    measure: Part = import_module(f"bench.{name.replace('-', '_')}").measure
    return measure


def measured(part: str, find: Callable[[], Part], folder: Path, effort: Effort) -> Results:
    """Measure one part. Its failure is a result like any other: what was measured before it is kept."""
    before = machine.load()
    try:
        found = find()(folder, effort)
    except Exception as error:  # noqa: BLE001 - told in the table; the other parts go on
        traceback.print_exc()
        return Results(part, failure=f"{type(error).__name__}: {error}".splitlines()[0])
    rows = [one for one in found if isinstance(one, Row)]
    plots = [one for one in found if isinstance(one, Plot)]
    return Results(part, rows, plots, load=f"{before} before, {machine.load()} after")


def main() -> int:
    """Run the parts that were asked for."""
    args = _arguments()
    effort = SMALLEST if args.smallest else Effort(rounds=args.rounds, peers=not args.without_peers)
    parts: dict[str, Callable[[], Part]] = {name: partial(part_named, name) for name in args.names or PARTS}
    if args.before:
        parts = {
            f"before-and-after-{name}": partial(comparison.against, args.before, name)
            for name in args.names or comparison.COMPARED
        }
    about = {**machine.about(args.folder), "load before": machine.load()}
    results: list[Results] = []
    with tempfile.TemporaryDirectory(prefix="wo-bench-", dir=args.folder) as folder:
        try:
            for name, part in parts.items():
                print(f"measuring {name} ...", file=sys.stderr, flush=True)
                results.append(measured(name, part, Path(folder), effort))
                if args.write:
                    document.write(results[-1])
        except KeyboardInterrupt:
            print("stopped; this is what there is so far", file=sys.stderr)
    about["load after"] = machine.load()
    if args.json:
        print(as_json(about, results))
    else:
        print("\n".join(f"{name}: {value}" for name, value in about.items()), as_table(results), sep="\n\n")
    return 1 if len(results) < len(parts) or any(one.failure for one in results) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure beside peers on this machine."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of: {', '.join(PARTS)} (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, help="how often (default: as each part finds right)")
    parser.add_argument("--without-peers", action="store_true", help="measure only ours and the machine")
    parser.add_argument("--smallest", action="store_true", help="only see that everything still runs")
    parser.add_argument(
        "--before",
        type=Path,
        metavar="CHECKOUT",
        help="measure the package of another checkout with this bench, turn by turn with this one's "
        f"(default: {', '.join(comparison.COMPARED)})",
    )
    parser.add_argument(
        "--write", action="store_true", help=f"put tables and plots into {document.PAGE.name}, part by part"
    )
    parser.add_argument(
        "--folder", type=Path, default=machine.FOLDER, help="where the stores go (default: %(default)s)"
    )
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]!r}; there are {', '.join(PARTS)}")
    return args


if __name__ == "__main__":
    sys.exit(main())
