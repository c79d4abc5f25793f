"""A commit becomes visible: build, gate, push, publish, and the facts that tell people about it. Stage 6."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, overload

from webordinary.core.claim import Delivery
from webordinary.core.mail import MailId
from webordinary.core.outcome import Facts
from webordinary.core.release import Place, Release
from webordinary.core.work import BuildFailed, FileChange
from webordinary.flows.tools import Tools
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import Unresolved, Workspace
from webordinary.publish.links import broken_links
from webordinary.publish.manifest import Refused, manifest
from webordinary.work.changes import told

T = TypeVar("T")

LINKS_TOLD = 5
REFUSALS_TOLD = 5
PAGES_PICTURED = 2


@dataclass(frozen=True, slots=True)
class Shown:
    """It can be seen; the facts tell where and what is different."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class NotShown:
    """It can't be shown; what was served before is served still."""

    reason: str
    facts: Facts = field(default_factory=dict)


@overload
async def show(tools: Tools, delivery: Delivery, workspace: Workspace, commit: str) -> Shown | NotShown: ...


@overload
async def show(
    tools: Tools, delivery: Delivery, workspace: Workspace, commit: str, stop: Stop
) -> Shown | NotShown | None: ...


async def show(
    tools: Tools, delivery: Delivery, workspace: Workspace, commit: str, stop: Stop | None = None
) -> Shown | NotShown | None:
    """Bring a commit, checked out in the tree, to the preview place; None if a stop came before the push.

    The push is the point of no return: from there on a stop is too late, and the job is done.
    """
    ready = await _unless_stopped(_ready(tools, workspace), stop)
    if ready is None or isinstance(ready, NotShown):
        return ready
    return await _publish(tools, delivery, workspace, commit, ready)


async def _unless_stopped(work: Coroutine[None, None, T], stop: Stop | None) -> T | None:
    """Do it, unless a stop comes first; then nothing of it goes on."""
    doing = asyncio.create_task(work, name="build")
    stopping = asyncio.create_task(stop.wait(), name="stop") if stop else None
    try:
        await asyncio.wait({doing, stopping} if stopping else {doing}, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        tasks = [doing, stopping] if stopping else [doing]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Ready:
    release: Release
    folder: Path
    left_out: tuple[str, ...]


async def _ready(tools: Tools, workspace: Workspace) -> _Ready | NotShown:
    """Build, and let the gate look at every file."""
    built = await tools.builder.build(workspace.project, workspace.room)
    if isinstance(built, BuildFailed):
        tail = f"\n{built.log_tail}" if built.log_tail else ""
        return NotShown(f"The site could not be built: {built.reason}{tail}")
    gated = await asyncio.to_thread(manifest, built.output, inside=workspace.room.tree)
    if isinstance(gated, Refused):
        listed = "\n".join(f"{one.path}: {one.reason}" for one in gated.refusals[:REFUSALS_TOLD])
        return NotShown(f"Something in it must not be published.\n{listed}")
    return _Ready(gated.release, built.output, gated.left_out)


async def _publish(
    tools: Tools, delivery: Delivery, workspace: Workspace, commit: str, ready: _Ready
) -> Shown | NotShown:
    pushed = await tools.workspaces.push(workspace, commit)
    if isinstance(pushed, Unresolved):
        return NotShown(
            f"Somebody else changed the same lines a moment ago: {', '.join(pushed.files)}. "
            "Please send it again."
        )
    if pushed != commit:  # another lane of this project was first: the tree holds both changes now
        merged = await _ready(tools, workspace)
        if isinstance(merged, NotShown):
            return merged
        ready = merged
    changes = await tools.workspaces.changes(workspace, workspace.previewed, pushed)
    project = delivery.claim.lane.project
    pages = [change.path for change in changes if change.path.endswith(".html")][:PAGES_PICTURED]
    before = await _pictures(tools, project, pages)
    # Reading all pages for links keeps this process busy, publishing keeps the disk busy: side by side.
    again, warnings = await asyncio.gather(
        _publish_latest(tools, delivery, workspace, pushed, ready), asyncio.to_thread(_warnings, ready)
    )
    if isinstance(again, NotShown):
        return again
    facts = {
        "commit": pushed,
        "release": ready.release.id,
        "preview": tools.publisher.address(project, Place.PREVIEW),
        "publishable": "yes",
        "changes": "\n".join(told(changes)),
        "warnings": "\n".join(warnings),
        "patch": await _patch(tools, workspace, pushed),
        "pictures": _paired(pages, before, await _pictures(tools, project, pages)),
        **await _used(tools, delivery, changes),
    }
    return Shown({name: fact for name, fact in facts.items() if fact})


async def _publish_latest(
    tools: Tools, delivery: Delivery, workspace: Workspace, pushed: str, ready: _Ready
) -> NotShown | None:
    """Publish, and look once more: whoever is last shows the latest, whatever lane it came from.

    Between our push and our publishing another lane may have done both; ours would take its change back.
    """
    while True:
        await tools.publisher.publish(delivery.claim, ready.release, ready.folder, pushed)
        latest = await tools.workspaces.latest(workspace)
        if latest == pushed:
            return None
        again = await _ready(tools, workspace)
        if isinstance(again, NotShown):
            return again
        pushed, ready = latest, again


def _warnings(ready: _Ready) -> list[str]:
    """Tell of links that lead nowhere; the site is published all the same."""
    broken = broken_links(ready.folder, ready.release)
    lines = [f"{one.page}: the link to {one.target} leads nowhere" for one in broken[:LINKS_TOLD]]
    more = len(broken) - LINKS_TOLD
    return [*lines, f"and {more} more"] if more > 0 else lines


async def _patch(tools: Tools, workspace: Workspace, commit: str) -> str:
    """Keep the commit's patch for the operator; say under which key."""
    patch = await tools.workspaces.patch(workspace, commit)
    return await tools.blobs.put(patch.encode(errors="replace")) if patch else ""


async def _used(tools: Tools, delivery: Delivery, changes: Sequence[FileChange]) -> Facts:
    """Tell which of the mail's files came into the site: those whose very bytes are in it now."""
    mail = await tools.backend.mailbox.mail(MailId(delivery.job.message_id))
    if mail is None or not mail.files:
        return {}
    added = {change.new for change in changes if change.new is not None}
    used: list[str] = []
    unused: list[str] = []
    for file in mail.files:
        (used if await tools.blobs.get(file.blob) in added else unused).append(file.name)
    return {"used": "\n".join(used), "unused": "\n".join(unused)}


async def _pictures(tools: Tools, project: str, pages: Sequence[str]) -> list[str]:
    """Take a picture of each page as it is served now; give the keys under which they are kept."""
    base = tools.publisher.address(project, Place.PREVIEW)
    if tools.camera is None or not base or not pages:
        return []
    taken = await tools.camera.pictures([f"{base}{page}" for page in pages])
    return [await tools.blobs.put(picture) if picture else "" for picture in taken]


def _paired(pages: Sequence[str], before: Sequence[str], after: Sequence[str]) -> str:
    pairs = zip(pages, before, after, strict=False)
    return "\n".join(f"{old or '-'} {new} {page}" for page, old, new in pairs if new)
