"""Admission in SQLite: one transaction."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from webordinary.backends.sqlite.engine import Engine
from webordinary.backends.sqlite.mailbox import begin, find, insert, update
from webordinary.backends.sqlite.outbox import owe
from webordinary.backends.sqlite.quotas import spend
from webordinary.backends.sqlite.submitting import submit
from webordinary.backends.sqlite.tx import Tx
from webordinary.core.limits import Limits
from webordinary.core.mail import MailRecord, reconsidered
from webordinary.ports.admissions import Admission
from webordinary.ports.quotas import Bucket


class SqliteAdmissions:
    """See `Admissions`."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        """Admit to a file."""
        self._engine, self._limits = engine, limits

    async def admit(self, admission: Admission) -> MailRecord | Bucket:
        """See `Admissions.admit`."""
        return await self._engine.write(partial(_admit, limits=self._limits, admission=admission))


def _admit(tx: Tx, limits: Limits, admission: Admission) -> MailRecord | Bucket:
    wanted = admission.record
    empty = spend(tx, admission.buckets, wanted.id)
    if empty is not None:
        return empty
    if admission.session is not None:
        begin(tx, admission.session)
    known = find(tx, wanted.id)
    kept = reconsidered(known, wanted) if known is not None else wanted
    is_as_wanted = kept.state is wanted.state
    if admission.job is not None and kept.job is None and is_as_wanted:
        kept = replace(kept, job=submit(tx, limits, admission.job).job)
    if known is None:
        insert(tx, kept)
    elif kept != known:
        update(tx, kept)
    if is_as_wanted:
        for letter in admission.letters:
            owe(tx, letter)
    return kept
