"""Lines of history brought together: what is previewed, what developers did, what another lane did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from webordinary.core.claim import Delivery
from webordinary.core.job import JobId
from webordinary.core.text import storable
from webordinary.ports.workspaces import Unresolved, Workspace
from webordinary.sites.git.conventions import EDIT, MAIN_SEEN, Kept, merge_message
from webordinary.sites.git.conventions import seen as seen_ref
from webordinary.sites.git.mirror import KnownRefs, Mirror
from webordinary.sites.git.tree import Tree

EARLIER_COMMITS_MAX = 200  # searched for what an earlier attempt at a job made
UPSTREAM, OTHERS = "Bring in what was changed upstream", "Join with what others changed meanwhile"


async def commit_of(mirror: Mirror, job: JobId, edit: str) -> Kept | None:
    """What a job got into the line of edits; None if it did not get that far."""
    history = await mirror.log(edit, EARLIER_COMMITS_MAX) if edit else ()
    return next((kept for kept in history if kept.is_of(job)), None)


async def with_upstream(workspace: Workspace, mirror: Mirror, tree: Tree, seen: KnownRefs) -> Workspace:
    """Put the tree to what is previewed, with what the site's developers did meanwhile."""
    meeting = await mirror.meeting(seen.previewed, seen.main)
    if meeting == seen.main:
        await tree.put(seen.previewed)
        return workspace
    if meeting == seen.previewed:
        await tree.put(seen.main)
        return replace(workspace, base=seen.main)
    merged = await mirror.merge(seen_ref(EDIT), MAIN_SEEN)  # by name: conflict markers show it
    if merged.conflicts:
        await tree.put(merged.tree)
        return replace(workspace, conflicts=named(merged.conflicts), upstream=seen.main)
    message = merge_message(workspace.delivery, UPSTREAM)
    base = await mirror.make_commit(merged.tree, (seen.previewed, seen.main), message)
    await tree.put(base)
    return replace(workspace, base=base)


async def joined(
    mirror: Mirror, delivery: Delivery, tip: str, commit: str, gist: str = OTHERS
) -> str | Unresolved:
    """Bring a commit onto a line of history: the new tip, which is the old one if it was there already."""
    if not tip:
        return commit
    meeting = await mirror.meeting(tip, commit)
    if meeting == commit:
        return tip
    if meeting == tip:
        return commit
    merged = await mirror.merge(tip, commit)
    if merged.conflicts:
        return Unresolved(named(merged.conflicts))
    message = merge_message(delivery, gist)
    return await mirror.make_commit(merged.tree, (tip, commit), message)


def named(paths: Iterable[bytes]) -> tuple[str, ...]:
    """Names of files as people and stores can have them."""
    return tuple(storable(path.decode(errors="replace")) for path in paths)
