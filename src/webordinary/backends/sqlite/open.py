"""Open the embedded store of a home folder."""

from __future__ import annotations

from pathlib import Path

from webordinary.backends.broker import TransactionalBroker
from webordinary.backends.sqlite.blobs import SqliteBlobs
from webordinary.backends.sqlite.checkpoints import SqliteCheckpoints
from webordinary.backends.sqlite.directory import SqliteDirectory
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.ledger import SqliteJournal, SqliteLedger
from webordinary.backends.sqlite.mailbox import SqliteAdmissions, SqliteMailbox
from webordinary.backends.sqlite.outbox import SqliteBounces, SqliteOutbox
from webordinary.backends.sqlite.quotas import SqliteQuotas
from webordinary.backends.sqlite.store import SqliteStore
from webordinary.backends.sqlite.wakeups import SocketWakeups
from webordinary.core.errors import BackendUnavailable
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend
from webordinary.ports.blobs import Blobs
from webordinary.ports.clock import Clock

STORE_NAME = "webordinary.db"


def open_sqlite(
    home: Path, clock: Clock, limits: Limits, *, large: Blobs | None = None, synchronous: str = "FULL"
) -> Backend:
    """Open the store in a folder; both are created if they are not there. Large blobs may be beside it."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BackendUnavailable(f"can't use {home}: {error.strerror}. Choose another --home.") from error
    path = home / STORE_NAME
    wakeups = SocketWakeups(path, clock.unique())
    try:
        engine = Engine(path, clock, wakeups, synchronous=synchronous)
    except BaseException:
        wakeups.close()
        raise
    wakeups.watch(engine.changes_seen)
    store = SqliteStore(engine, limits)
    broker = TransactionalBroker(store, wakeups, clock)
    blobs = SqliteBlobs(engine, large)

    def close() -> None:
        wakeups.close()
        engine.close()

    return Backend(
        broker=broker,
        gatekeeper=broker,
        ledger=SqliteLedger(engine, limits, wakeups, clock),
        control=store,
        directory=SqliteDirectory(engine),
        mailbox=SqliteMailbox(engine),
        outbox=SqliteOutbox(engine, wakeups, clock),
        quotas=SqliteQuotas(engine),
        blobs=blobs,
        admissions=SqliteAdmissions(engine, limits, blobs),
        journal=SqliteJournal(engine, wakeups, clock),
        checkpoints=SqliteCheckpoints(engine),
        bounces=SqliteBounces(engine),
        close=close,
    )
