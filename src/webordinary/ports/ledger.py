"""What happened and what is happening, for people."""

from __future__ import annotations

from typing import Protocol

from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import JobView, LaneEvent, LaneView, WorkerView


class Ledger(Protocol):
    """Reads only. Lists come in pages: `after` is the last item of the page before."""

    async def workers(self) -> list[WorkerView]:
        """List the workers that showed themselves within a lease."""
        ...

    async def lanes(self, *, limit: int, after: Lane | None = None, busy: bool = False) -> list[LaneView]:
        """List lanes by name; with `busy` only those that have an open job or a live owner."""
        ...

    async def lane(self, lane: Lane) -> LaneView:
        """Show one lane."""
        ...

    async def jobs(
        self,
        *,
        limit: int,
        lane: Lane | None = None,
        state: JobState | None = None,
        before: JobId | None = None,
    ) -> list[JobView]:
        """List jobs, newest first."""
        ...

    async def job(self, job: JobId) -> JobView:
        """Show one job; a unique beginning of its id is enough."""
        ...

    async def history(self, lane: Lane | None, *, limit: int, job: JobView | None = None) -> list[LaneEvent]:
        """Tell what happened to a lane; with None, to any lane.

        With a job of the lane: what happened to it, and to its lane meanwhile (`LaneEvent.is_about`).
        Oldest first, the latest `limit` events.
        """
        ...

    async def counts(self) -> dict[JobState, int]:
        """Count the jobs in each state."""
        ...

    async def result(self, job: JobId, *, wait: float) -> JobView:
        """Show a job as soon as it has ended, or as it is when the seconds are over."""
        ...
