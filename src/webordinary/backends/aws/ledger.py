"""What people are shown of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge

from webordinary.backends.aws.changing import Lanes
from webordinary.backends.aws.dynamo import Where
from webordinary.backends.aws.rows import IDLE, OPEN, job_key, job_row, lane_key
from webordinary.backends.aws.tables import (
    BUSY_INDEX,
    ID_INDEX,
    LANE_INDEX,
    NAME_INDEX,
    STATE_INDEX,
    TIME_INDEX,
)
from webordinary.backends.aws.texts import instructions
from webordinary.backends.aws.values import Item
from webordinary.backends.aws.workers import Workers
from webordinary.backends.broker import poll_result
from webordinary.backends.loading import HEAD, Needs
from webordinary.backends.wakeups import Wakeups
from webordinary.core.claim import WorkerId
from webordinary.core.errors import NotFound
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import Happening, JobView, LaneEvent, LaneView, WorkerView

PAGE = 100
EVENTS_LOOKED_AT = 2_000
BEGINNINGS = 2  # of two jobs that begin alike nobody knows which is meant


class AwsLedger:
    """See `Ledger`. Indexes say where to look; what is shown was read from the tables."""

    def __init__(self, lanes: Lanes, workers: Workers, wakeups: Wakeups) -> None:
        """Look at tables."""
        self._lanes, self._workers, self._wakeups = lanes, workers, wakeups
        self._dynamo, self._settings, self._clock = lanes.dynamo, lanes.settings, lanes.clock

    # --- workers and lanes ------------------------------------------------------------------------

    async def workers(self) -> list[WorkerView]:
        """See `Ledger.workers`. A worker that holds lanes is seen in each of their beats."""
        everybody = await self._workers.everybody()
        held = await self._lanes_held() if everybody else {}
        views = [
            WorkerView(
                worker=row.presence.worker,
                host=row.presence.host,
                pid=row.presence.pid,
                slots=row.presence.slots,
                since=row.presence.since,
                seen_at=max([row.seen_at, *held.get(row.presence.worker, {}).values()]),
                draining=row.presence.draining,
                lanes=tuple(sorted(held.get(row.presence.worker, ()))),
            )
            for row in everybody
        ]
        now, limits = self._clock.now(), self._lanes.limits
        return [view for view in views if limits.lease_holds(view.seen_at + limits.lease_seconds, now)]

    async def _lanes_held(self) -> dict[WorkerId, dict[Lane, float]]:
        """Read who holds which lanes, and when each of them was last kept."""
        now = self._clock.now()
        held: dict[WorkerId, dict[Lane, float]] = {}
        busy = await self._busy("", None)
        for item in await self._lane_items(busy):
            if item.get("containerId") is not None and self._lanes.limits.lease_holds(
                float(item["leaseUntil"]), now
            ):
                lanes = held.setdefault(item["containerId"], {})
                lanes[Lane.from_key(item["projectKey"])] = float(item.get("beatAt", 0.0))
        return held

    async def lanes(self, *, limit: int, after: Lane | None = None, busy: bool = False) -> list[LaneView]:
        """See `Ledger.lanes`."""
        found: list[LaneView] = []
        last = after.key if after else ""
        while len(found) < limit:
            keys = await (self._busy(last, PAGE) if busy else self._named(last, min(limit, PAGE)))
            if not keys:
                break
            views = await self._views([Lane.from_key(key) for key in keys])
            now = self._clock.now()
            found += [view for view in views if not busy or view.depth or view.owned_at(now)]
            last = keys[-1]
        return found[:limit]

    async def _named(self, after: str, limit: int) -> list[str]:
        where = Where(self._settings.lanes, ("all", "lane"), NAME_INDEX, ("projectKey", ">", after or " "))
        return [key["projectKey"] for key in await self._dynamo.query(where, limit=limit)]

    async def _busy(self, after: str, limit: int | None) -> list[str]:
        """Names of lanes with work, and of those with an owner and none, in one order."""
        kinds = [
            await self._dynamo.query(
                Where(self._settings.lanes, ("busy", kind), BUSY_INDEX, ("projectKey", ">", after or " ")),
                limit=limit,
            )
            for kind in (OPEN, IDLE)
        ]
        names = merge(*([key["projectKey"] for key in keys] for keys in kinds))
        return list(dict.fromkeys(names))[:limit]  # one that moved meanwhile is in both

    async def _views(self, lanes: Sequence[Lane]) -> list[LaneView]:
        model = await self._lanes.read(Needs(lanes, HEAD))
        return [
            model.lanes[lane].view(model.lanes_read[lane].get("ended", {}).get(JobState.DEAD, 0))
            for lane in lanes
            if lane in model.lanes
        ]

    async def lane(self, lane: Lane) -> LaneView:
        """See `Ledger.lane`."""
        views = await self._views([lane])
        if not views:
            raise NotFound(f"nothing was ever submitted to {lane}")
        return views[0]

    async def _lane_items(self, keys: Sequence[str]) -> list[Item]:
        wanted = [lane_key(Lane.from_key(key)) for key in keys]
        return (await self._dynamo.get_many({self._settings.lanes: wanted}))[self._settings.lanes]

    async def counts(self) -> dict[JobState, int]:
        """See `Ledger.counts`. Lanes count their jobs themselves, so this reads lanes and no jobs."""
        counts = dict.fromkeys(JobState, 0)
        only = ("open", "headState", "ended")
        for item in await self._dynamo.scan(self._settings.lanes, only=only):
            if item["open"]:
                counts[JobState(item["headState"])] += 1
                counts[JobState.QUEUED] += len(item["open"]) - 1
            for state, count in item.get("ended", {}).items():
                counts[JobState(state)] += count
        return counts

    # --- jobs -------------------------------------------------------------------------------------

    async def jobs(
        self,
        *,
        limit: int,
        lane: Lane | None = None,
        state: JobState | None = None,
        before: JobId | None = None,
    ) -> list[JobView]:
        """See `Ledger.jobs`."""
        order = "~" if before is None else (await self._job_item(before))["order"]
        found: list[JobView] = []
        while len(found) < limit:
            keys = await self._ordered(lane, state, order, limit)
            if not keys:
                break
            items = await self._job_items([key["jobId"] for key in keys])
            shown = await self._shown(items)
            found += [view for view in shown if state in (None, view.state)]
            order = keys[-1]["order"]
        return found[:limit]

    async def _ordered(
        self, lane: Lane | None, state: JobState | None, before: str, limit: int
    ) -> list[Item]:
        """Keys of jobs before one, newest first."""
        if lane is not None:
            partitions = [(LANE_INDEX, "lane", lane.key)]
        else:
            states = list(JobState) if state is None else [state]
            partitions = [(STATE_INDEX, "state", one.value) for one in states]
        pages = [
            await self._dynamo.query(
                Where(self._settings.jobs, (name, value), index, ("order", "<", before), newest_first=True),
                limit=limit,
            )
            for index, name, value in partitions
        ]
        ordered = merge(*pages, key=lambda key: key["order"], reverse=True)
        return list({key["jobId"]: key for key in ordered}.values())[:limit]  # one that moved is in two pages

    async def _job_items(self, jobs: Sequence[str]) -> list[Item]:
        """Read jobs, in the order given."""
        keys = [job_key(job) for job in jobs]
        items = (await self._dynamo.get_many({self._settings.jobs: keys}))[self._settings.jobs]
        by_id = {item["jobId"]: item for item in items}
        return [by_id[job] for job in jobs if job in by_id]

    async def _shown(self, items: Sequence[Item]) -> list[JobView]:
        texts = await instructions(self._dynamo, self._settings.jobs, items)
        return [job_row(item, texts[item["jobId"]]).view() for item in items]

    async def job(self, job: JobId) -> JobView:
        """See `Ledger.job`."""
        return (await self._shown([await self._job_item(job)]))[0]

    async def _job_item(self, job: JobId) -> Item:
        exact = await self._dynamo.get(self._settings.jobs, job_key(job)) if job else None
        if exact is not None:
            return exact
        sort = ("jobId", "begins_with", job) if job else None
        where = Where(self._settings.jobs, ("all", "job"), ID_INDEX, sort)
        keys = await self._dynamo.query(where, limit=BEGINNINGS)
        if len(keys) == 1:
            (item,) = await self._job_items([keys[0]["jobId"]])
            return item
        raise NotFound(f"there is no job {job}" if not keys else f"several jobs begin with {job}")

    async def result(self, job: JobId, *, wait: float) -> JobView:
        """See `Ledger.result`."""
        return await poll_result(self._wakeups, self._clock, job, wait, self.job)

    # --- history ----------------------------------------------------------------------------------

    async def history(self, lane: Lane | None, *, limit: int, job: JobView | None = None) -> list[LaneEvent]:
        """See `Ledger.history`. For an old job only so many events of its lane are looked at."""
        found: list[LaneEvent] = []
        last, seen = "~" if lane is None else "event ~", 0
        while len(found) < limit and seen < EVENTS_LOOKED_AT:
            page = await self._dynamo.query(self._events(lane, last), limit=limit)
            if not page:
                break
            events = [_event(item) for item in page]
            found += [event for event in events if job is None or event.is_about(job)]
            last, seen = page[-1]["order" if lane is None else "entry"], seen + len(page)
        return found[:limit][::-1]

    def _events(self, lane: Lane | None, before: str) -> Where:
        table = self._settings.ledger
        if lane is None:
            return Where(table, ("all", "event"), TIME_INDEX, ("order", "<", before), newest_first=True)
        return Where(table, ("projectKey", lane.key), None, ("entry", "<", before), newest_first=True)


def _event(item: Item) -> LaneEvent:
    return LaneEvent(
        float(item["at"]),
        Lane.from_key(item["projectKey"]),
        Happening(item["what"]),
        item.get("worker"),
        item["fence"],
        item.get("job"),
        item["note"],
    )
