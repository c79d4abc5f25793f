"""Whoever edits the site: a coding agent, at arm's length."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from webordinary.core.work import AgentEvent, AgentResult, AgentTask, Room


class AgentRun(Protocol):
    """One run of an agent. When its result is there, no process of it is left."""

    def events(self) -> AsyncIterator[AgentEvent]:
        """Tell what it does while it does it; ends with the run."""
        ...

    async def interrupt(self) -> None:
        """Ask it to stop, wait a little, kill the whole of it. Its result is `Stopped` if it was not done."""
        ...

    async def result(self) -> AgentResult:
        """Say how it went, as soon as that is known. Cancelled, it kills the run and leaves no process."""
        ...


class Agent(Protocol):
    """A kind of agent. `resume` is part of the errand."""

    @property
    def name(self) -> str:
        """What people call it; a session is resumed only by an agent of the same name."""
        ...

    async def start(self, errand: AgentTask, room: Room) -> AgentRun:
        """Begin to work in the room's tree. What goes wrong at the start is the run's result, too."""
        ...
