"""A conversation's tree: plain files, their index beside them, and no git directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from webordinary.core.errors import BackendUnavailable
from webordinary.core.work import Room
from webordinary.sites.git.mirror import Mirror
from webordinary.sites.git.process import in_thread, shown
from webordinary.sites.git.sanitize_tree import empty, make_accessible, remove, scrub

MARKERS = "^(<<<<<<<|>>>>>>>) "


class Tree:
    """The tree in a conversation's folder. Whatever is done to it by git goes through a mirror."""

    def __init__(self, folder: Path, mirror: Mirror) -> None:
        """Use the tree in this folder; it is created when first put."""
        self.room = Room(folder / "tree", folder / "mail", folder / "home")
        self._index, self._last, self._mirror = folder / "index", folder / "put", mirror
        self._where = {"GIT_WORK_TREE": str(self.room.tree), "GIT_INDEX_FILE": str(self._index)}

    async def clear(self) -> None:
        """Empty the folders around the tree."""
        for folder in (self.room.mail, self.room.home):
            await in_thread(empty, folder)

    async def put(self, commit: str) -> None:
        """Put the tree back to exactly a commit (or a tree). Only files that it ignores stay: warm builds."""
        await in_thread(self._ready)
        self._last.write_text(commit)
        if await self._put(commit):
            await in_thread(self._start_over)
            if words := await self._put(commit):
                raise BackendUnavailable(f"the site's files can't be checked out: {words}")

    def is_now(self, commit: str) -> None:
        """Note that the tree's files became this commit: what differs from it now is a build's output."""
        self._last.write_text(commit)

    def put_last(self) -> str:
        """What the tree was put to; all that differs from it is somebody's work."""
        return self._last.read_text()

    async def _put(self, commit: str) -> str:
        """Try to put it; say why not."""
        for command in (("read-tree", "--reset", "-u", commit), ("clean", "-ffdq")):
            ran = await self._mirror.run(*command, tree=self._where)
            if ran.code:
                return shown(ran.words)
        return ""

    def _ready(self) -> None:
        """Leave nothing in the tree that could steer git, and nothing that a killed git left beside it."""
        self._index.with_name("index.lock").unlink(missing_ok=True)
        self.room.tree.mkdir(mode=0o700, parents=True, exist_ok=True)
        scrub(self.room.tree)

    def _start_over(self) -> None:
        remove(self._index)
        empty(self.room.tree)

    async def write(self) -> str:
        """Write all that is in the tree, but what it ignores, to the mirror; name the tree object."""
        await in_thread(self._ready)
        ran = await self._mirror.run("add", "--all", tree=self._where)
        if ran.code:
            await in_thread(make_accessible, self.room.tree)
            await self._mirror.git("add", "--all", tree=self._where)
        return (await self._mirror.git("write-tree", tree=self._where)).decode().strip()


async def with_markers(mirror: Mirror, tree: str, files: Sequence[bytes]) -> list[bytes]:
    """Of these files, tell those that still hold a conflict marker, as they were written."""
    paths = [path.decode(errors="surrogateescape") for path in files]
    ran = await mirror.run("grep", "-a", "-l", "-z", "-E", "-e", MARKERS, tree, "--", *paths)
    if ran.code not in (0, 1):
        raise BackendUnavailable(f"git grep failed: {shown(ran.words)}")
    return [name.partition(b":")[2] for name in ran.out.split(b"\0") if name]
