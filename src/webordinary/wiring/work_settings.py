"""Settings of the work: the `[work]` table of webordinary.toml, and WEBORDINARY_WORK_... variables."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from webordinary.core.errors import BadInput

PREFIX = "WEBORDINARY_WORK_"
WORKSPACE_VARIABLE = "WORKSPACE_PATH"  # as containers have it
AGENTS = ("auto", "claude", "demo", "command")
SANDBOX_OFF = "off-i-trust-every-sender"
SANDBOXES = ("bubblewrap", SANDBOX_OFF)


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """How sites are edited, built and shown."""

    agent: str = "auto"  # claude if it is installed and has a key, else demo
    command: tuple[str, ...] = ()  # the program of the command agent
    sandbox: str = "bubblewrap"
    workspace: str = ""  # where sites are checked out; "" is a folder of the home
    disk_gb: float = 10.0  # what workspaces may take; the coldest make room
    site_address: str = "http://127.0.0.1:8080"  # where people see previews
    model: str = "claude-sonnet-5"  # of the claude agent
    model_url: str = "https://api.anthropic.com"
    budget_usd: float = 5.0  # of one job
    quiet_seconds: float = 180.0  # without a word of the agent; then it is stopped
    build_minutes: float = 10.0
    memory_gb: float = 4.0  # of an agent or a build
    browser: bool = False  # pictures of changed pages in replies


NAMES = tuple(one.name for one in fields(WorkSettings))


def read_work(table: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> WorkSettings:
    """Read the settings; the environment goes before the file."""
    given: dict[str, object] = dict(table)
    if WORKSPACE_VARIABLE in environment:
        given["workspace"] = environment[WORKSPACE_VARIABLE]
    for name in NAMES:
        text = environment.get(f"{PREFIX}{name.upper()}")
        if text is not None:
            given[name] = text
    values: dict[str, Any] = {name: _value(name, value) for name, value in given.items()}
    found = WorkSettings(**values)
    _check_choice("agent", found.agent, AGENTS)
    _check_choice("sandbox", found.sandbox, SANDBOXES)
    if found.agent == "command" and not found.command:
        raise BadInput('[work] agent = "command" needs a program: command = ["python3", "edit.py"]')
    return found


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadInput(f"[work] {name} must be one of {', '.join(choices)}, not {value!r}")


def _value(name: str, value: object) -> object:
    """Bring a value to the type of its default."""
    default = getattr(WorkSettings(), name)
    if isinstance(default, bool):
        words = {"true": True, "1": True, "false": False, "0": False}
        if str(value).lower() in words:
            return words[str(value).lower()]
        raise BadInput(f"[work] {name} must be true or false, not {value!r}")
    if isinstance(default, float):
        return _number(name, value)
    if isinstance(default, tuple):
        items = shlex.split(value) if isinstance(value, str) else value
        if isinstance(items, list) and items and all(isinstance(item, str) for item in items):
            return tuple(items)
        raise BadInput(f'[work] {name} must be a list of words, such as ["python3", "edit.py"]')
    if not isinstance(value, str):
        raise BadInput(f"[work] {name} must be a text, not {value!r}")
    return value


def _number(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 < number < float("inf"):
        raise BadInput(f"[work] {name} must be a number above 0, not {value!r}")
    return number
