"""What a mail leaves in the store, all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from webordinary.core.job import Job
from webordinary.core.mail import Letter, MailRecord
from webordinary.core.site import Session
from webordinary.ports.quotas import Bucket


@dataclass(frozen=True, slots=True)
class Admission:
    """A mail, and everything that follows from it. The record's state says what became of the mail."""

    record: MailRecord
    raw: bytes = field(default=b"", repr=False)  # stored unless the record names its blob already
    buckets: tuple[Bucket, ...] = ()  # the quotas it is paid from, with the mail's id as token
    session: Session | None = None  # the conversation that begins with it
    job: Job | None = None
    letters: tuple[Letter, ...] = ()


class Admissions(Protocol):
    """The one write of the receive flow. It may be repeated: after a crash a mail is delivered again."""

    async def admit(self, admission: Admission) -> MailRecord | Bucket:
        """Store it and give the record as it is kept, with its job and blob; or say which bucket is empty.

        An empty bucket stores nothing. A mail that is known keeps what `reconsidered` says; its job and its
        letters are stored only if it is kept in the state that they belong to. A backend without
        transactions takes steps that a second delivery completes.
        """
        ...
