"""Make a backend that lives in this process only."""

from __future__ import annotations

from webordinary.backends.admissions import StepwiseAdmissions
from webordinary.backends.memory.blobs import MemoryBlobs
from webordinary.backends.memory.bounces import MemoryBounces
from webordinary.backends.memory.checkpoints import MemoryCheckpoints
from webordinary.backends.memory.directory import MemoryDirectory
from webordinary.backends.memory.journal import MemoryJournal
from webordinary.backends.memory.ledger import MemoryLedger
from webordinary.backends.memory.mailbox import MemoryMailbox
from webordinary.backends.memory.outbox import MemoryOutbox
from webordinary.backends.memory.quotas import MemoryQuotas
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
