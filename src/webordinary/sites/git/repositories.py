"""Repositories of our own making, for sites that have none."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from webordinary.core.errors import BackendUnavailable, NotFound, StoreFull
from webordinary.core.lane import Lane
from webordinary.ports.clock import Clock
from webordinary.sites.git.conventions import NAME
from webordinary.sites.git.mirror import Mirror
from webordinary.sites.git.process import in_thread
from webordinary.sites.git.sanitize_tree import remove, scrub
from webordinary.sites.git.tree import Tree
from webordinary.system.clock import SystemClock
from webordinary.system.durable_folder import make_durable

STARTER_PAGE = """\
<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Welcome</title>
</head>
<body>
  <h1>Welcome</h1>
  <p>This site is edited by e-mail. Write one, and say what should be here.</p>
</body>
</html>
"""
# The only copy of somebody's site: what was pushed survives a power cut. Nothing is ever deleted by a push.
CONFIG = {"core.fsync": "committed,reference", "receive.denyDeletes": "true"}
_TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
_FULL = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT))
ROOM_BYTES = 1 << 20  # with less than this left it is the disk, whatever git calls it


class GitRepositories:
    """See `Repositories`. A repository is there as a whole, with its first commit, or not at all."""

    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        """Keep repositories in this folder."""
        self._root, self._clock = root.absolute(), clock or SystemClock()

    async def create(self, project: str, starter: Path | None = None) -> str:
        """See `Repositories.create`."""
        Lane(project, "x")  # refuses a name that could not be a folder
        target = self._root / f"{project}.git"
        if target.exists():
            return str(target)
        with _translated(target):
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{project}-", dir=self._root) as folder:
                with _full_disk_reported(target):
                    await self._make(Path(folder), starter)
                try:
                    (Path(folder) / "mirror.git").rename(target)
                except OSError as error:
                    if error.errno not in _TAKEN:  # else somebody made it just now
                        raise
            await in_thread(make_durable, self._root)
        return str(target)

    async def _make(self, folder: Path, starter: Path | None) -> None:
        """Make a repository and its first commit in a folder that nobody else sees."""
        mirror = Mirror(folder / "mirror.git", "", self._clock, network_environment={})
        await mirror.prepare()
        for name, value in CONFIG.items():
            await mirror.git("config", name, value)
        tree = Tree(folder, mirror)
        await in_thread(_lay_out, tree.room.tree, starter)
        commit = await mirror.make_commit(await tree.write(), (), "The first page\n", NAME)
        await mirror.git("symbolic-ref", "HEAD", "refs/heads/main")
        await mirror.git("update-ref", "refs/heads/main", commit)
        remove(folder / "mirror.git" / "info" / "attributes")


@contextlib.contextmanager
def _translated(target: Path) -> Iterator[None]:
    try:
        with _full_disk_reported(target):
            yield
    except OSError as error:
        raise BackendUnavailable(f"{target} can't be made: {_reason(error)}") from error


@contextlib.contextmanager
def _full_disk_reported(target: Path) -> Iterator[None]:
    """Git has many words for a full disk, some without a reason: ask the disk, before it is cleared up."""
    try:
        yield
    except (OSError, BackendUnavailable) as error:
        there = next(folder for folder in target.parents if folder.exists())
        if any(words in str(error) for words in _FULL) or shutil.disk_usage(there).free < ROOM_BYTES:
            raise StoreFull(
                f"there is no room left in {target.parent} for a repository. Nothing of it was kept; "
                "free some space there and try again"
            ) from error
        raise


def _reason(error: OSError) -> str:
    if isinstance(error, shutil.Error):  # what went wrong with each file: from, to, why
        return str(error.args[0][0][2])
    return error.strerror or str(error)


def _lay_out(tree: Path, starter: Path | None) -> None:
    if starter is None:
        tree.mkdir()
        (tree / "index.html").write_text(STARTER_PAGE)
        return
    if not starter.is_dir():
        raise NotFound(f"there is no starter site in {starter}")
    shutil.copytree(starter, tree, symlinks=True, ignore=_but_git)
    scrub(tree)


def _but_git(_: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if name.lower() == ".git"}
