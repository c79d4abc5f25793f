"""A room with a small site in it, for tests of the demo agent."""

from __future__ import annotations

import difflib
from pathlib import Path

from webordinary.agents.demo import DemoAgent
from webordinary.core.work import AgentEvent, AgentResult, AgentTask, MailedFile, Room

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Good bread</title>
</head>
<body>
  <nav><a href="index.html">Home</a>
    <a href='about.html'>About us</a>
    <a href=shop.html>Shop</a></nav>
  <main>
    <img class="hero" src="images/old.jpg" srcset="images/2x.jpg 2x" width="10" height="20" alt="Old oven">
    <h1>Good bread</h1>
    <p>Open on <strong>Monday</strong> and Tuesday.</p>
    <h2>Our <em>daily</em> bread &amp; buns</h2>
    <p class="x">We bake &ldquo;early&rdquo;.
      Come at seven.</p>
    <ul><li>Rye 4 euro</li></ul>
    <script>var words = "Come at seven";</script>
  </main>
  <footer><p>See you soon</p></footer>
</body>
</html>
"""
ABOUT = """<html><head><title>About | Good bread</title></head><body>
<a href="index.html">Home</a>
<H1>About</H1>
<P>We are two bakers.
<P>We started in 1999.
<h2>Team</h2>
<img src="images/team.jpg" alt="The team at work">
</body></html>
"""
SHOP = """<title>Shop</title><h1>Shop</h1><p>Rye 4 euro</p>
<p>Call <a href='tel:5550100'>555 0100</a>.</p>
"""


def room_in(folder: Path, pages: dict[str, str | bytes] | None = None) -> Room:
    """A room with these pages; with the ones above if none are given."""
    room = Room(folder / "tree", folder / "mail", folder / "home")
    for place in (room.tree / "images", room.mail, room.home):
        place.mkdir(parents=True)
    given: dict[str, str | bytes] = {"index.html": INDEX, "about.html": ABOUT, "shop.html": SHOP}
    for path, content in (given if pages is None else pages).items():
        (room.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (room.tree / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return room


def errand(instruction: str, *files: MailedFile, conflicts: tuple[str, ...] = ()) -> AgentTask:
    return AgentTask("job", instruction, instruction, files=files, conflicts=conflicts)


async def asked(room: Room, instruction: str, *files: MailedFile) -> AgentResult:
    """What the agent says to an instruction."""
    run = await DemoAgent().start(errand(instruction, *files), room)
    return await run.result()


async def asked_aloud(room: Room, instruction: str) -> tuple[list[AgentEvent], AgentResult]:
    """The same, with all that it tells meanwhile."""
    run = await DemoAgent().start(errand(instruction), room)
    events = [event async for event in run.events()]
    return events, await run.result()


def contents(room: Room) -> dict[str, bytes]:
    """All files of the tree."""
    return {
        str(path.relative_to(room.tree)): path.read_bytes() for path in room.tree.rglob("*") if path.is_file()
    }


def difference(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """The lines that differ, each with its file and a sign."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        old, new = (files.get(path, b"").decode("latin-1").split("\n") for files in (before, after))
        found = (line for line in difflib.ndiff(old, new) if line[0] in "+-")
        lines += [f"{path} {line[0]} {line[2:].strip()}" for line in found]
    return lines
