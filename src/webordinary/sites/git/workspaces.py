"""Workspaces on git: see `Workspaces` for what is promised, `fencing` and `mirror` for how it is kept."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from webordinary.core.claim import Delivery
from webordinary.core.errors import BadInput
from webordinary.core.job import Intent, JobId
from webordinary.core.lane import Lane
from webordinary.core.site import Project
from webordinary.core.work import FileChange
from webordinary.ports.clock import Clock
from webordinary.ports.workspaces import (
    Aside,
    Behind,
    CannotRevert,
    Made,
    Reverted,
    Signed,
    Unresolved,
    Workspace,
)
from webordinary.sites.git import diff, undo
from webordinary.sites.git.conventions import EDIT, Names, checked_commit, message_of
from webordinary.sites.git.eviction import make_room
from webordinary.sites.git.fencing import Fenced, PushPlan
from webordinary.sites.git.merge import UPSTREAM, commit_of, joined, named, with_upstream
from webordinary.sites.git.mirror import KnownRefs, Mirror, MirrorDamaged, Update
from webordinary.sites.git.process import in_thread
from webordinary.sites.git.sanitize_tree import remove
from webordinary.sites.git.tree import Tree, with_markers
from webordinary.sites.git.workspace_lock import LockedFolder, mark_used

IN_USE_SECONDS = 6 * 3600.0  # longer than a job takes; nobody tells us when one is over
MEASURE_SECONDS = 60.0  # measuring the disk takes a moment: not with every job


class GitWorkspaces:
    """See `Workspaces`. One for each worker process; `close` leaves its folder to the next."""

    def __init__(
        self,
        root: Path,
        *,
        disk_cap_bytes: int,
        network_environment: Mapping[str, str] | None = None,
        clock: Clock,
        store: str = "",
    ) -> None:
        """Keep mirrors and trees under this folder; only what uses the network gets its environment.

        `store` names where claims come from: a repository that another one used is taken over.
        """
        self._store = store
        self._root, self._cap, self._clock = root.absolute(), disk_cap_bytes, clock
        self._network_environment = dict(network_environment or {})
        self._own: LockedFolder | None = None
        self._locks: dict[str, asyncio.Lock] = {}
        self._prepared: set[str] = set()
        self._in_use: dict[Lane, tuple[Path, float]] = {}  # the last conversation of each lane
        self._measured_at: float | None = None

    def close(self) -> None:
        """Leave the folder to whoever comes next."""
        if self._own is not None:
            self._own.release()
            self._own = None

    # --- the port -------------------------------------------------------------------------------------

    async def open(self, delivery: Delivery, project: Project) -> Workspace:
        """See `Workspaces.open`."""
        async with self.at_work(delivery, project) as (fenced, tree):
            seen = await self._taken(fenced)
            committed = await commit_of(fenced.mirror, delivery.job.id, seen.edit)
            workspace = Workspace(delivery, project, tree.room, seen.previewed, seen.previewed)
            await tree.clear()
            if committed:
                await tree.put(seen.previewed)
                return replace(workspace, committed=committed.commit, said=committed.body)
            return await with_upstream(workspace, fenced.mirror, tree, seen)

    async def commit(self, workspace: Workspace, signed: Signed) -> str | Unresolved | None:
        """See `Workspaces.commit`."""
        async with self.at_work(workspace.delivery, workspace.project) as (fenced, tree):
            mirror, parents = fenced.mirror, [workspace.base]
            written = await tree.write()
            if workspace.upstream:
                conflicts = (await mirror.merge(workspace.base, workspace.upstream)).conflicts
                left = await with_markers(mirror, written, conflicts)
                if left:
                    return Unresolved(named(left))
                parents.append(workspace.upstream)
            elif [written] == await mirror.trees(workspace.base):
                return None
            message = message_of(workspace.delivery, signed)
            return await mirror.make_commit(written, parents, message, signed.sender)

    async def revert(self, workspace: Workspace, way: Intent, signed: Signed) -> Reverted | CannotRevert:
        """See `Workspaces.revert`."""
        if way not in (Intent.UNDO, Intent.REDO):
            raise BadInput(f"{way} is neither undo nor redo")
        async with self.at_work(workspace.delivery, workspace.project) as (fenced, tree):
            mirror, work = fenced.mirror, workspace.delivery
            if workspace.committed:
                return await undo.reverted_before(mirror, work, workspace.committed, workspace.previewed)
            turned = await undo.revert(mirror, work, workspace.base, way, signed)
            if isinstance(turned, Reverted) and workspace.upstream:
                tip = await joined(mirror, work, turned.commit, workspace.upstream, UPSTREAM)
                turned = replace(turned, tip=tip) if isinstance(tip, str) else turned
            await tree.put(turned.tip if isinstance(turned, Reverted) else workspace.base)
            return turned

    async def push(self, workspace: Workspace, commit: str) -> Behind | Unresolved | None:
        """See `Workspaces.push`."""
        checked_commit(commit)
        async with self.at_work(workspace.delivery, workspace.project) as (fenced, tree):

            async def plan(seen: KnownRefs) -> PushPlan[Behind | Unresolved | None]:
                tip = await joined(fenced.mirror, workspace.delivery, seen.edit, commit)
                if isinstance(tip, Unresolved):
                    return PushPlan(tip, push=False)
                if tip != commit:
                    return PushPlan(Behind(tip), push=False)
                updates = (Update(EDIT, tip, seen.edit), Update(fenced.names.session, tip, seen.session))
                return PushPlan(None, updates, push=seen.edit != tip)

            pushed = await fenced.push(plan)
            if pushed is None:
                tree.is_now(commit)
            elif isinstance(pushed, Behind):
                await tree.put(pushed.commit)
            return pushed

    async def latest(self, workspace: Workspace) -> str:
        """See `Workspaces.latest`."""
        async with self.at_work(workspace.delivery, workspace.project) as (fenced, tree):
            seen = await fenced.take()
            if seen.previewed != tree.put_last():  # else a build's output stays: it is looked at for links
                await tree.put(seen.previewed)
            return seen.previewed

    async def keep_aside(self, workspace: Workspace, signed: Signed, commit: str = "") -> Aside | None:
        """See `Workspaces.keep_aside`."""
        async with self.at_work(workspace.delivery, workspace.project) as (fenced, tree):
            mirror, ref = fenced.mirror, fenced.names.unfinished
            if not commit:
                written = await tree.write()
                if [written] == await mirror.trees(tree.put_last()):
                    return None
                parents = [parent for parent in (workspace.base, workspace.upstream) if parent]
                message = message_of(workspace.delivery, signed)
                commit = await mirror.make_commit(written, parents, message, signed.sender)

            async def plan(_: KnownRefs) -> PushPlan[None]:
                return PushPlan(None, (Update(ref, commit, None),))

            await fenced.push(plan)
            await tree.put(workspace.base)
            return Aside(ref, commit, await diff.changed_files(mirror, commit))

    async def land(self, workspace: Workspace, commit: str) -> Unresolved | None:
        """See `Workspaces.land`."""
        checked_commit(commit)
        async with self.at_work(workspace.delivery, workspace.project) as (fenced, _):
            await fenced.mirror.fetch(fenced.names.fetched)
            branch = await fenced.mirror.main_branch()

            async def plan(seen: KnownRefs) -> PushPlan[Unresolved | None]:
                tip = await joined(fenced.mirror, workspace.delivery, seen.main, commit)
                if isinstance(tip, Unresolved):
                    return PushPlan(tip, push=False)
                return PushPlan(None, (Update(branch, tip, seen.main),), push=tip != seen.main)

            return await fenced.push(plan)

    # --- one project at a time ------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def at_work(self, delivery: Delivery, project: Project) -> AsyncIterator[tuple[Fenced, Tree]]:
        """Have a project's mirror for oneself; other lanes of the project wait, other projects do not."""
        lane = delivery.claim.lane
        if project.name != lane.project:
            raise BadInput(f"a job of {lane} can't be done in the site {project.name}")
        names = Names.of(delivery)
        own = self._own_folder()
        folder = own.session(names.project, names.conversation)
        self._in_use[lane] = (folder, self._clock.monotonic())
        await self._make_room(own)
        mirror = Mirror(
            own.mirror(names.project),
            project.repository,
            self._clock,
            network_environment=self._network_environment,
            held=(own.handle,),
            store=self._store,
        )
        async with self._locks.setdefault(names.project, asyncio.Lock()):
            try:
                for used in (folder, own.project(names.project)):
                    mark_used(used, self._clock.now())
                if names.project not in self._prepared:
                    await mirror.prepare()
                    self._prepared.add(names.project)
                yield Fenced(mirror, names, delivery.claim), Tree(folder, mirror)
            except BaseException:
                self._prepared.discard(names.project)  # a killed command may have left a lock in it
                raise

    async def _taken(self, fenced: Fenced) -> KnownRefs:
        """Take the lane in the repository; a damaged mirror is only a copy, and made anew."""
        try:
            return await fenced.take()
        except MirrorDamaged:
            await in_thread(remove, fenced.mirror.folder)
            await fenced.mirror.prepare()
            return await fenced.take()

    def _own_folder(self) -> LockedFolder:
        if self._own is None:
            self._own = LockedFolder.acquire_any(self._root)
        return self._own

    async def _make_room(self, own: LockedFolder) -> None:
        """Keep below the cap of the disk, looking now and then."""
        now = self._clock.monotonic()
        if self._measured_at is not None and now - self._measured_at < MEASURE_SECONDS:
            return
        self._measured_at = now
        gone = await make_room(self._root, own, self._cap, self._folders_in_use)
        self._prepared -= {path.name for path in gone if path.parent == own.folder}

    def _folders_in_use(self) -> list[Path]:
        """The folders of conversations that a job may be working in."""
        long_ago = self._clock.monotonic() - IN_USE_SECONDS
        return [folder for folder, used_at in self._in_use.values() if used_at >= long_ago]


class GitHistory:
    """See `History`."""

    def __init__(self, workspaces: GitWorkspaces) -> None:
        """Read in the mirrors of these."""
        self._workspaces = workspaces

    async def has_change_of(self, workspace: Workspace, job: JobId) -> bool:
        """See `History.has_change_of`."""
        async with self._workspaces.at_work(workspace.delivery, workspace.project) as (fenced, _):
            return await commit_of(fenced.mirror, job, workspace.previewed) is not None

    async def changes(self, workspace: Workspace, commit: str) -> tuple[FileChange, ...]:
        """See `History.changes`."""
        async with self._workspaces.at_work(workspace.delivery, workspace.project) as (fenced, _):
            return await diff.changes(fenced.mirror, checked_commit(commit))

    async def holds(self, workspace: Workspace, commit: str, contents: Sequence[bytes]) -> tuple[bool, ...]:
        """See `History.holds`."""
        async with self._workspaces.at_work(workspace.delivery, workspace.project) as (fenced, _):
            return await diff.holds(fenced.mirror, checked_commit(commit), contents)

    async def made(self, workspace: Workspace, commit: str, after: Sequence[str]) -> tuple[Made, ...]:
        """See `History.made`."""
        async with self._workspaces.at_work(workspace.delivery, workspace.project) as (fenced, _):
            return await undo.made(fenced.mirror, checked_commit(commit), [*map(checked_commit, after)])

    async def patch(self, workspace: Workspace, commit: str) -> str:
        """See `History.patch`."""
        async with self._workspaces.at_work(workspace.delivery, workspace.project) as (fenced, _):
            return await diff.patch(fenced.mirror, checked_commit(commit))
