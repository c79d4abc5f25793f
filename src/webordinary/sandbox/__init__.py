"""Rooms without a way out: where the agent and the build run, and what they may use up."""

from webordinary.sandbox.probe import choose_sandbox, probe
from webordinary.sandbox.sandbox import RunLimits, Sandbox, SandboxUnavailable

__all__ = ["RunLimits", "Sandbox", "SandboxUnavailable", "choose_sandbox", "probe"]
