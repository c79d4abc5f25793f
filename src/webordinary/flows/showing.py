"""A commit becomes visible: build, gate, push, publish, and the facts that tell people about it. Stage 6.

Nothing is pushed that was not built and looked at: what is on the edit line is what everybody's next job
starts from. That holds for merges, too, when two people of a project are at work at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, overload

from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable
from webordinary.core.mail import MailId
from webordinary.core.outcome import Facts
from webordinary.core.release import Place, Refusal, Release
from webordinary.core.work import BuildFailed
from webordinary.flows.tools import Tools
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import Behind, Unresolved, Workspace
from webordinary.publish.links import broken_links
from webordinary.publish.manifest import Refused, manifest
from webordinary.work.changes import told

T = TypeVar("T")

NOT_TOGETHER = (
    "Somebody else changed the site at the same time, and the two changes do not work together. "
    "Theirs is in the site, yours is not."
)

LINKS_TOLD = 5
REFUSALS_TOLD = 5
PAGES_PICTURED = 2
ROUNDS_MAX = 10  # others were first so often: each round is a build


@dataclass(frozen=True, slots=True)
class Shown:
    """It can be seen; the facts tell where and what is different."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class NotShown:
    """It can't be shown; what was served before is served still."""

    reason: str
    secret: bool = False  # whether that is because of a secret


@dataclass(frozen=True, slots=True)
class Showing:
    """What is to be shown: a commit that the tree holds, and the one in it that is the job's own change."""

    commit: str
    own: str  # "" if there is none


@overload
async def show(
    tools: Tools, delivery: Delivery, workspace: Workspace, showing: Showing
) -> Shown | NotShown: ...


@overload
async def show(
    tools: Tools, delivery: Delivery, workspace: Workspace, showing: Showing, stop: Stop
) -> Shown | NotShown | None: ...


async def show(
    tools: Tools, delivery: Delivery, workspace: Workspace, showing: Showing, stop: Stop | None = None
) -> Shown | NotShown | None:
    """Bring a commit, checked out in the tree, to the preview place; None if a stop came before the push.

    The push is the point of no return: from there on a stop is too late, and the job is done.
    """
    commit = showing.commit
    for _ in range(ROUNDS_MAX):
        ready = await _unless_stopped(_ready(tools, workspace), stop)
        if ready is None:
            return None
        if isinstance(ready, NotShown):
            return (
                ready
                if commit == showing.commit
                else replace(ready, reason=f"{NOT_TOGETHER}\n{ready.reason}")
            )
        match await tools.workspaces.push(workspace, commit):
            case None:
                return await _publish(tools, delivery, workspace, Showing(commit, showing.own), ready)
            case Behind(both):
                commit = both
            case Unresolved(files):
                return NotShown(
                    f"Somebody else changed the same lines a moment ago: {', '.join(files)}. "
                    "Please send it again."
                )
    raise BackendUnavailable("others change the site all the time, this change did not get in")


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
        listed = "\n".join(_refusal(one) for one in gated.refusals[:REFUSALS_TOLD])
        secret = any(one.secret for one in gated.refusals)
        return NotShown(f"The site can't be published like this.\n{listed}", secret)
    return _Ready(gated.release, built.output, gated.left_out)


def _refusal(refusal: Refusal) -> str:
    """One line; a refusal of the whole has no path."""
    return f"{refusal.path}: {refusal.reason}" if refusal.path else refusal.reason.capitalize()


async def _publish(
    tools: Tools, delivery: Delivery, workspace: Workspace, showing: Showing, ready: _Ready
) -> Shown:
    pushed, own = showing.commit, showing.own
    changes = await tools.workspaces.changes(workspace, own) if own else ()
    project = delivery.claim.lane.project
    pages = [change.path for change in changes if change.path.endswith(".html")][:PAGES_PICTURED]
    before, former = await _pictures(tools, project, pages), await _previewed(tools, project)
    # Reading all pages for links keeps this process busy, publishing keeps the disk busy: side by side.
    _, warnings = await asyncio.gather(
        _publish_latest(tools, delivery, workspace, pushed, ready), asyncio.to_thread(_warnings, ready)
    )
    facts = {
        "commit": pushed,
        "release": ready.release.id,
        "former_release": former if former != ready.release.id else "",
        "preview": tools.publisher.address(project, Place.PREVIEW),
        "publishable": "yes",
        "changes": "\n".join(told(changes)),
        "warnings": "\n".join(warnings),
        "patch": await _patch(tools, workspace, own) if own else "",
        "pictures": _paired(pages, before, await _pictures(tools, project, pages)),
        **await _used(tools, delivery, workspace, pushed),
    }
    return Shown({name: fact for name, fact in facts.items() if fact})


async def _publish_latest(
    tools: Tools, delivery: Delivery, workspace: Workspace, pushed: str, ready: _Ready
) -> None:
    """Publish, and look once more: whoever is last shows the latest, whatever lane it came from.

    Between our push and our publishing another lane may have done both; ours would take its change back.
    """
    while True:
        await tools.publisher.publish(delivery.claim, ready.release, ready.folder, pushed)
        latest = await tools.workspaces.latest(workspace)
        if latest == pushed:
            return
        again = await _ready(tools, workspace)
        if isinstance(again, NotShown):  # it was built before it was pushed: another attempt may well succeed
            raise BackendUnavailable(again.reason)
        pushed, ready = latest, again


async def _previewed(tools: Tools, project: str) -> str:
    """Name the release that is previewed now, for whoever wants to see before and after later."""
    current = await tools.publisher.current(project, Place.PREVIEW)
    return current[0].id if current else ""


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


async def _used(tools: Tools, delivery: Delivery, workspace: Workspace, commit: str) -> Facts:
    """Tell which of the mail's files came into the site: those whose very bytes are in it now."""
    mail = await tools.backend.mailbox.mail(MailId(delivery.job.message_id))
    if mail is None or not mail.files:
        return {}
    contents = [await tools.blobs.get(file.blob) for file in mail.files]
    there = await tools.workspaces.holds(workspace, commit, contents)
    files = list(zip(mail.files, there, strict=True))
    return {
        "used": "\n".join(file.name for file, is_there in files if is_there),
        "unused": "\n".join(file.name for file, is_there in files if not is_there),
    }


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
