"""The open jobs of a lane, read as far as they are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from webordinary.backends.loading import ALL
from webordinary.backends.sqlite.tx import Row
from webordinary.claim.rows import JobRow
from webordinary.core.lane import Lane


class JobReader(Protocol):
    """Reads open jobs of a lane in their order."""

    def read_on(self, lane: Lane, behind: int, most: int) -> list[Row]: ...
    def count(self, lane: Lane) -> int: ...
    def job_row(self, row: Row, lane: Lane) -> JobRow: ...


class LaneJobs:
    """See `OpenJobs`. The first ones are read; the others only when they are asked for."""

    __slots__ = ("_lane", "_place", "_read", "_rows", "count", "is_all")

    def __init__(self, rows: JobReader, lane: Lane, *, is_all: bool = False) -> None:
        """Start with none read; of a new lane that is all."""
        self._rows, self._lane = rows, lane
        self._read: list[JobRow] = []
        self._place = -1  # of the last one that was read
        self.is_all = is_all
        self.count: int | None = None  # of all, if they were counted

    @property
    def is_unread(self) -> bool:
        """Whether nothing was read yet."""
        return self._place < 0 and not self.is_all

    def take_in(self, row: Row) -> None:
        """Take in the next one that was read."""
        self._read.append(self._rows.job_row(row, self._lane))
        self._place = row[0]

    def were_asked_for(self, most: int) -> None:
        """Note that so many were asked for, in all: fewer are all there are."""
        self.is_all = len(self._read) < most

    def _read_on(self, most: int) -> None:
        for row in self._rows.read_on(self._lane, self._place, most - len(self._read)):
            self.take_in(row)
        self.were_asked_for(most)

    def __bool__(self) -> bool:
        """Whether there is any."""
        if not self._read and not self.is_all:
            self._read_on(1)
        return bool(self._read)

    def __len__(self) -> int:
        """How many there are, up to a bound."""
        if self.is_all:
            return len(self._read)
        return self._rows.count(self._lane) if self.count is None else self.count

    def __getitem__(self, place: int, /) -> JobRow:
        """The job at this place."""
        if len(self._read) <= place and not self.is_all:
            self._read_on(place + 1)
        return self._read[place]

    def __iter__(self) -> Iterator[JobRow]:
        """All of them."""
        if not self.is_all:
            self._read_on(ALL)
        return iter(self._read)

    def append(self, job: JobRow, /) -> None:
        """Put a job behind the others; behind unread ones it is read with them."""
        if self.is_all:
            self._read.append(job)
        elif self.count is not None:
            self.count += 1

    def remove(self, job: JobRow, /) -> None:
        """Take a job out; one that was found by its name may not have come up here yet."""
        if job in self._read:
            self._read.remove(job)
        if self.count is not None:
            self.count -= 1
