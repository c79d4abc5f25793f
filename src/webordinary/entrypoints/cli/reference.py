"""Renders docs/cli.md from the parsers: `python -m webordinary.entrypoints.cli.reference > docs/cli.md`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from webordinary.agents.handlers import PASSED_ON
from webordinary.entrypoints.cli.main import CommandParser, build_parser
from webordinary.entrypoints.cli.output import Exit
from webordinary.wiring.setting_reader import PREFIX
from webordinary.wiring.settings import BACKENDS, FILE_NAME, HANDLERS, LIMITS, Settings, home_folder

WIDTH = 98

INTRODUCTION = """\
# The command line

<!-- Rendered by `python -m webordinary.entrypoints.cli.reference > docs/cli.md`; a test compares the two. -->

Every command that needs a store takes `--home DIR`, and every one that prints data takes `--json`: lanes are
written `project/user`, times are seconds since 1970. Results go to standard output; logs, progress and errors
to standard error. An error is one sentence: what happened, what was kept, what to do next. Colours are for
terminals only, and not with `NO_COLOR`.
"""

SETTINGS = f"""\
## Settings

A flag goes before the environment, the environment before `{FILE_NAME}` in the home folder, and that before
the default. An unknown setting is refused, never ignored. Limits are explained in `core/limits.py`.

| setting | in the environment | in `{FILE_NAME}` | default |
|---|---|---|---|
| home folder | `{PREFIX}HOME` | - | `$XDG_DATA_HOME/webordinary`, or `~/.local/share/webordinary` |
"""

PROGRAMS = """\
## A program as the handler

`webordinary worker -- PROGRAM ARGUMENT...` runs the program once for each job.

| the program | |
|---|---|
| standard input | the instruction, UTF-8 |
| environment | {passed_on}, and its own: {own}; nothing else |
| output | standard output and error together; the last lines become the job's note |
| exit code 0 | done |
| exit code 75 | try again later, until the deliveries run out; killed by a signal means the same |
| any other exit code | failed; it is not tried again |
| to stop it | SIGTERM to its process group, then SIGKILL; whatever it left running is killed too |
| its worker dies | its process group is killed |
"""


def render() -> str:
    """The whole page."""
    parts = [INTRODUCTION, _exit_codes(), _settings(), _programs(), "## Commands\n"]
    parser = build_parser(WIDTH)
    parts += [
        f"### {one.prog}\n\n```text\n{one.format_help().rstrip()}\n```\n" for one in every_parser(parser)
    ]
    return "\n".join(parts)


def every_parser(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser of every command and of its verbs, loaded."""
    if isinstance(parser, CommandParser):
        parser.load()
    yield parser
    for action in parser._actions:  # noqa: SLF001 - argparse shows its subparsers nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            for one in action.choices.values():
                yield from every_parser(one)


def _exit_codes() -> str:
    rows = [f"| {code.value} | {code.meaning} |" for code in Exit]
    return "\n".join(["## Exit codes\n", "| code | meaning |", "|---|---|", *rows, ""])


def _programs() -> str:
    own = (f"{PREFIX}{name}" for name in ("JOB", "LANE", "ATTEMPT"))
    return PROGRAMS.format(passed_on=_quoted(PASSED_ON), own=_quoted(own))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _settings() -> str:
    defaults = Settings(home_folder(None))
    rows = [
        _row(f"backend: {', '.join(BACKENDS)} ([the cloud](cloud.md))", "backend", defaults.backend),
        _row("slots", "slots", f"{defaults.slots}"),
        _row(f"handler: {', '.join(HANDLERS)}", "handler", "site"),
        _row("program of the command handler", "command", "none", example=' = ["python3", "edit.py"]'),
    ]
    rows += [
        _row(one.name.replace("_", " "), one.name, f"{one.default:g}", table="[limits] ") for one in LIMITS
    ]
    return SETTINGS + "\n".join([*rows, ""])


def _row(what: str, name: str, default: str, *, table: str = "", example: str = "") -> str:
    return f"| {what} | `{PREFIX}{name.upper()}` | `{table}{name}{example}` | {default} |"


if __name__ == "__main__":
    print(render(), end="")
