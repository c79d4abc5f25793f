"""Admission in SQLite: one transaction."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from webordinary.backends.loading import submission
from webordinary.backends.sqlite.blobs import SqliteBlobs, put
from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.mailbox import begin, find, insert, update
from webordinary.backends.sqlite.outbox import owe
from webordinary.backends.sqlite.quotas import spend
from webordinary.backends.sqlite.store import rules_on
from webordinary.backends.sqlite.tx import Tx
from webordinary.core.limits import Limits
from webordinary.core.mail import MailRecord, reconsidered
from webordinary.ports.admissions import Admission
from webordinary.ports.blobs import blob_key
from webordinary.ports.quotas import Bucket


class SqliteAdmissions:
    """See `Admissions`."""

    def __init__(self, engine: Engine, limits: Limits, blobs: SqliteBlobs) -> None:
        """Admit to a file."""
        self._engine, self._limits, self._blobs = engine, limits, blobs

    async def admit(self, admission: Admission) -> MailRecord | Bucket:
        """See `Admissions.admit`. A large mail is durable beside the store before a record names it."""
        record = admission.record
        if not record.blob and not self._blobs.takes(admission.raw):
            record = replace(record, blob=await self._blobs.put(admission.raw))
            admission = replace(admission, record=record)
        needs = submission(admission.job).needs if admission.job is not None else None
        return await self._engine.write(partial(admit, limits=self._limits, admission=admission), needs)


def admit(tx: Tx, limits: Limits, admission: Admission) -> MailRecord | Bucket:
    """See `Admissions.admit`. The mail's bytes are small, or durable already."""
    wanted = admission.record
    is_stored = bool(wanted.blob)
    if not is_stored:
        wanted = replace(wanted, blob=blob_key(admission.raw))
    empty = spend(tx, admission.buckets, wanted.id)
    if empty is not None:
        return empty
    if admission.session is not None:
        begin(tx, admission.session)
    known = find(tx, wanted.id)
    kept = reconsidered(known, wanted) if known is not None else wanted
    is_as_wanted = kept.state is wanted.state
    if admission.job is not None and kept.job is None and is_as_wanted:
        kept = replace(kept, job=rules_on(tx, limits).submit(admission.job).job)
    if not is_stored and kept.blob == wanted.blob:
        put(tx, admission.raw)
    if known is None:
        insert(tx, kept)
    elif kept != known:
        update(tx, kept)
    if is_as_wanted:
        for letter in admission.letters:
            owe(tx, letter)
    return kept
