"""The rules of the protocol on plain Python objects: the model that every other backend is compared with."""

from __future__ import annotations

from typing import TypeVar

from webordinary.backends.loading import Call, RuleStore
from webordinary.backends.memory.rows import MemoryRows
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rules import Rules
from webordinary.core.limits import Limits
from webordinary.ports.clock import Clock

T = TypeVar("T")


class MemoryStore(RuleStore):
    """All calls run without suspending, so each is atomic."""

    def __init__(self, limits: Limits, clock: Clock, wakeups: Wakeups, rules: type[Rules] = Rules) -> None:
        """Start empty."""
        self.limits, self.clock, self._wakeups = limits, clock, wakeups
        self.rows = MemoryRows(limits)
        self.rules = rules(self.rows, limits)

    async def run(self, call: Call[T]) -> T:
        """See `RuleStore.run`."""
        return self.run_now(call)

    def run_now(self, call: Call[T]) -> T:
        """Run a call at this moment."""
        rows = self.rows
        rows.now = self.clock.now()
        try:
            return call.rule(self.rules)
        finally:
            topics, rows.topics = rows.topics, {}
            self._wakeups.send(topics)
