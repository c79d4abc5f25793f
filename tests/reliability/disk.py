"""A disk that may lose its power: what was written, what was synced, and what a cut leaves of the rest.

What is promised to SQLite by a real disk and file system is promised here, and nothing more: a sync makes
a file's contents and its name durable, together with all changes of names before that; bytes that are not
being written are left alone (SQLite's "powersafe overwrite"). Whatever was not synced may be there or not,
sector by sector, in any order, also cut off in the middle of a sector or replaced by garbage.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

SECTOR_BYTES = 512

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Created:
    name: str


@dataclass(frozen=True, slots=True)
class Deleted:
    name: str
    durable: bool  # the folder was synced, too


@dataclass(frozen=True, slots=True)
class Written:
    name: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    name: str


Operation = Created | Deleted | Written | Truncated | Synced


@dataclass(frozen=True, slots=True)
class Luck:
    """How a cut treats each sector that was not synced: chances to survive whole, cut off, or as garbage."""

    whole: float
    cut_off: float
    garbage: float
    in_order: bool

    @classmethod
    def draw(cls, rng: random.Random) -> Luck:
        whole = rng.choice((0.0, 0.2, 0.5, 0.8, 0.95, 1.0))
        spoiled = rng.choice((0.0, 0.0, 0.05, 0.3)) * (1 - whole)
        return cls(whole, spoiled / 2, spoiled / 2, in_order=rng.random() < 0.5)


@dataclass(slots=True)
class _File:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Written | Truncated] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.pending:
            _apply(self.durable, operation)
        self.pending.clear()

    def after_cut(self, rng: random.Random) -> bytes:
        content, luck = bytearray(self.durable), Luck.draw(rng)
        pending = list(self.pending)
        if not luck.in_order:
            rng.shuffle(pending)
        for operation in pending:
            for piece in _pieces(operation):
                fate = rng.random()
                if fate < luck.whole:
                    _apply(content, piece)
                elif isinstance(piece, Written) and fate < luck.whole + luck.cut_off:
                    _apply(
                        content,
                        Written(piece.name, piece.offset, piece.data[: rng.randrange(len(piece.data))]),
                    )
                elif isinstance(piece, Written) and fate < luck.whole + luck.cut_off + luck.garbage:
                    _apply(content, Written(piece.name, piece.offset, rng.randbytes(len(piece.data))))
        return bytes(content)


class Disk:
    """Files in one folder. Operations go in; `after_cut` shows a folder as the next start might find it."""

    def __init__(self, files: Files) -> None:
        """Start with files that are safely there."""
        self._names = {name: _File(bytearray(content)) for name, content in files.items()}
        self._durable_names = dict(self._names)
        self._pending_names: list[tuple[str, _File | None]] = []

    def do(self, operation: Operation) -> None:
        """Take note of one operation."""
        match operation:
            case Created(name):
                self._rename(name, _File())
            case Deleted(name, durable):
                self._rename(name, None)
                if durable:
                    self._names_are_durable(len(self._pending_names))
            case Written(name) | Truncated(name):
                self._names[name].pending.append(operation)
            case Synced(name):
                file = self._names[name]
                file.sync()
                changes = [changed for _, changed in self._pending_names]
                if file in changes:
                    self._names_are_durable(changes.index(file) + 1)

    def _rename(self, name: str, file: _File | None) -> None:
        self._pending_names.append((name, file))
        if file is None:
            del self._names[name]
        else:
            self._names[name] = file

    def _names_are_durable(self, changes: int) -> None:
        _change_names(self._durable_names, self._pending_names[:changes])
        del self._pending_names[:changes]

    def after_cut(self, rng: random.Random) -> Files:
        """Cut the power now; the disk itself goes on as if nothing had happened."""
        names = dict(self._durable_names)
        _change_names(names, self._pending_names[: rng.randint(0, len(self._pending_names))])
        return {name: file.after_cut(rng) for name, file in names.items()}


def _change_names(names: dict[str, _File], changes: list[tuple[str, _File | None]]) -> None:
    for name, file in changes:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def _apply(content: bytearray, operation: Written | Truncated) -> None:
    match operation:
        case Written(_, offset, data):
            content.extend(bytes(max(offset - len(content), 0)))
            content[offset : offset + len(data)] = data
        case Truncated(_, size):
            content.extend(bytes(max(size - len(content), 0)))
            del content[size:]


def _pieces(operation: Written | Truncated) -> Iterator[Written | Truncated]:
    """Take a write apart at the boundaries of sectors: the disk knows nothing larger."""
    if isinstance(operation, Truncated):
        yield operation
        return
    start, end = operation.offset, operation.offset + len(operation.data)
    while start < end:
        stop = min((start // SECTOR_BYTES + 1) * SECTOR_BYTES, end)
        yield Written(
            operation.name, start, operation.data[start - operation.offset : stop - operation.offset]
        )
        start = stop
