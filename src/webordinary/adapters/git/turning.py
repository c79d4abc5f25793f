"""Undo and redo: which change is meant, and what taking it back makes of the site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from webordinary.adapters.git.messages import JOB, LANE, REDOES, SESSION, UNDOES, Kept, message_of
from webordinary.adapters.git.mirror import Mirror
from webordinary.core.claim import Delivery
from webordinary.core.job import Intent, JobId
from webordinary.core.text import storable
from webordinary.ports.workspaces import CannotTurn, Signed, Turned

HISTORY_MAX = 1_000  # commits looked at
FILES_TOLD = 3
INSTEAD = "Nothing was changed. Please describe in your own words what you would like instead."


@dataclass(frozen=True, slots=True)
class Change:
    """A job's change, in the site or taken back."""

    job: str
    gist: str
    session: str
    commit: str  # the one that put it into the site or took it back last
    turned_in: str | None = None  # the conversation that took it back
    with_upstream: bool = False  # one commit with what others did: neither comes without the other


@dataclass(frozen=True, slots=True)
class Stacks:
    """The changes of a lane that are in the site, and those that were taken back; oldest first."""

    applied: tuple[Change, ...]
    undone: tuple[Change, ...]


def replayed(history: Iterable[Kept], lane: str) -> Stacks:
    """Go through the history of a lane, oldest commit first."""
    applied: list[Change] = []
    undone: list[Change] = []
    for kept in history:
        trailers = kept.trailers
        if trailers.get(LANE) != lane or JOB not in trailers:
            continue
        session = trailers.get(SESSION, "")
        if UNDOES in trailers:
            _move(applied, undone, trailers[UNDOES], kept.commit, session)
        elif REDOES in trailers:
            _move(undone, applied, trailers[REDOES], kept.commit, None)
        else:
            applied.append(
                Change(trailers[JOB], kept.gist, session, kept.commit, with_upstream=len(kept.parents) > 1)
            )
            # A new change of a conversation ends its redo, as in every editor.
            undone = [change for change in undone if session not in (change.session, change.turned_in)]
    return Stacks(tuple(applied), tuple(undone))


def _move(source: list[Change], target: list[Change], job: str, commit: str, turned_in: str | None) -> None:
    for change in reversed(source):
        if change.job == job:
            source.remove(change)
            target.append(replace(change, commit=commit, turned_in=turned_in, with_upstream=False))
            return


def meant(stacks: Stacks, way: Intent, session: str) -> tuple[Change, ...]:
    """The changes that could be meant, last first: the conversation's own if it has any, else the lane's."""
    changes = stacks.applied if way is Intent.UNDO else stacks.undone
    own = tuple(change for change in changes if session in (change.session, change.turned_in))
    return tuple(reversed(own or changes))


async def turn(
    mirror: Mirror, delivery: Delivery, base: str, way: Intent, signed: Signed
) -> Turned | CannotTurn:
    """Make the commit that takes a change back, or brings it back, on top of a base."""
    job = delivery.job
    history = reversed(await mirror.log(base, HISTORY_MAX, "--topo-order"))
    stacks = replayed(history, str(job.lane))
    for change in meant(stacks, way, job.session):
        if change.with_upstream:
            return CannotTurn(
                f"The last change ({change.gist}) was joined with what others changed in the same lines, so "
                f"it can't be taken back by itself. {INSTEAD}"
            )
        now, before = await mirror.trees(base, f"{change.commit}^1")
        # Seen from the commit that made the change, the state before it is one more change: merge that.
        opposite = await mirror.make_commit(before, (change.commit,), "The state before\n")
        merged = await mirror.merge(base, opposite)
        if merged.conflicts:
            return CannotTurn(_in_the_way(merged.conflicts, way))
        if merged.tree == now:
            continue  # it is gone already, by other ways: what was meant is the change before it
        key = {"undoes": change.job} if way is Intent.UNDO else {"redoes": change.job}
        message = message_of(delivery, signed, **key)
        commit = await mirror.make_commit(merged.tree, (base,), message, signed.sender)
        return Turned(commit, JobId(change.job), change.gist)
    word = "undo" if way is Intent.UNDO else "redo"
    made = "made by mail" if way is Intent.UNDO else "taken back"
    return CannotTurn(f"There is nothing to {word}: no change that was {made} is left. Nothing was changed.")


async def turned_before(mirror: Mirror, commit: str) -> Turned | CannotTurn:
    """Tell again what an earlier attempt at this very job did."""
    (kept,) = await mirror.log(commit, 1)
    job = kept.trailers.get(UNDOES) or kept.trailers.get(REDOES)
    if not job:
        return CannotTurn("This mail was already carried out as a change. Nothing more was changed.")
    history = await mirror.log(commit, HISTORY_MAX, "--topo-order")
    gist = next((one.gist for one in history if one.is_of(job)), "")
    return Turned(commit, JobId(job), gist)


def _in_the_way(files: tuple[bytes, ...], way: Intent) -> str:
    names = [storable(path.decode(errors="replace")) for path in files]
    more = f" and {len(names) - FILES_TOLD} more" if len(names) > FILES_TOLD else ""
    listed = ", ".join(names[:FILES_TOLD]) + more
    word = "taken back" if way is Intent.UNDO else "brought back"
    return f"Later changes touch the same lines of {listed}, so this one can't be {word} by itself. {INSTEAD}"
