"""What is previewed becomes what everybody sees, and the facts that tell which changes that were. Stage 6."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Facts, Failed
from webordinary.core.release import Place
from webordinary.flows.showing import NotShown, Showing, show
from webordinary.flows.tools import Tools
from webordinary.ports.workspaces import Made, Unresolved, Workspace
from webordinary.publish.comparing import became_visible
from webordinary.work.remembering import Memory

CHANGES_TOLD = 10
FILES_TOLD = 3


async def go_live(tools: Tools, delivery: Delivery, workspace: Workspace, memory: Memory) -> Done | Failed:
    """Make what is previewed live; where nothing was previewed yet, the site as it is."""
    claim, project = delivery.claim, delivery.claim.lane.project
    if refused := await _not_even_previewed(tools, delivery, workspace):
        return Failed(refused, memory.after("Could not publish"))
    before = await tools.publisher.current(project, Place.LIVE)
    commit = await tools.publisher.promote(claim)
    assert commit is not None
    landed = await tools.workspaces.land(workspace, commit)
    now = await tools.publisher.current(project, Place.LIVE)
    different = became_visible(before[0] if before else None, now[0]) if now else []
    address = tools.publisher.address(project, Place.LIVE)
    facts = {
        **memory.after("Published: the preview was made live"),
        "preview": address,
        "live": address,
        "live_changes": "\n".join(different),
        # A second attempt may find live what the first one made live: it can't say that all was as it is.
        "live_unchanged": "yes" if not different and delivery.attempt == 1 else "",
        **await _whose(tools, workspace, commit, before[1] if before else "", memory.shown),
        "warnings": _apart(landed) if landed else "",
    }
    return Done("Everybody sees it now.", {name: fact for name, fact in facts.items() if fact})


async def _not_even_previewed(tools: Tools, delivery: Delivery, workspace: Workspace) -> str:
    """Preview the site as it is if nothing is previewed yet; say why not, "" if it is."""
    if await tools.publisher.current(delivery.claim.lane.project, Place.PREVIEW) is not None:
        return ""
    if workspace.conflicts:
        return "Somebody else changed the same lines since. Nothing was published."
    shown = await show(tools, delivery, workspace, Showing(workspace.base, own=""))
    return shown.reason if isinstance(shown, NotShown) else ""


async def _whose(tools: Tools, workspace: Workspace, commit: str, live: str, shown: str) -> Facts:
    """Name the changes that went live and that this person has not made, or not seen in the preview."""
    user, before = workspace.delivery.claim.lane.user, [live] if live else []
    made = await tools.workspaces.made(workspace, commit, before)
    later = await tools.workspaces.made(workspace, commit, [*before, shown]) if shown else ()
    seen = {one.commit for one in made} - {one.commit for one in later}
    return {
        "live_later": _listed(later, user),
        "live_by_others": _listed([one for one in made if one.user != user and one.commit in seen], user),
    }


def _listed(changes: Sequence[Made], user: str) -> str:
    lines = [f"{'you' if one.user == user else one.user}: {one.gist}" for one in changes[-CHANGES_TOLD:]]
    more = len(changes) - CHANGES_TOLD
    return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)


def _apart(landed: Unresolved) -> str:
    more = len(landed.files) - FILES_TOLD
    files = ", ".join(landed.files[:FILES_TOLD]) + (f" and {more} more" if more > 0 else "")
    return (
        "What you published is live. But the people who work on the site's files changed the same lines "
        f"({files}), and theirs is not live. Your next change will bring both together, or tell you why not."
    )
