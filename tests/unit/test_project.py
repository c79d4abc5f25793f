"""Style and docs are tests: what the project says about itself has to be true."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "webordinary"
REQUIREMENTS = ROOT / "requirements"
MAX_MODULE_LINES = 400
MAX_PORT_METHODS = 8

MODULES = sorted(PACKAGE.rglob("*.py"))
REQUIREMENT_SETS = sorted(path.stem for path in REQUIREMENTS.glob("*.in"))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def files_of_the_project() -> tuple[Path, ...]:
    """What is committed or about to be; not what a build or a run left behind."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


# --- README ---------------------------------------------------------------------------------------


MAIL_EXTRA = {
    "PIL",
    "aiosmtpd",
    "aiosmtplib",
    "dkim",
    "dns",
    "nacl",  # brought by dkimpy[ed25519]
    "pillow_heif",
    "publicsuffixlist",
    "spf",
}
WEB_EXTRA = {"jinja2", "markupsafe", "starlette", "uvicorn"}
INBOUND_EXTRA = {"cryptography", "python_multipart", "starlette", "uvicorn"}
CLAUDE_EXTRA = {"anyio", "claude_agent_sdk", "h11"}
BROWSER_EXTRA = {"playwright"}
AWS_EXTRA = {"aiobotocore", "aiohttp", "botocore"}
EXTRAS = MAIL_EXTRA | INBOUND_EXTRA | WEB_EXTRA | CLAUDE_EXTRA | BROWSER_EXTRA | AWS_EXTRA
DRIVING = {  # where an extra may be imported, and which
    "src/webordinary/mail/": MAIL_EXTRA | INBOUND_EXTRA | AWS_EXTRA,
    "src/webordinary/sites/": WEB_EXTRA | BROWSER_EXTRA | AWS_EXTRA | {"PIL", "pillow_heif"},
    "src/webordinary/agents/": CLAUDE_EXTRA,
    "src/webordinary/sandbox/": CLAUDE_EXTRA,
    "src/webordinary/system/": WEB_EXTRA | AWS_EXTRA,
    "src/webordinary/dashboard/": WEB_EXTRA,
    "src/webordinary/reply/rendering.py": {"jinja2", "markupsafe"},
    "src/webordinary/backends/aws/": AWS_EXTRA,
    "src/webordinary/entrypoints/cli/demo/screen.py": {"rich"},
}


def readme_commands() -> list[str]:
    """The commands of the first code block of the README, without their comments."""
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    return [line.split("#")[0].strip() for line in block[1].splitlines() if line.strip()]


def test_the_readme_says_what_this_is_and_how_to_start_on_the_first_screen() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert lines[0] == "# Webordinary"
    assert "workers" in lines[2]
    first_screen = "\n".join(lines[:15])
    assert all(command in first_screen for command in ("make run", "make test"))
    assert readme_commands() == ["make run", "make test"]


def test_ci_runs_exactly_the_test_command_of_the_readme() -> None:
    """Two ways to run the tests become two truths."""
    script = (ROOT / ".ci" / "run").read_text()
    assert script.startswith("#!/usr/bin/env bash\n")
    set_up = ("#", "set ", "cd ")
    commands = [line for line in script.splitlines() if line and not line.startswith(set_up)]
    assert commands == [readme_commands()[-1]] == ["make test"]


def test_bare_make_prints_every_target_with_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    printed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  make (\w+) +\S", printed, re.MULTILINE) == phony[1].split()


# --- docs -----------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """Markdown without its code blocks and comments."""
    return re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ +(.*?) *$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    text = page.read_text()
    for target in re.findall(r"\]\(<?([^)\s>]+)>?[^)]*\)", prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        is_missing = not linked.exists()
        if is_missing or (anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text())):
            yield target


def test_every_relative_link_in_the_docs_leads_somewhere() -> None:
    pages = [path for path in files_of_the_project() if path.suffix == ".md"]
    broken = {relative(page): found for page in pages if (found := list(broken_links(page)))}
    assert broken == {}


def test_every_decision_is_listed() -> None:
    """A decision that nobody finds is made again."""
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\((\S+\.md)\)", (folder / "README.md").read_text()))
    assert {path.name for path in folder.glob("*.md")} - {"README.md"} <= listed


# --- requirements ---------------------------------------------------------------------------------


def required(name: str) -> set[str]:
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    return {re.split(r"[^\w.-]", line)[0].lower() for line in lines if line[:1].isalnum()}


@pytest.mark.parametrize("name", REQUIREMENT_SETS)
def test_every_dependency_has_its_reason(name: str) -> None:
    table = (ROOT / "docs" / "decisions" / "dependencies.md").read_text()
    rows = re.findall(r"^\| (\S+) \| (\S+) \| \S", table, re.MULTILINE)
    assert {dependency for dependency, file in rows if file == name} == required(name)


@pytest.mark.parametrize("name", REQUIREMENT_SETS)
def test_every_requirement_is_pinned_with_hashes(name: str) -> None:
    """An install gets the bytes that were tested, from wherever it gets them."""
    pinned = (REQUIREMENTS / f"{name}.txt").read_text()
    lines = [line.strip() for line in pinned.splitlines()]
    entries = [line for line in lines if line and not line.startswith(("#", "--hash=sha256:"))]
    assert all(re.match(r"[\w.-]+==[^\s]+( ; .+)? \\$", entry) for entry in entries), entries
    assert pinned.count("\\\n    --hash=") >= len(entries)
    assert required(name) <= {entry.split("==")[0] for entry in entries}


def test_nothing_names_a_package_host_or_a_path_of_one_machine() -> None:
    """The project installs from any index and runs in any folder."""
    hosts = ["pypi" + ".org", "files." + "pythonhosted"]
    homes = r"(?<![\w.*}-])/(?:work|root)/"
    pattern = re.compile("|".join([*map(re.escape, hosts), homes]))
    named = {
        relative(path): found[0]
        for path in files_of_the_project()
        if (found := pattern.search(path.read_text(errors="ignore")))
    }
    assert named == {}


# --- modules --------------------------------------------------------------------------------------


def imported_roots(module: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(module.read_text())))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    sources = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in plain + sources}


def test_the_package_imports_only_the_standard_library() -> None:
    """The embedded install pulls in nothing (docs/decisions/0001-stdlib-only-embedded.md).

    What an extra pulls in is imported only where it is driven.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == []
    allowed = sys.stdlib_module_names | {"webordinary"}
    foreign = {relative(module): found for module in MODULES if (found := imported_roots(module) - allowed)}
    for folder, extras in DRIVING.items():
        foreign = {
            name: found - extras if name.startswith(folder) else found for name, found in foreign.items()
        }
    assert {name: found for name, found in foreign.items() if found} == {}


def test_the_bare_commands_load_nothing_of_an_extra() -> None:
    """A worker without mail needs no mail library, in memory or on disk."""
    modules = ", ".join(f"webordinary.entrypoints.cli.{name}" for name in ("worker", "up", "submit"))
    script = f"import sys, {modules}; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert EXTRAS.isdisjoint(loaded)


def test_a_port_is_a_few_verbs() -> None:
    """Whoever writes an adapter keeps all of it; what one caller needs alone is a port of its own."""
    ports = {
        f"{module.stem}.{node.name}": [one for one in node.body if hasattr(one, "decorator_list")]
        for module in sorted((PACKAGE / "ports").glob("*.py"))
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)
    }
    assert len(ports) > 20
    assert {name: len(methods) for name, methods in ports.items() if len(methods) > MAX_PORT_METHODS} == {}


def test_no_module_is_too_long_to_read() -> None:
    lengths = {relative(module): len(module.read_text().splitlines()) for module in MODULES}
    assert {name: length for name, length in lengths.items() if length > MAX_MODULE_LINES} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [relative(module) for module in MODULES if not ast.get_docstring(ast.parse(module.read_text()))]
    assert silent == []
