"""What running jobs say of themselves, and what ended ones left for the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webordinary.core.claim import Delivery
from webordinary.core.facts import Facts
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.work import AgentEvent, KeptEvent


class Journal(Protocol):
    """Events of jobs, bounded; and the facts that outcomes left."""

    async def tell(self, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
        """Keep events with the job, fenced; beyond `EVENTS_MAX` of one attempt they are dropped."""
        ...

    async def events(self, job: JobId, *, after: int = 0, limit: int, wait: float = 0.0) -> list[KeptEvent]:
        """List a job's events in their order; `wait` is a long poll for the first one after `after`."""
        ...

    async def left(self, lane: Lane, session: str | None = None) -> Facts:
        """Facts of the lane's (or one conversation's) job that ended last and left any, if there is one."""
        ...
