"""The claim protocol on SQLite: the calls of one turn of the loop share one load, one commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from webordinary.backends.loading import Call, Needs, RuleStore, SweepCursor
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.index import OPEN
from webordinary.backends.sqlite.rows import SqliteRows
from webordinary.backends.sqlite.tx import MustWriteError, Tx
from webordinary.claim.rows import Nothing
from webordinary.claim.rules import Rules
from webordinary.core.claim import Claim, Claimed, Delivery, Ownership, WorkerId
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits

T = TypeVar("T")

_HELD_AND_EMPTY = (
    "SELECT 1 FROM lanes WHERE lane = ? AND worker = ? AND fence = ? AND wanted_since IS NULL"
    f" AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.lane = lanes.lane AND {OPEN})"
)


class SqliteStore(RuleStore):
    """See `Store` and `Control`. What often finds nothing to do looks first, and takes no lock."""

    def __init__(self, engine: Engine, limits: Limits, rules: type[Rules] = Rules) -> None:
        """Keep the protocol in a file."""
        self._engine, self._limits, self._rules = engine, limits, rules
        self._sweep = SweepCursor()

    async def run(self, call: Call[T]) -> T:
        """See `RuleStore.run`."""
        return await self._engine.write(lambda tx: self._run(call, tx), call.needs)

    def _run(self, call: Call[T], tx: Tx) -> T:
        return call.rule(rules_on(tx, self._limits, self._rules))

    async def owner(self, lane: Lane) -> Ownership | None:
        """See `Gatekeeper.owner`. Runs on the connection that cannot write."""
        call = Call(Needs([lane]), lambda rules: rules.owner(lane))
        return self._engine.read(lambda tx: self._run(call, tx), call.needs)

    async def claim(
        self, worker: WorkerId, room: int, idle: Sequence[Claim], only: Lane | None
    ) -> Claimed | Nothing:
        """See `Broker.claim`. One lane that it may take is enough of a look; all are chosen with the lock."""
        look = Call(Needs(), lambda rules: rules.ready(worker, 1, only, exchange=not room))
        ready, retry_in = self._engine.read(lambda tx: self._run(look, tx), look.needs)
        if not ready:
            return Nothing(retry_in)
        return await super().claim(worker, room, idle, only)

    async def next_job(self, claim: Claim) -> Delivery | Nothing:
        """See `Broker.next_job`. Owners of empty lanes ask all the time: one small look answers them."""
        holder = (claim.lane.key, claim.worker, claim.fence)
        if self._engine.read(lambda tx: tx.one(_HELD_AND_EMPTY, holder)):
            return Nothing()
        return await super().next_job(claim)

    async def sweep(self) -> int:
        """See `Broker.sweep`. Each goes on where the one before it stopped."""
        call = Call(Needs(sweep=self._sweep), lambda rules: rules.sweep())
        try:
            mended = self._engine.read(lambda tx: self._looked(call, tx), call.needs)
        except MustWriteError:
            mended = await self.run(call)
        self._sweep.after = self._sweep.looked_to
        return mended

    def _looked(self, call: Call[T], tx: Tx) -> T:
        answer = self._run(call, tx)
        tx.flush()  # raises if there is anything to write
        return answer


def rules_on(tx: Tx, limits: Limits, rules: type[Rules] = Rules) -> Rules:
    """The rules, on the rows of a transaction; they are read once for all its calls."""
    if not isinstance(tx.rows, SqliteRows):
        tx.rows = SqliteRows(tx, limits)
        tx.rows.load(tx.needs)
    return rules(tx.rows, limits)
