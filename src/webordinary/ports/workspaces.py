"""Where sites are edited: a mirror of each project's repository and a tree for each conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from webordinary.core.claim import Delivery
from webordinary.core.failure import FailureKind
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
    said: str = ""  # what that commit says was done
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
class Behind:
    """Another lane of the project was first. Nothing was pushed; this commit, and the tree, hold both."""

    commit: str


@dataclass(frozen=True, slots=True)
class Reverted:
    """An undo or a redo: the commit that does it, and whose job's change it took back or brought back."""

    commit: str
    job: JobId
    gist: str  # of that job's commit
    tip: str  # what is to be previewed: that commit, or one that holds it and what others did
    elsewhere: bool = False  # the change was made in another conversation


@dataclass(frozen=True, slots=True)
class Made:
    """A change that somebody made by mail."""

    commit: str
    user: str
    gist: str


@dataclass(frozen=True, slots=True)
class CannotRevert:
    """There is nothing to undo or redo, or later changes are in the way."""

    reason: str  # for the operator
    kind: FailureKind
    who: str = ""  # whose change the last one is
    words: str = ""  # the gist of the change that it is about


@dataclass(frozen=True, slots=True)
class Aside:
    """Unfinished work, kept as a commit on a side ref."""

    ref: str
    commit: str
    files: tuple[str, ...]


class Workspaces(Protocol):
    """Edits of sites. Everything that reaches the repository is fenced: a stale owner gets `ClaimLost`."""

    async def open(self, delivery: Delivery, project: Project) -> Workspace:
        """Check the conversation's tree out, upstream merged in; from now on older fences can't push."""
        ...

    async def commit(self, workspace: Workspace, signed: Signed) -> str | Unresolved | None:
        """Commit all that changed in the tree; None if nothing did. Nothing leaves this machine yet."""
        ...

    async def revert(self, workspace: Workspace, way: Intent, signed: Signed) -> Reverted | CannotRevert:
        """Undo the last change of the conversation (else of the lane), or redo the last undo.

        The commit is made but not pushed, and the tree holds it. Upstream that conflicted is merged in after
        that if it fits now, and else left for the next job.
        """
        ...

    async def push(self, workspace: Workspace, commit: str) -> Behind | Unresolved | None:
        """Make the commit the previewed one: all that is previewed already must be in it.

        `Behind` if it is not: the merge is to be built and looked at before it is pushed in turn;
        `Unresolved` if there can't be one.
        """
        ...

    async def latest(self, workspace: Workspace) -> str:
        """Look which commit is to be previewed now, another lane may have pushed; the tree then holds it."""
        ...

    async def keep_aside(self, workspace: Workspace, signed: Signed, commit: str = "") -> Aside | None:
        """Keep what is in the tree on a side ref, and put the tree back; None if there is nothing to keep.

        A commit that was made of the tree is kept instead: a build may have been in the tree since.
        """
        ...

    async def land(self, workspace: Workspace, commit: str) -> Unresolved | None:
        """Bring the repository's main branch to what was promoted to the live place."""
        ...


class History(Protocol):
    """What the commits of a site hold. Reads only."""

    async def has_change_of(self, workspace: Workspace, job: JobId) -> bool:
        """Look whether this job, however it ended, got a change into what is previewed."""
        ...

    async def changes(self, workspace: Workspace, commit: str) -> tuple[FileChange, ...]:
        """Tell what a job's commit changed itself, as files before and after; not what it was merged with."""
        ...

    async def holds(self, workspace: Workspace, commit: str, contents: Sequence[bytes]) -> tuple[bool, ...]:
        """Say of each content whether some file of the commit has exactly these bytes."""
        ...

    async def made(self, workspace: Workspace, commit: str, after: Sequence[str]) -> tuple[Made, ...]:
        """List the changes that a commit holds and none of the others does, oldest first.

        What was made and taken back in between is left out.
        """
        ...

    async def patch(self, workspace: Workspace, commit: str) -> str:
        """Show what a commit changed, as a patch of bounded size; "" if the commit is not there any more."""
        ...


class Repositories(Protocol):
    """Repositories of our own making, for projects that have none."""

    async def create(self, project: str, starter: Path | None = None) -> str:
        """Make a repository with a starter site, unless there is one; say where it is."""
        ...
