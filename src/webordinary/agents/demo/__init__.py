"""The demo agent: edits plain HTML by a few kinds of English sentence, without a model or a key."""

from webordinary.agents.demo.agent import DemoAgent

__all__ = ["DemoAgent"]
