"""The claim protocol on SQLite: the calls of one turn of the loop share one load, one commit."""

from __future__ import annotations

from typing import TypeVar

from webordinary.backends.loading import Call, Needs, RuleStore, SweepCursor
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.rows import SqliteRows
from webordinary.backends.sqlite.tx import MustWriteError, Tx
from webordinary.claim.rules import Rules
from webordinary.core.claim import Ownership
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits

T = TypeVar("T")


class SqliteStore(RuleStore):
    """See `Store` and `Control`. What often finds nothing to do looks first, and takes no lock."""

    def __init__(self, engine: Engine, limits: Limits, rules: type[Rules] = Rules) -> None:
        """Keep the protocol in a file."""
        self._engine, self._limits, self._rules = engine, limits, rules
        self._sweep = SweepCursor()

    async def run(self, call: Call[T]) -> T:
        """See `RuleStore.run`."""
        if call.looks_first:
            try:
                return self._engine.read(lambda tx: self._run(call, tx, flush=True), call.needs)
            except MustWriteError:
                pass
        return await self._engine.write(lambda tx: self._run(call, tx), call.needs)

    def _run(self, call: Call[T], tx: Tx, *, flush: bool = False) -> T:
        answer = call.rule(rules_on(tx, self._limits, self._rules))
        if flush:
            tx.flush()
        return answer

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`. Runs on the connection that cannot write."""
        call = Call(Needs([lane]), lambda rules: rules.owner(lane))
        return self._engine.read(lambda tx: self._run(call, tx), call.needs)

    async def sweep(self) -> int:
        """See `Broker.sweep`. Each goes on where the one before it stopped."""
        mended = await self.run(Call(Needs(sweep=self._sweep), lambda rules: rules.sweep(), looks_first=True))
        self._sweep.after = self._sweep.looked_to
        return mended


def rules_on(tx: Tx, limits: Limits, rules: type[Rules] = Rules) -> Rules:
    """The rules, on the rows of a transaction; they are read once for all its calls."""
    if not isinstance(tx.rows, SqliteRows):
        tx.rows = SqliteRows(tx, limits)
        tx.rows.load(tx.needs)
    return rules(tx.rows, limits)
