"""What an operator can choose about Claude Code, and whether it is there at all."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass, field
from pathlib import Path

from webordinary.core.errors import BadInput

PACKAGE = "claude_agent_sdk"
TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "Write")  # no web, no timers, no agents of its own


@dataclass(frozen=True, slots=True)
class ClaudeOptions:
    """The model, its key and what one run may cost."""

    key: str = field(repr=False)  # stays with the worker: the agent never sees it
    model: str = "claude-sonnet-5"
    base_url: str = "https://api.anthropic.com"
    budget_usd: float = 2.0  # of one run
    turns_max: int = 60
    idle_seconds: float = 180.0  # without a sign of life
    grace_seconds: float = 0.15  # between asking to stop and killing
    session_bytes_max: int = 8_000_000  # of a conversation, before packing; a longer one starts afresh

    def __post_init__(self) -> None:
        """Refuse what can't work, while a person is still looking."""
        if not self.key:
            raise BadInput("the model's key is empty: set it, or choose another agent")
        limits = (self.budget_usd, self.turns_max, self.idle_seconds)
        if min(limits) <= 0 or self.grace_seconds < 0:
            raise BadInput("limits of the agent must be above zero")


def claude_available() -> str | None:
    """Say what is missing to run Claude Code; None if nothing is."""
    if importlib.util.find_spec(PACKAGE) is None:
        return "Claude Code is not installed: pip install 'webordinary[claude]'"
    if not os.access(bundled_cli(), os.X_OK):
        return (
            f"{PACKAGE} is installed without its program {bundled_cli()}: install its wheel for this machine"
        )
    return None


def bundled_cli() -> Path:
    """The program that comes with the SDK; found without loading the SDK."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise BadInput("Claude Code is not installed: pip install 'webordinary[claude]'")
    return Path(spec.origin).parent / "_bundled" / "claude"
