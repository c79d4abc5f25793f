"""What an operator may do to lanes and jobs."""

from __future__ import annotations

from typing import Protocol

from webordinary.core.claim import WorkerId
from webordinary.core.job import JobId
from webordinary.core.lane import Lane


class Control(Protocol):
    """The operator's hand. Each call is one atomic step and safe against a busy owner."""

    async def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        """Ask the lane's running job to stop; say which it is, if any runs.

        With `job`: that one and no other. One that waits, for its start or its next attempt, ends at once.
        """
        ...

    async def evict(self, lane: Lane) -> bool:
        """Take the lane from its owner and end its parking; what is left gets a claim request."""
        ...

    async def bury(self, lane: Lane, worker: WorkerId) -> bool:
        """Free the lane of a worker that is known to be dead, before its lease runs out.

        Its failures still count; what is left gets a claim request. False if the worker holds it no more.
        """
        ...

    async def redrive(self, job: JobId) -> None:
        """Queue a dead job again, behind everything that waits in its lane, with all its attempts."""
        ...

    async def drop(self, job: JobId) -> None:
        """Put a dead job aside for good."""
        ...
