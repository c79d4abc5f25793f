"""A commit becomes visible: build, gate, push, publish, and the facts for people. Stage 6.

Nothing is pushed that was not built and looked at: what is on the edit line is what everybody's next job
starts from. That holds for merges, too, when two people of a project are at work at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import TypeVar, overload

from webordinary.core.errors import BackendUnavailable
from webordinary.core.facts import Facts
from webordinary.core.failure import FailureKind
from webordinary.core.release import Refusal
from webordinary.core.work import BuildFailed
from webordinary.flows.preview_facts import BuiltSite, compared, preview_facts
from webordinary.flows.tools import Task, Tools
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import Behind, Unresolved
from webordinary.publish.links import broken_links
from webordinary.publish.manifest import Refused, manifest

T = TypeVar("T")

REFUSALS_NAMED = 5
ROUNDS_MAX = 10  # others were first so often: each round is a build


@dataclass(frozen=True, slots=True)
class Previewed:
    """It can be seen; the facts say where, and what is different."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class NotPreviewed:
    """It can't be shown; what was served before is served still."""

    reason: str  # for the operator
    kind: FailureKind


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """What is to be shown: a commit that the tree holds, and the one in it that is the job's own change."""

    commit: str
    own: str  # "" if there is none


@overload
async def make_preview(tools: Tools, task: Task, request: PreviewRequest) -> Previewed | NotPreviewed: ...


@overload
async def make_preview(
    tools: Tools, task: Task, request: PreviewRequest, stop: Stop
) -> Previewed | NotPreviewed | None: ...


async def make_preview(
    tools: Tools, task: Task, request: PreviewRequest, stop: Stop | None = None
) -> Previewed | NotPreviewed | None:
    """Bring a commit, checked out in the tree, to the preview place; None if a stop came before the push.

    The push is the point of no return: from there on a stop is too late, and the job is done.
    """
    commit = request.commit
    for _ in range(ROUNDS_MAX):
        built = await _unless_stopped(_built(tools, task), stop)
        if built is None:
            return None
        if isinstance(built, NotPreviewed):
            is_own = commit == request.commit or built.kind is FailureKind.SECRET
            return built if is_own else replace(built, kind=FailureKind.NOT_TOGETHER)
        match await tools.workspaces.push(task.workspace, commit):
            case None:
                return await _published(tools, task, PreviewRequest(commit, request.own), built)
            case Behind(both):
                commit = both
            case Unresolved(files):
                reason = f"Somebody else changed the same lines a moment ago: {', '.join(files)}."
                return NotPreviewed(reason, FailureKind.CONFLICT)
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


async def _built(tools: Tools, task: Task) -> BuiltSite | NotPreviewed:
    """Build, and let the gate look at every file."""
    workspace = task.workspace
    built = await tools.builder.build(workspace.project, workspace.room)
    if isinstance(built, BuildFailed):
        tail = f"\n{built.log_tail}" if built.log_tail else ""
        return NotPreviewed(f"The site could not be built: {built.reason}{tail}", FailureKind.BUILD_FAILED)
    gated = await asyncio.to_thread(manifest, built.output, inside=workspace.room.tree)
    if isinstance(gated, Refused):
        listed = "\n".join(_refusal(one) for one in gated.refusals[:REFUSALS_NAMED])
        secret = any(one.secret for one in gated.refusals)
        kind = FailureKind.SECRET if secret else FailureKind.NOT_PUBLISHABLE
        return NotPreviewed(f"The site can't be published like this.\n{listed}", kind)
    return BuiltSite(gated.release, built.output)


def _refusal(refusal: Refusal) -> str:
    """One line; a refusal of the whole has no path."""
    return f"{refusal.path}: {refusal.reason}" if refusal.path else refusal.reason.capitalize()


async def _published(tools: Tools, task: Task, request: PreviewRequest, built: BuiltSite) -> Previewed:
    comparison = await compared(tools, task, request.own, built)
    # Reading all pages for links keeps this process busy, publishing keeps the disk busy: side by side.
    _, broken = await asyncio.gather(
        _publish_latest(tools, task, request.commit, built),
        asyncio.to_thread(broken_links, built.folder, built.release),
    )
    commits = request.commit, request.own
    return Previewed(await preview_facts(tools, task, commits, built, comparison, broken))


async def _publish_latest(tools: Tools, task: Task, pushed: str, built: BuiltSite) -> None:
    """Publish, and look once more: whoever is last shows the latest, whatever lane it came from.

    Between our push and our publishing another lane may have done both; ours would take its change back.
    """
    while True:
        await tools.publisher.publish(task.delivery.claim, built.release, built.folder, pushed)
        latest = await tools.workspaces.latest(task.workspace)
        if latest == pushed:
            return
        again = await _built(tools, task)
        if isinstance(again, NotPreviewed):  # it was built before it was pushed: the next attempt may succeed
            raise BackendUnavailable(again.reason)
        pushed, built = latest, again
