"""docs/cli.md says what the commands say."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from webordinary.entrypoints.cli.main import COMMANDS, build_parser
from webordinary.entrypoints.cli.reference import WIDTH, every_parser, render

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cli.md"
HINT = "render it again: .venv/bin/python -m webordinary.entrypoints.cli.reference > docs/cli.md"


def test_the_page_is_what_is_rendered() -> None:
    assert PAGE.read_text() == render(), HINT


def test_every_command_is_on_the_page() -> None:
    names = [parser.prog.removeprefix("webordinary").strip() for parser in every_parser(build_parser(WIDTH))]
    assert set(names) >= {"", *COMMANDS, "dead list", "dead show", "dead redrive", "dead drop"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_is_on_the_page(command: str) -> None:
    """As people see it, from a process of its own."""
    environment = {**os.environ, "COLUMNS": str(WIDTH + 2), "NO_COLOR": "1"}
    printed = subprocess.run(
        [sys.executable, "-m", "webordinary", command, "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"```text\n{printed.stdout}```" in PAGE.read_text(), HINT


def documented_commands() -> list[str]:
    """Every command of ours in a code block of a page that people read."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    blocks = [
        block
        for page in pages
        if page.name != "cli.md"
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    lines = [line.split("#")[0].strip(" &") for block in blocks for line in block.splitlines()]
    return [line.removeprefix(".venv/bin/") for line in lines if "webordinary " in line.split("-m")[0]]


@pytest.mark.parametrize("command", documented_commands())
def test_every_command_in_the_docs_is_one_that_exists(command: str) -> None:
    """A page that tells people to type what is refused is worse than none."""
    program, *words = shlex.split(command)
    assert program == "webordinary"
    assert build_parser().parse_args(words).name == words[0]
