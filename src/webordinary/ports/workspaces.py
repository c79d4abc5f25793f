"""Where sites are edited: a mirror of each project's repository and a tree for each conversation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from webordinary.core.claim import Delivery
from webordinary.core.job import Intent, JobId
from webordinary.core.site import Project
from webordinary.core.work import FileChange, Room


@dataclass(frozen=True, slots=True)
class Workspace:
    """A conversation's tree, checked out for one job."""

    delivery: Delivery
    project: Project
    room: Room
    base: str  # the commit the tree was checked out from: what is previewed now, with upstream merged in
    previewed: str  # the commit that was previewed before this job
    conflicts: tuple[str, ...] = ()  # files with conflict markers: upstream changed the same lines
    committed: str = ""  # the commit that an earlier attempt at this very job already made
    upstream: str = ""  # with conflicts: the upstream commit that the tree is being merged with


@dataclass(frozen=True, slots=True)
class Signed:
    """What a commit says about where it comes from."""

    gist: str  # one line: the instruction's gist
    body: str  # what was done, in a few lines; may be ""
    sender: str  # address of the person who asked


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Conflict markers are still in these files."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turned:
    """An undo or a redo: the commit that does it, and whose job's change it took back or brought back."""

    commit: str
    job: JobId
    gist: str  # of that job's commit


@dataclass(frozen=True, slots=True)
class CannotTurn:
    """There is nothing to undo or redo, or later changes are in the way; a plain sentence says which."""

    reason: str


@dataclass(frozen=True, slots=True)
class Aside:
    """Unfinished work, kept as a commit on a side ref."""

    ref: str
    commit: str
    files: tuple[str, ...]


class Workspaces(Protocol):
    """Git for sites. Everything that reaches the repository is fenced: a stale owner gets `ClaimLost`."""

    async def open(self, delivery: Delivery, project: Project) -> Workspace:
        """Check the conversation's tree out, upstream merged in; from now on older fences can't push."""
        ...

    async def commit(self, workspace: Workspace, signed: Signed) -> str | Unresolved | None:
        """Commit all that changed in the tree; None if nothing did. Nothing leaves this machine yet."""
        ...

    async def turn(self, workspace: Workspace, way: Intent, signed: Signed) -> Turned | CannotTurn:
        """Undo the last change of the conversation (else of the lane), or redo the last undo.

        The commit is made but not pushed, and the tree holds it.
        """
        ...

    async def push(self, workspace: Workspace, commit: str) -> str | Unresolved:
        """Make the commit the previewed one; give the commit that is, and that the tree now holds.

        It is a merge if another lane of the project was first; `Unresolved` if that can't be merged.
        """
        ...

    async def latest(self, workspace: Workspace) -> str:
        """Look which commit is to be previewed now, another lane may have pushed; the tree then holds it."""
        ...

    async def keep_aside(self, workspace: Workspace, signed: Signed) -> Aside | None:
        """Keep what is in the tree on a side ref, and put the tree back; None if there is nothing to keep."""
        ...

    async def changes(self, workspace: Workspace, old: str, new: str) -> tuple[FileChange, ...]:
        """Tell what differs between two commits, as files before and after."""
        ...

    async def patch(self, workspace: Workspace, commit: str) -> str:
        """Show what a commit changed, as a patch of bounded size; "" if the commit is not there any more."""
        ...

    async def land(self, workspace: Workspace, commit: str) -> Unresolved | None:
        """Bring the repository's main branch to what was promoted to the live place."""
        ...


class Repositories(Protocol):
    """Repositories of our own making, for projects that have none."""

    async def create(self, project: str, starter: Path | None = None) -> str:
        """Make a repository with a starter site, unless there is one; say where it is."""
        ...
