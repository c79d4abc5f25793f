"""Eviction: the trees that were not used for longest go first, then such mirrors; nothing that is in use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from webordinary.sites.git.process import in_thread
from webordinary.sites.git.sanitize_tree import remove, size_of
from webordinary.sites.git.workspace_lock import USED, LockedFolder, folders_in


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Something that could make room: the longer it was not used, the sooner."""

    used_at: float
    path: Path
    size: int


async def make_room(
    root: Path, own: LockedFolder, cap: int, in_use: Callable[[], Collection[Path]]
) -> frozenset[Path]:
    """Remove what was not used for longest until the root is below its cap; say what went."""
    taken = await in_thread(_abandoned, root, own)
    gone: list[Path] = []
    try:
        surplus = await in_thread(size_of, root) - cap
        for folders_of in (LockedFolder.sessions, LockedFolder.projects):
            if surplus > 0:
                candidates = await in_thread(_candidates, (own, *taken), folders_of)
                surplus = await _drop(candidates, surplus, in_use, gone)
    finally:
        for locked in taken:
            locked.release()
    return frozenset(gone)


async def _drop(
    items: Iterable[tuple[LockedFolder, _Candidate]],
    surplus: int,
    in_use: Callable[[], Collection[Path]],
    gone: list[Path],
) -> int:
    """Remove items, longest unused first, until there is no surplus; say what is left of it."""
    for locked, item in sorted(items, key=lambda one: one[1].used_at):
        if surplus <= 0:
            break
        # Looked at and taken out of the way in one breath: no other task runs in between.
        if any(item.path == used or item.path in used.parents for used in in_use()):
            continue
        trash = locked.throw_away(item.path)
        gone.append(item.path)
        await in_thread(remove, trash)
        surplus -= item.size
    return surplus


def _abandoned(root: Path, own: LockedFolder) -> list[LockedFolder]:
    """Folders that nobody locks: their owners are gone, what they left is only a cache."""
    others = [folder for folder in folders_in(root) if folder != own.folder and folder.name.isdigit()]
    return [locked for locked in map(LockedFolder.acquire, others) if locked is not None]


def _candidates(
    several: Iterable[LockedFolder], folders_of: Callable[[LockedFolder], Iterable[Path]]
) -> list[tuple[LockedFolder, _Candidate]]:
    return [(locked, _candidate(path)) for locked in several for path in folders_of(locked)]


def _candidate(folder: Path) -> _Candidate:
    used_at = 0.0  # never, or made by a process that was killed at once
    with contextlib.suppress(OSError):
        used_at = (folder / USED).stat().st_mtime
    return _Candidate(used_at, folder, size_of(folder))
