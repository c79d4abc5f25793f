"""Admission in steps, over the ports of a backend: what was cut short is completed by the second delivery."""

from __future__ import annotations

from dataclasses import dataclass, replace

from webordinary.core.mail import MailRecord, reconsidered
from webordinary.ports.admissions import Admission
from webordinary.ports.blobs import Blobs
from webordinary.ports.broker import Broker
from webordinary.ports.mailbox import Mailbox
from webordinary.ports.outbox import Outbox
from webordinary.ports.quotas import Bucket, Quotas


@dataclass(frozen=True, slots=True)
class StepwiseAdmissions:
    """See `Admissions`. Where no step suspends, as in memory, all of them are one."""

    quotas: Quotas
    mailbox: Mailbox
    broker: Broker
    outbox: Outbox
    blobs: Blobs

    async def admit(self, admission: Admission) -> MailRecord | Bucket:
        """See `Admissions.admit`. The record goes before the job: whoever ends the job answers the record."""
        wanted = admission.record
        if not wanted.blob:
            wanted = replace(wanted, blob=await self.blobs.put(admission.raw))
        empty = await self.quotas.spend(admission.buckets, wanted.id)
        if empty is not None:
            return empty
        if admission.session is not None:
            await self.mailbox.begin(admission.session)
        known = await self.mailbox.keep(wanted)
        kept = reconsidered(known, wanted)
        if kept != known:
            await self.mailbox.update(kept)
        if kept.state is not wanted.state:
            return kept
        if admission.job is not None and kept.job is None:
            kept = replace(kept, job=(await self.broker.submit(admission.job)).job)
            await self.mailbox.update(kept)
        for letter in admission.letters:
            await self.outbox.owe(letter)
        return kept
