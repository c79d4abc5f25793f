"""Whoever follows a job from outside the store."""

from __future__ import annotations

from typing import Protocol

from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import MailId


class Workflow(Protocol):
    """Follows jobs that came by mail. The job is durable and is carried out whether or not somebody does."""

    async def start(self, mail: MailId, lane: Lane, job: JobId) -> None:
        """Have a job followed. The same mail twice is followed once, however often this is called."""
        ...
