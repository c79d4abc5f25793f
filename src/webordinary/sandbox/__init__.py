"""Rooms without a way out: where the agent and the build run, and what they may use up."""

from webordinary.sandbox.allowance import Allowance
from webordinary.sandbox.choosing import choose_sandbox, probe
from webordinary.sandbox.sandbox import Sandbox, SandboxUnavailable

__all__ = ["Allowance", "Sandbox", "SandboxUnavailable", "choose_sandbox", "probe"]
