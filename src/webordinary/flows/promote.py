"""What is previewed becomes what everybody sees, and which changes that were. Stage 6."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from webordinary.core.facts import Facts, LiveFacts, RequestedChange
from webordinary.core.failure import FailureKind
from webordinary.core.outcome import Done, Failed
from webordinary.core.page_changes import PageChange
from webordinary.core.release import Place, Release
from webordinary.flows.preview import NotPreviewed, PreviewRequest, make_preview
from webordinary.flows.tools import Task, Tools
from webordinary.ports.workspaces import Made, Workspace
from webordinary.publish.page_changes import Version, page_changes, pages_to_read


async def promote(tools: Tools, task: Task) -> Done | Failed:
    """Make what is previewed live; where nothing was previewed yet, the site as it is."""
    delivery, workspace, memory = task.delivery, task.workspace, task.memory
    claim, project = delivery.claim, delivery.claim.lane.project
    if refused := await _not_even_previewed(tools, task):
        return Failed(refused.reason, Facts(memory=memory.after("Could not publish")), refused.kind)
    before = await tools.publisher.current(project, Place.LIVE)
    changes = await _changes(tools, project, before[0] if before else None)
    commit = await tools.publisher.promote(claim)
    assert commit is not None
    landed = await tools.workspaces.land(workspace, commit)
    now = await tools.publisher.current(project, Place.LIVE)
    is_different = not before or not now or before[0].id != now[0].id
    later, by_others = await _whose(
        tools, workspace, commit, before[1] if before else "", memory.shown_commit
    )
    live = LiveFacts(
        address=tools.publisher.address(project, Place.LIVE),
        changes=tuple(changes),
        # A second attempt may find live what the first one made live: it can't say that all was as it is.
        unchanged=not is_different and delivery.attempt == 1,
        later=later,
        by_others=by_others,
        upstream_conflicts=landed.files if landed else (),  # the next job merges
    )
    remembered = memory.after("Published: the preview was made live")
    return Done("Everybody sees it now.", Facts(live=live, memory=remembered))


async def _changes(tools: Tools, project: str, live: Release | None) -> list[PageChange]:
    """What everybody is about to see; of a site that nobody saw before, all of it is new."""
    previewed = await tools.publisher.current(project, Place.PREVIEW)
    if live is None or previewed is None:
        return []
    paths = pages_to_read(live, previewed[0])
    old, new = [await tools.publisher.read(project, place, paths) for place in (Place.LIVE, Place.PREVIEW)]
    before, after = Version.of(live, old), Version.of(previewed[0], new)
    return await asyncio.to_thread(page_changes, before, after, {})


async def _not_even_previewed(tools: Tools, task: Task) -> NotPreviewed | None:
    """Preview the site as it is if nothing is previewed yet; say why not, None if it is."""
    if await tools.publisher.current(task.delivery.claim.lane.project, Place.PREVIEW) is not None:
        return None
    if task.workspace.conflicts:
        return NotPreviewed("Somebody else changed the same lines since.", FailureKind.CONFLICT)
    preview = await make_preview(tools, task, PreviewRequest(task.workspace.base, own=""))
    return preview if isinstance(preview, NotPreviewed) else None


async def _whose(
    tools: Tools, workspace: Workspace, commit: str, live: str, shown: str
) -> tuple[tuple[RequestedChange, ...], tuple[RequestedChange, ...]]:
    """Name the changes that went live and that this person has not made, or not seen in the preview."""
    user, before = workspace.delivery.claim.lane.user, [live] if live else []
    made = await tools.history.made(workspace, commit, before)
    later = await tools.history.made(workspace, commit, [*before, shown]) if shown else ()
    seen = {one.commit for one in made} - {one.commit for one in later}
    others = [one for one in made if one.user != user and one.commit in seen]
    return _requested(later, user), _requested(others, user)


def _requested(changes: Sequence[Made], user: str) -> tuple[RequestedChange, ...]:
    return tuple(RequestedChange("" if one.user == user else one.user, one.gist) for one in changes)
