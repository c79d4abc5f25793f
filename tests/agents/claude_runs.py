"""Runs of the real Claude Code against a scripted model: rooms, agents and what is left of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.agents.model_server import ModelServer
from tests.processes import command_line, offspring
from webordinary.agents.claude.agent import ClaudeAgent, ClaudeRun
from webordinary.agents.claude.options import ClaudeOptions
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, EventKind, Room
from webordinary.sandbox.sandbox import RunLimits, Sandbox

KEY = "real-key-of-the-operator"
USUAL = ClaudeOptions(key=KEY)
PAGE = "<h1>Hello</h1>\n"


@dataclass(frozen=True)
class Place:
    """Where the agent works in a test: a sandbox and a folder for rooms."""

    sandbox: Sandbox
    folder: Path

    def room(self, name: str = "room") -> Room:
        room = Room(*(self.folder / name / part for part in ("tree", "mail", "home")))
        for path in (room.tree, room.mail, room.home):
            path.mkdir(parents=True)
        (room.tree / "index.html").write_text(PAGE)
        return room

    def agent(
        self, server: ModelServer, options: ClaudeOptions = USUAL, run_limits: RunLimits | None = None
    ) -> ClaudeAgent:
        return ClaudeAgent(replace(options, base_url=server.base_url), self.sandbox, run_limits)


def errand(prompt: str, resume: bytes | None = None, recap: str = "") -> AgentTask:
    return AgentTask("job-1", prompt, prompt, resume=resume, recap=recap)


async def carried_out(
    agent: ClaudeAgent, what: AgentTask, room: Room
) -> tuple[AgentResult, list[AgentEvent]]:
    """Run to the end; give the result and all events."""
    run = await agent.start(what, room)
    events = [event async for event in run.events()]
    return await run.result(), events


async def until_used(run: ClaudeRun, tool: str) -> AsyncIterator[AgentEvent]:
    """Tell events until the agent uses this tool."""
    async for event in run.events():
        yield event
        if event.kind is EventKind.USED and event.text.startswith(tool):
            return


def our_processes() -> list[int]:
    """All that this test process started and that still is there, but for the cloud that later tests use."""
    return [pid for pid in offspring(os.getpid()) if b"ministack" not in command_line(pid)]
