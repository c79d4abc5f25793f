"""The operator's hand on lanes and jobs."""

from __future__ import annotations

from webordinary.backends.aws.changing import Lanes, Reading, head_and_next, no_jobs
from webordinary.backends.aws.rows import job_key
from webordinary.core.errors import NotFound
from webordinary.core.job import JobId
from webordinary.core.lane import Lane


class AwsControl:
    """See `Control`."""

    def __init__(self, lanes: Lanes) -> None:
        """Act on tables."""
        self._lanes = lanes

    async def interrupt(self, lane: Lane, job: JobId | None = None) -> JobId | None:
        """See `Control.interrupt`."""
        reading = Reading([lane], head_and_next, [job] if job else [])
        return await self._lanes.change(reading, lambda model: model.interrupt(lane, job))

    async def evict(self, lane: Lane) -> bool:
        """See `Control.evict`."""
        return await self._lanes.change(Reading([lane], no_jobs), lambda model: model.evict(lane))

    async def redrive(self, job: JobId) -> None:
        """See `Control.redrive`."""
        reading = Reading([await self._lane_of(job)], no_jobs, [job])
        await self._lanes.change(reading, lambda model: model.redrive(job))

    async def drop(self, job: JobId) -> None:
        """See `Control.drop`."""
        reading = Reading([await self._lane_of(job)], no_jobs, [job])
        await self._lanes.change(reading, lambda model: model.drop(job))

    async def _lane_of(self, job: JobId) -> Lane:
        item = await self._lanes.dynamo.get(self._lanes.settings.jobs, job_key(job)) if job else None
        if item is None:
            raise NotFound(f"there is no job {job}")
        return Lane.from_key(item["lane"])
