"""Room on the disk: the coldest trees go first, then the coldest mirrors; nothing that is in use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from webordinary.sites.git.process import in_thread
from webordinary.sites.git.sanitize_tree import remove, size_of
from webordinary.sites.git.workspace_lock import Cold, Seat, cold, other_seats


@dataclass(frozen=True, slots=True)
class _Candidates:
    seat: Seat
    sessions: tuple[Cold, ...]
    projects: tuple[Path, ...]


async def make_room(
    root: Path, own: Seat, cap: int, in_use: Callable[[], Collection[Path]]
) -> frozenset[Path]:
    """Remove what was not used for longest until the root is below its cap; say what went."""
    taken = await in_thread(_takable, root, own)
    gone: list[Path] = []
    try:
        used = await in_thread(size_of, root)
        if used <= cap:
            return frozenset()
        groups = [await in_thread(_candidates, seat) for seat in (own, *taken)]
        sessions = ((group.seat, item) for group in groups for item in group.sessions)
        used = await _drop(sessions, used - cap, in_use, gone) + cap
        if used > cap:
            projects = await in_thread(
                lambda: [(group.seat, cold(path)) for group in groups for path in group.projects]
            )
            await _drop(projects, used - cap, in_use, gone)
    finally:
        for seat in taken:
            seat.leave()
    return frozenset(gone)


async def _drop(
    items: Iterable[tuple[Seat, Cold]], surplus: int, in_use: Callable[[], Collection[Path]], gone: list[Path]
) -> int:
    """Remove items, coldest first, until there is no surplus; say what is left of it."""
    for seat, item in sorted(items, key=lambda one: one[1].used_at):
        if surplus <= 0:
            break
        # Looked at and taken out of the way in one breath: no other task runs in between.
        if any(item.path == used or item.path in used.parents for used in in_use()):
            continue
        trash = seat.throw_away(item.path)
        gone.append(item.path)
        await in_thread(remove, trash)
        surplus -= item.size
    return surplus


def _takable(root: Path, own: Seat) -> list[Seat]:
    """Seats that nobody has: their owners are gone, what they left is only a cache."""
    taken = (Seat.take_this(folder) for folder in other_seats(root, own.folder))
    return [seat for seat in taken if seat is not None]


def _candidates(seat: Seat) -> _Candidates:
    return _Candidates(seat, tuple(map(cold, seat.sessions())), tuple(seat.projects()))
