"""A transaction in progress: what the verbs see of the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from webordinary.backends.loading import Needs

Row = tuple[Any, ...]
Values = Sequence[object] | dict[str, Any]


class MustWriteError(Exception):
    """What only looked would have to write."""


class Unwritten(Protocol):
    """Rows that were changed, and are written in one go."""

    def flush(self) -> None:
        """Write them."""
        ...


class Tx:
    """The open transaction. `now` is the store's one clock; topics are woken after the commit.

    A verb must refuse (raise one of our errors) before it writes: the transaction may be shared with
    verbs of other slots, and only an unforeseen error rolls it back.
    """

    __slots__ = ("_connection", "_writes", "needs", "now", "rows", "topics")

    def __init__(
        self, connection: sqlite3.Connection, now: float, needs: Sequence[Needs] = (), *, writes: bool = True
    ) -> None:
        """Begin to collect wake-ups. `needs` is what all verbs of this transaction have to see."""
        self._connection, self._writes = connection, writes
        self.now, self.needs = now, needs
        self.rows: Unwritten | None = None  # of the claim protocol, if a verb is about it
        self.topics: dict[str, None] = {}

    def one(self, sql: str, values: Values = ()) -> Row | None:
        """Read the first row."""
        row: Row | None = self._connection.execute(sql, values).fetchone()
        return row

    def all(self, sql: str, values: Values = ()) -> list[Row]:
        """Read all rows."""
        return self._connection.execute(sql, values).fetchall()

    def each(self, sql: str, values: Values = ()) -> Iterator[Row]:
        """Read rows one by one, as far as they are asked for."""
        return self._connection.execute(sql, values)

    def do(self, sql: str, values: Values = ()) -> int:
        """Write; say how many rows changed."""
        if not self._writes:
            raise MustWriteError
        return self._connection.execute(sql, values).rowcount

    def do_each(self, sql: str, rows: Sequence[Values]) -> None:
        """Write the same for each of several rows."""
        if not self._writes:
            raise MustWriteError
        self._connection.executemany(sql, rows)

    def flush(self) -> None:
        """Write what was changed in rows, for those who read tables."""
        if self.rows is not None:
            self.rows.flush()

    def wake(self, topic: str) -> None:
        """Wake the waiters of a topic once this is committed."""
        self.topics[topic] = None
