"""Make a backend that lives in this process only."""

from __future__ import annotations

from webordinary.backends.admissions import StepwiseAdmissions
from webordinary.backends.broker import TransactionalBroker
from webordinary.backends.memory.ledger import MemoryJournal, MemoryLedger
from webordinary.backends.memory.mail import (
    MemoryBlobs,
    MemoryBounces,
    MemoryCheckpoints,
    MemoryDirectory,
    MemoryMailbox,
    MemoryQuotas,
)
from webordinary.backends.memory.outbox import MemoryOutbox
from webordinary.backends.memory.store import MemoryStore
from webordinary.backends.wakeups import LocalWakeups
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock


def open_memory(clock: Clock, limits: Limits) -> Backend:
    """Start empty; all is gone with the process."""
    wakeups = LocalWakeups()
    store = MemoryStore(limits, clock, wakeups)
    broker = TransactionalBroker(store, wakeups, clock)
    mailbox, quotas, blobs = MemoryMailbox(), MemoryQuotas(clock), MemoryBlobs()
    outbox = MemoryOutbox(store.rows.letters, wakeups, clock)
    return Backend(
        broker=broker,
        gatekeeper=broker,
        ledger=MemoryLedger(store, wakeups, clock),
        control=store,
        directory=MemoryDirectory(clock),
        mailbox=mailbox,
        outbox=outbox,
        quotas=quotas,
        blobs=blobs,
        admissions=StepwiseAdmissions(quotas, mailbox, broker, outbox, blobs),
        journal=MemoryJournal(store, wakeups, clock),
        checkpoints=MemoryCheckpoints(),
        bounces=MemoryBounces(clock),
        close=lambda: None,
    )
