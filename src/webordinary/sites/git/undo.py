"""Undo and redo: which change is meant, and what taking it back makes of the site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from webordinary.core.claim import Delivery
from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent, JobId
from webordinary.core.lane import Lane
from webordinary.core.text import one_line, storable
from webordinary.ports.workspaces import CannotRevert, Made, Reverted, Signed
from webordinary.sites.git.conventions import (
    GIST_CHARACTERS,
    JOB,
    LANE,
    REDOES,
    SESSION,
    UNDOES,
    VALUE_CHARACTERS,
    Kept,
    message_of,
)
from webordinary.sites.git.mirror import Mirror

HISTORY_MAX = 1_000  # commits looked at
FILES_NAMED = 3
_TURNED = {Intent.UNDO: "Taken back", Intent.REDO: "Brought back"}


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


async def revert(
    mirror: Mirror, delivery: Delivery, base: str, way: Intent, signed: Signed
) -> Reverted | CannotRevert:
    """Make the commit that takes a change back, or brings it back, on top of a base."""
    job = delivery.job
    history = (await mirror.log(base, HISTORY_MAX, "--topo-order"))[::-1]
    stacks = replayed(history, str(job.lane))
    for change in meant(stacks, way, job.session):
        if change.with_upstream:
            return CannotRevert(
                f"The last change ({change.gist}) was joined with what others changed in the same lines, so "
                f"it can't be taken back by itself.",
                FailureKind.JOINED,
                words=change.gist,
            )
        now, before = await mirror.trees(base, f"{change.commit}^1")
        # KnownRefs from the commit that made the change, the state before it is one more change: merge that.
        opposite = await mirror.make_commit(before, (change.commit,), "The state before\n")
        merged = await mirror.merge(base, opposite)
        if merged.conflicts:
            return CannotRevert(_in_the_way(merged.conflicts, way), FailureKind.IN_THE_WAY)
        if merged.tree == now:
            continue  # it is gone already, by other ways: what was meant is the change before it
        key = {"undoes": change.job} if way is Intent.UNDO else {"redoes": change.job}
        message = message_of(delivery, replace(signed, body=f"{_TURNED[way]}: {change.gist}"), **key)
        commit = await mirror.make_commit(merged.tree, (base,), message, signed.sender)
        elsewhere = change.session != job.session
        return Reverted(commit, JobId(change.job), change.gist, commit, elsewhere)
    return _nothing_left(history, job.lane, way)


def _nothing_left(history: Sequence[Kept], lane: Lane, way: Intent) -> CannotRevert:
    """Say that nothing of this person is left, and whose the last change is: nobody undoes another's."""
    if way is Intent.REDO:
        return CannotRevert("None of their changes is taken back just now.", FailureKind.NOTHING_TO_REDO)
    lanes = {kept.trailers[LANE] for kept in history if JOB in kept.trailers and LANE in kept.trailers}
    applied = {
        change.commit: (other.rpartition("/")[2], change.gist)
        for other in lanes
        for change in replayed(history, other).applied
    }
    last = next((kept.commit for kept in reversed(history) if kept.commit in applied), None)
    if last is None:
        return CannotRevert("No change that was made by mail is in the site.", FailureKind.NOTHING_TO_UNDO)
    user, gist = applied[last]
    if user == lane.user:  # its own, but what it made is gone by other ways
        return CannotRevert("None of their changes is left to undo.", FailureKind.NOTHING_LEFT)
    reason = f"None of their changes is left to undo. The last change is by {user} (\u201c{gist}\u201d)."
    return CannotRevert(reason, FailureKind.LAST_BY_OTHER, who=user, words=gist)


def made_in(history: Sequence[Kept]) -> tuple[Made, ...]:
    """List the changes of a stretch of history, oldest first, without what was made and taken back in it."""
    found: dict[tuple[str, str], Made] = {}
    for kept in history:
        trailers = kept.trailers
        lane, job = trailers.get(LANE, ""), trailers.get(JOB)
        if not job:
            continue
        undone, redone = trailers.get(UNDOES, ""), trailers.get(REDOES, "")
        key, opposite = (f"-{undone}", undone) if undone else (redone or job, f"-{redone}")
        if found.pop((lane, opposite), None) is None:
            gist = one_line(kept.body, GIST_CHARACTERS) if undone or redone else kept.gist
            found[lane, key] = Made(kept.commit, lane.rpartition("/")[2], gist)
    return tuple(found.values())


async def made(mirror: Mirror, commit: str, after: Sequence[str]) -> tuple[Made, ...]:
    """See `History.made`. A commit that the mirror does not have holds nothing."""
    there = [one for one in (commit, *after) if (await mirror.run("cat-file", "-e", one)).code == 0]
    if commit not in there or commit in after:
        return ()
    history = await mirror.log(commit, HISTORY_MAX, "--topo-order", *(f"^{one}" for one in there[1:]))
    return made_in(history[::-1])


async def reverted_before(
    mirror: Mirror, delivery: Delivery, commit: str, tip: str
) -> Reverted | CannotRevert:
    """Tell again what an earlier attempt at this very job did."""
    (kept,) = await mirror.log(commit, 1)
    job = kept.trailers.get(UNDOES) or kept.trailers.get(REDOES)
    if not job:
        return CannotRevert("This mail was already carried out as a change.", FailureKind.ALREADY_DONE)
    history = await mirror.log(commit, HISTORY_MAX, "--topo-order")
    turned = next((one for one in history if one.is_of(job)), kept)
    elsewhere = turned.trailers.get(SESSION, "") != one_line(delivery.job.session, VALUE_CHARACTERS)
    return Reverted(commit, JobId(job), turned.gist, tip, elsewhere)


def _in_the_way(files: tuple[bytes, ...], way: Intent) -> str:
    names = [storable(path.decode(errors="replace")) for path in files]
    more = f" and {len(names) - FILES_NAMED} more" if len(names) > FILES_NAMED else ""
    listed = ", ".join(names[:FILES_NAMED]) + more
    word = "taken back" if way is Intent.UNDO else "brought back"
    return f"Later changes touch the same lines of {listed}, so this one can't be {word} by itself."
