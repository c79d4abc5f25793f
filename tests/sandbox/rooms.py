"""Rooms for hostile scripts, and looks at what they left."""

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webordinary.agents.command import CommandAgent
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, Room
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.sandbox import MEBIBYTE, RunLimits, Sandbox

PATIENCE_SECONDS = 60.0  # for what happens at once on an idle machine
SMALL = RunLimits(
    seconds=30.0,
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
    async with asyncio.timeout(PATIENCE_SECONDS):
        run = await agent.start(errand(), room)
        events = tuple([event async for event in run.events()])
        return Told(await run.result(), events)


def processes_with(marker: str) -> list[int]:
    """Living processes that have this word on their command line, seen from outside."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if marker.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return found


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():
            await asyncio.sleep(0.02)
