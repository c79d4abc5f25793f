"""Rooms for hostile scripts, and looks at what they left."""

import asyncio
import stat
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import HANG_SECONDS
from webordinary.agents.command import CommandAgent
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, Room
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.sandbox import MEBIBYTE, RunLimits, Sandbox

SMALL = RunLimits(
    seconds=240.0,
    memory_bytes=256 * MEBIBYTE,
    output_bytes=MEBIBYTE,
    file_bytes=8 * MEBIBYTE,
    tree_bytes=32 * MEBIBYTE,
    temporary_bytes=16 * MEBIBYTE,
    processes=64,
)


def make_room(folder: Path) -> Room:
    room = Room(folder / "tree", folder / "mail", folder / "home")
    for path in (room.tree, room.mail, room.home):
        path.mkdir(parents=True)
    (room.tree / "index.html").write_text("<h1>Hello</h1>\n")
    (room.mail / "photo.txt").write_text("a photo\n")
    return room


def errand(prompt: str = "change the title") -> AgentTask:
    return AgentTask(job="j1", instruction=prompt, prompt=prompt)


@dataclass(frozen=True, slots=True)
class Told:
    """All that a run told."""

    result: AgentResult
    events: tuple[AgentEvent, ...]

    @property
    def text(self) -> str:
        return "\n".join(event.text for event in self.events)


def script(folder: Path, text: str, interpreter: str = "/bin/sh") -> Path:
    """A program outside the system's folders."""
    path = folder / "agent-script"
    path.write_text(f"#!{interpreter}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def run_script(
    room: Room,
    text: str,
    *,
    sandbox: Sandbox | None = None,
    run_limits: RunLimits = SMALL,
    interpreter: str = "/bin/sh",
) -> Told:
    """Run a script as the agent of a room, to its end."""
    program = script(room.tree.parent, text, interpreter)
    agent = CommandAgent([str(program)], sandbox or Bubblewrap(), run_limits, grace_seconds=0.3)
    async with asyncio.timeout(HANG_SECONDS):
        run = await agent.start(errand(), room)
        events = tuple([event async for event in run.events()])
        return Told(await run.result(), events)
