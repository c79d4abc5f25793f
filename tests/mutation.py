"""Mutation testing of the claim protocol: change one thing, and see whether a test notices.

`python -m tests.mutation --sample 50` changes fifty places, each by itself in a copy of the package, and runs
the tests that are meant to hold it. Survivors are printed with their place. What changes nothing that anybody
could see is listed in `EQUIVALENT`, with the reason.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "webordinary"
HANG_SECONDS = 900  # a change may make a loop endless: that is noticed, too

WORKERS = [f"tests/unit/test_{name}.py" for name in ("claim_rules", "claim_faults", "claim_worker")]
WORKERS += ["tests/simulation/test_worker_times.py"]
VERBS = [
    f"tests/conformance/test_{name}.py"
    for name in ("claim", "submit", "next_job", "settle", "keep", "release_and_sweep", "fairness", "control")
] + [f"tests/conformance/test_{name}.py" for name in ("moves", "owed_by_broker", "long_polls")]
SCHEDULES = ["tests/simulation/test_schedules.py"]
SEARCH = ["tests/simulation/test_search.py", "-k", "no_interleaving"]
RULES = ([*VERBS, "-k", "memory"], ["tests/unit/test_fairness.py", *WORKERS], SEARCH, SCHEDULES)
LOADING = ([*VERBS, "-k", "not aws"], ["tests/conformance/test_same_as_memory.py", "-k", "not aws"])

# Which tests hold which code, the quickest first.
HOLDS: dict[str, tuple[Sequence[str], ...]] = {
    "claim/rules.py": RULES,
    "claim/rows.py": RULES,
    "claim/fairness.py": (["tests/unit/test_fairness.py"], *RULES),
    "claim/lane_runner.py": (WORKERS, SCHEDULES),
    "claim/worker.py": (WORKERS, SCHEDULES),
    "claim/release_reasons.py": (WORKERS, SCHEDULES),
    "claim/backoff.py": (WORKERS, SCHEDULES),
    "claim/wait_reasons.py": (["tests/unit/test_waiting.py", "tests/conformance/test_explaining.py"],),
    "dispatch/submit.py": (
        ["tests/flows/test_one_submit.py", "tests/flows/test_receive.py"],
        ["tests/unit/test_quota.py"],
    ),
    "dispatch/arrival_policy.py": (
        ["tests/flows/test_arrival_policy.py", "tests/flows/test_take_over.py"],
        ["tests/flows/test_one_submit.py"],
    ),
    "backends/loading.py": LOADING,
    "backends/memory/rows.py": (*RULES, *LOADING),
    "backends/memory/store.py": (*RULES, *LOADING),
    "backends/sqlite/rows.py": LOADING,
    "backends/sqlite/store.py": LOADING,
}

# Survivors that nobody could notice, and why.
EQUIVALENT: dict[str, str] = {
    "claim/rules.py: if lane.wanted_since is not None and (not lane.open) -> if True": (
        "a request from while this owner beat late goes with the settle instead of with the next beat"
    ),
    "claim/fairness.py: len(self._chosen) < most and self._passed_over < RESERVED_LANES_MAX"
    " -> len(self._chosen) < most": "the look for a project's next lane stops at the same bound",
}


@dataclass(frozen=True)
class Mutant:
    """One change: where, and how it reads before and after."""

    module: str
    line: int
    before: str
    after: str
    source: str

    @property
    def change(self) -> str:
        """What is changed, wherever it stands by now."""
        return f"{self.module}: {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.before} -> {self.after}"


COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
CALCULATED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changed(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901 - a case a kind of node
    """Every way to change one node, itself only."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield _with(node, ops=[COMPARED[type(op)]()])
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield values[0]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=op) if type(op) in CALCULATED:
            yield _with(node, op=CALCULATED[type(op)]())
        case ast.Constant(value=bool() as value):
            yield _with(node, value=not value)
        case ast.Constant(value=int() | float() as value):
            yield _with(node, value=value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED_CALLS:
            yield _with(node, func=ast.Name(SWAPPED_CALLS[name], ast.Load()))
        case ast.If() | ast.While() | ast.IfExp():
            yield _with(node, test=ast.Constant(value=False))
            if not isinstance(node, ast.While):
                yield _with(node, test=ast.Constant(value=True))
        case ast.Assign(targets=[ast.Name() | ast.Tuple(elts=[ast.Name(), *_])]):
            pass  # whoever uses the name would fail at once
        case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case _:
            pass


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, by: ast.AST) -> None:
        self._target, self._by = target, by

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self._by, node) if node is self._target else super().visit(node)


def mutants_of(module: str) -> Iterator[Mutant]:
    """All changes of a module; not of names, types, words for people or logs."""
    tree = ast.parse((PACKAGE / module).read_text())
    for node in _code(tree):
        for other in changed(node):
            copied = copy.deepcopy(tree)
            twin = next(b for a, b in zip(ast.walk(tree), ast.walk(copied), strict=True) if a is node)
            source = ast.unparse(ast.fix_missing_locations(_Replace(twin, other).visit(copied)))
            yield Mutant(module, node.lineno, _short(node), _short(other), source)  # type: ignore[attr-defined]


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what does something: inside functions, without annotations, messages, defaults and assertions."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for statement in child.body:
                    yield from _statement(statement)
            case ast.ClassDef():
                yield from _code(child)
            case _:
                pass


def _statement(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Assert() | ast.Raise() | ast.AnnAssign(value=None):
            return
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for statement in node.body:
                yield from _statement(statement)
            return
        case ast.JoinedStr():
            return
        case _:
            pass
    if isinstance(node, ast.stmt | ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.AnnAssign) and child is node.annotation):
            yield from _statement(child)


def _short(node: ast.AST) -> str:
    match node:
        case ast.If() | ast.While():
            return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
        case _:
            return " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())[:90]


def is_caught(mutant: Mutant, folder: Path) -> bool:
    """Run the tests that hold this code on a copy of the package with the change in it."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        shutil.copytree(PACKAGE, Path(place) / "webordinary", copy_function=os.link)
        target = Path(place) / "webordinary" / mutant.module
        target.unlink()
        target.write_text(mutant.source)
        return any(_fails(list(tests), place) for tests in HOLDS[mutant.module])


def _fails(tests: list[str], place: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = {**os.environ, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=HANG_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    """Change, run, and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--module", action="append", choices=sorted(HOLDS), help="default: all")
    parser.add_argument("--sample", type=int, default=0, help="so many changes, by chance; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    modules = [module for module in chosen.module or sorted(HOLDS) if (PACKAGE / module).exists()]
    mutants = [mutant for module in modules for mutant in mutants_of(module)]
    if chosen.sample:
        mutants = random.Random(chosen.seed).sample(mutants, min(chosen.sample, len(mutants)))
    survivors: list[Mutant] = []
    # The copies are hard links, so they lie on the same file system.
    with tempfile.TemporaryDirectory(dir=ROOT / ".venv") as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        verdicts = pool.map(lambda mutant: is_caught(mutant, Path(folder)), mutants)
        for number, (mutant, caught) in enumerate(zip(mutants, verdicts, strict=True), 1):
            if not caught:
                survivors.append(mutant)
            if not chosen.json:
                print(f"{number}/{len(mutants)} {'caught' if caught else 'SURVIVED'} {mutant}", flush=True)
    unexplained = [mutant for mutant in survivors if mutant.change not in EQUIVALENT]
    share = 1 - len(unexplained) / max(len(mutants), 1)
    if chosen.json:
        print(json.dumps({"mutants": len(mutants), "survived": [str(one) for one in survivors]}))
    else:
        found = f"{len(survivors)} survived, {len(unexplained)} of them unexplained"
        print(f"{len(mutants)} changes, {found}: {share:.1%} caught")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
