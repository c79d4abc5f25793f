"""A commit becomes visible: build, gate, push, publish, and the facts that tell people about it. Stage 6.

Nothing is pushed that was not built and looked at: what is on the edit line is what everybody's next job
starts from. That holds for merges, too, when two people of a project are at work at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, overload

from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable
from webordinary.core.facts import Facts, PagePictures, PreviewFacts
from webordinary.core.failure import FailureKind
from webordinary.core.mail import KeptFile, MailId
from webordinary.core.page_changes import PageChange
from webordinary.core.page_outline import PageOutline, outline
from webordinary.core.release import BrokenLink, Place, Refusal, Release, ReleasedFile
from webordinary.core.work import BuildFailed, ChangeKind, FileChange
from webordinary.flows.tools import Tools
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import Behind, Unresolved, Workspace
from webordinary.publish.files import read_plain_file
from webordinary.publish.links import broken_links
from webordinary.publish.manifest import Refused, manifest
from webordinary.publish.page_changes import Version, page_changes, page_name, pages_to_read

T = TypeVar("T")

log = logging.getLogger("webordinary.work")

LINKS_NAMED = 5
REFUSALS_NAMED = 5
PAGES_PICTURED = 1
ROUNDS_MAX = 10  # others were first so often: each round is a build


@dataclass(frozen=True, slots=True)
class Shown:
    """It can be seen; the facts say where, and what is different."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class NotShown:
    """It can't be shown; what was served before is served still."""

    reason: str  # for the operator
    kind: FailureKind


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
            is_own = commit == showing.commit or ready.kind is FailureKind.SECRET
            return ready if is_own else replace(ready, kind=FailureKind.NOT_TOGETHER)
        match await tools.workspaces.push(workspace, commit):
            case None:
                return await _publish(tools, delivery, workspace, Showing(commit, showing.own), ready)
            case Behind(both):
                commit = both
            case Unresolved(files):
                reason = f"Somebody else changed the same lines a moment ago: {', '.join(files)}."
                return NotShown(reason, FailureKind.CONFLICT)
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
        return NotShown(f"The site could not be built: {built.reason}{tail}", FailureKind.BUILD_FAILED)
    gated = await asyncio.to_thread(manifest, built.output, inside=workspace.room.tree)
    if isinstance(gated, Refused):
        listed = "\n".join(_refusal(one) for one in gated.refusals[:REFUSALS_NAMED])
        secret = any(one.secret for one in gated.refusals)
        kind = FailureKind.SECRET if secret else FailureKind.NOT_PUBLISHABLE
        return NotShown(f"The site can't be published like this.\n{listed}", kind)
    return _Ready(gated.release, built.output, gated.left_out)


def _refusal(refusal: Refusal) -> str:
    """One line; a refusal of the whole has no path."""
    return f"{refusal.path}: {refusal.reason}" if refusal.path else refusal.reason.capitalize()


async def _publish(
    tools: Tools, delivery: Delivery, workspace: Workspace, showing: Showing, ready: _Ready
) -> Shown:
    pushed, own = showing.commit, showing.own
    project = delivery.claim.lane.project
    former = await tools.publisher.current(project, Place.PREVIEW)
    mailed = await _mailed(tools, delivery)
    try:
        changes = await _changes(tools, workspace, own, former[0] if former else None, ready, mailed)
    except Exception as error:  # noqa: BLE001 - a change that can't be told is shown all the same
        log.warning("%s: what changed can't be told: %r", delivery.claim.lane, error)
        changes = []
    pages = list(dict.fromkeys(change.path for change in changes if change.path))[:PAGES_PICTURED]
    before = await _pictures(tools, project, pages)
    # Reading all pages for links keeps this process busy, publishing keeps the disk busy: side by side.
    _, broken = await asyncio.gather(
        _publish_latest(tools, delivery, workspace, pushed, ready),
        asyncio.to_thread(broken_links, ready.folder, ready.release),
    )
    after = await _pictures(tools, project, pages)
    preview = PreviewFacts(
        commit=pushed,
        release=ready.release.id,
        former_release=former[0].id if former and former[0].id != ready.release.id else "",
        address=tools.publisher.address(project, Place.PREVIEW),
        changes=tuple(changes),
        broken_links=await asyncio.to_thread(_titled, ready, broken[:LINKS_NAMED]),
        more_broken_links=max(len(broken) - LINKS_NAMED, 0),
        patch=await _patch(tools, workspace, own) if own else "",
        pictures=tuple(PagePictures(*one) for one in zip(pages, before, after, strict=False) if one[2]),
    )
    # Those of the mail's files came into the site whose very bytes are in it now.
    there = await tools.history.holds(workspace, pushed, list(mailed.values())) if mailed else ()
    used = {file.name: is_there for file, is_there in zip(mailed, there, strict=True)}
    return Shown(
        Facts(
            preview=preview,
            used_files=tuple(name for name, is_there in used.items() if is_there),
            unused_files=tuple(name for name, is_there in used.items() if not is_there),
        )
    )


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


async def _changes(
    tools: Tools,
    workspace: Workspace,
    own: str,
    former: Release | None,
    ready: _Ready,
    mailed: Mapping[KeptFile, bytes],
) -> list[PageChange]:
    """Compare the pages as they are previewed with those that are about to be."""
    if not own:
        return []
    names = {hashlib.sha256(bytes_).hexdigest(): file.claimed_name for file, bytes_ in mailed.items()}
    after = ready.release
    old: dict[str, bytes] = {}
    if not workspace.project.build:  # what the change did itself, whatever others did meanwhile
        sources = await tools.history.changes(workspace, own)
        former, old = _before(sources, workspace.project.output, after)
    if former is None:
        return []  # nothing was shown yet, and what the sources were built to is not known
    paths = pages_to_read(former, after)
    new = await asyncio.to_thread(_read_pages, ready.folder, after, paths)
    if workspace.project.build:
        pages = await tools.publisher.read(workspace.project.name, Place.PREVIEW, paths)
    else:
        pages = {**new, **old}
    return await asyncio.to_thread(page_changes, Version.of(former, pages), Version.of(after, new), names)


def _before(sources: Sequence[FileChange], output: str, after: Release) -> tuple[Release, dict[str, bytes]]:
    """The release before a change of a site that is not built, and the changed files as they were."""
    files = {file.path: file for file in after.files}
    old: dict[str, bytes] = {}
    for one in sources:
        path = one.path.removeprefix(f"{output.strip('/')}/") if output else one.path
        files.pop(path, None)
        if one.kind is not ChangeKind.ADDED:
            content = one.old or b""
            old[path] = content
            files[path] = ReleasedFile(path, len(content), hashlib.sha256(content).hexdigest())
    return Release(tuple(files[path] for path in sorted(files))), old


def _read_pages(folder: Path, release: Release, paths: Sequence[str]) -> dict[str, bytes]:
    return {
        file.path: content
        for file in release.files
        if file.path in set(paths) and (content := read_plain_file(folder / file.path)) is not None
    }


def _titled(ready: _Ready, broken: Sequence[BrokenLink]) -> tuple[BrokenLink, ...]:
    """Links that lead nowhere, with the titles of their pages; the site is published all the same."""
    pages = _read_pages(ready.folder, ready.release, [one.page for one in broken])
    words = {path: outline(content.decode(errors="replace")) for path, content in pages.items()}
    return tuple(
        replace(one, title=page_name(one.page, words.get(one.page, PageOutline()))) for one in broken
    )


async def _patch(tools: Tools, workspace: Workspace, commit: str) -> str:
    """Keep the commit's patch for the operator; say under which key."""
    patch = await tools.history.patch(workspace, commit)
    return await tools.blobs.put(patch.encode(errors="replace")) if patch else ""


async def _mailed(tools: Tools, delivery: Delivery) -> dict[KeptFile, bytes]:
    mail = await tools.backend.mailbox.mail(MailId(delivery.job.message_id))
    return {file: await tools.blobs.get(file.blob) for file in mail.files} if mail else {}


async def _pictures(tools: Tools, project: str, pages: Sequence[str]) -> list[str]:
    """Take a picture of each page as it is served now; give the keys under which they are kept."""
    base = tools.publisher.address(project, Place.PREVIEW)
    if tools.camera is None or not base or not pages:
        return []
    taken = await tools.camera.pictures([f"{base}{page}" for page in pages])
    return [await tools.blobs.put(picture) if picture else "" for picture in taken]
