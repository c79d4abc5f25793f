"""What one job leaves for the conversation's next: the agent's own session, and what happened meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webordinary.core.outcome import Facts
from webordinary.ports.blobs import Blobs
from webordinary.work.prompt import gist

RECAP_LINES = 12
SINCE_LINES = 12


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known when a job starts."""

    agent: str = ""
    session_blob: str = ""
    recap: tuple[str, ...] = ()
    since: tuple[str, ...] = ()

    @classmethod
    def read(cls, left: Mapping[str, str]) -> Memory:
        """Read what the conversation's last job left."""
        return cls(
            left.get("agent", ""),
            left.get("agent_session", ""),
            _lines(left.get("recap", "")),
            _lines(left.get("since", "")),
        )

    async def session(self, agent: str, blobs: Blobs) -> bytes | None:
        """The agent's own session, if it was an agent of the same name that left one."""
        if self.agent != agent or not self.session_blob:
            return None
        return await blobs.get(self.session_blob)

    def after_agent(self, agent: str, session_blob: str, instruction: str, summary: str) -> Facts:
        """What is left when the agent has had a turn: it knows all that happened until now."""
        line = f"Asked: {gist(instruction)} — {gist(summary) or 'no answer'}"
        return _facts(agent, session_blob, (*self.recap, line), ())

    def after(self, happened: str) -> Facts:
        """What is left when something happened without the agent."""
        return _facts(self.agent, self.session_blob, (*self.recap, happened), (*self.since, happened))


def _facts(agent: str, session_blob: str, recap: tuple[str, ...], since: tuple[str, ...]) -> Facts:
    facts = {
        "agent": agent,
        "agent_session": session_blob,
        "recap": "\n".join(recap[-RECAP_LINES:]),
        "since": "\n".join(since[-SINCE_LINES:]),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)
