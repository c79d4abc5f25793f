"""Make a backend that lives in this process only."""

from __future__ import annotations

from webordinary.backends.memory.ledger import MemoryLedger
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.store import TransactionalBroker
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock


def open_memory(clock: Clock, limits: Limits) -> Backend:
    """Start empty; all is gone with the process."""
    wakeups = LocalWakeups()
    store = MemoryStore(limits, clock, wakeups)
    broker = TransactionalBroker(store, wakeups, clock)
    ledger = MemoryLedger(store, wakeups, clock)
    return Backend(broker=broker, gatekeeper=broker, ledger=ledger, control=store, close=lambda: None)
