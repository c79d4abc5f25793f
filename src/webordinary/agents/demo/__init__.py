"""An agent without a model: plain requests, exact edits, and an honest no for everything else."""

from webordinary.agents.demo.agent import DemoAgent

__all__ = ["DemoAgent"]
