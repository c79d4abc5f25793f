"""What jobs say and leave, in tables. Events are written in pages, each named by its last event."""

from __future__ import annotations

import json
from collections.abc import Sequence

from webordinary.backends.aws.changes import left_key
from webordinary.backends.aws.changing import ATTEMPTS, Lanes
from webordinary.backends.aws.dynamo import ABSENT, Check, Put, Where, Write, new_token
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.rows import facts_of, job_key, lane_key
from webordinary.backends.aws.values import Item, lengthened, shortened
from webordinary.backends.broker import poll
from webordinary.backends.wakeups import Wakeups
from webordinary.claim.rows import Nothing, job_topic
from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable, ClaimLost
from webordinary.core.facts import NO_FACTS, Facts
from webordinary.core.job import JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.text import storable
from webordinary.core.work import EVENT_CHARACTERS, EVENTS_MAX, AgentEvent, EventKind, KeptEvent

PAGE_EVENTS = 40  # of the longest events so many still fit an item
EVENTS = "events "
RUNNING_ELSEWHERE = 0  # the place of the check that a job runs under a claim, in its transaction


class AwsJournal:
    """See `Journal`."""

    def __init__(self, lanes: Lanes, wakeups: Wakeups) -> None:
        """Keep events beside their jobs."""
        self._lanes, self._wakeups = lanes, wakeups
        self._dynamo, self._settings, self._clock = lanes.dynamo, lanes.settings, lanes.clock

    async def tell(self, delivery: Delivery, events: Sequence[AgentEvent]) -> None:
        """See `Journal.tell`."""
        left = list(events)
        while True:
            kept_all = await self._tell_page(delivery, left[:PAGE_EVENTS])
            left = left[PAGE_EVENTS:]
            if not kept_all or not left:
                break
        self._wakeups.send([job_topic(delivery.job.id)])

    async def _tell_page(self, delivery: Delivery, events: Sequence[AgentEvent]) -> bool:
        """Keep some events, if their job still runs under this claim; False if no more are kept of it."""
        job = delivery.job.id
        running = {
            "state": JobState.RUNNING.value,
            "fence": delivery.claim.fence,
            "attempt": delivery.attempt,
        }
        check = Check(self._settings.jobs, job_key(job), running)
        for attempt in range(ATTEMPTS):
            page = self._page(delivery, events, await self._last_page(job))
            try:
                writes: list[Write] = [check]
                if page is not None:
                    writes.append(Put(self._settings.jobs, page, {"jobId": ABSENT}))
                await self._dynamo.transact(writes, new_token())
                return page is not None
            except ChangedMeanwhile as refused:
                if RUNNING_ELSEWHERE in refused.failed:
                    raise ClaimLost(f"job {job} does not run under this claim") from refused
            await self._lanes.pause(attempt)
        raise BackendUnavailable(f"others kept telling about job {job}; these events were not kept")

    async def _last_page(self, job: JobId) -> Item | None:
        where = Where(
            self._settings.jobs, ("jobId", job), None, ("part", "begins_with", EVENTS), newest_first=True
        )
        pages = await self._dynamo.query(where, limit=1)
        return pages[0] if pages else None

    def _page(self, delivery: Delivery, events: Sequence[AgentEvent], last: Item | None) -> Item | None:
        """Put the next page together; None if there is nothing that may still be kept."""
        number, kept = (last["last"], last["ofAttempt"]) if last else (0, 0)
        if last is not None and last["attempt"] != delivery.attempt:
            kept = 0
        some = events[: max(EVENTS_MAX - kept, 0)]
        if not some:
            return None
        texts = [(event.kind.value, storable(event.text[:EVENT_CHARACTERS])) for event in some]
        return {
            **job_key(delivery.job.id, _part(number + len(some))),
            "first": number + 1,
            "last": number + len(some),
            "attempt": delivery.attempt,
            "ofAttempt": kept + len(some),
            "at": self._clock.now(),
            "events": shortened(json.dumps(texts)),
        }

    async def events(self, job: JobId, *, after: int = 0, limit: int, wait: float = 0.0) -> list[KeptEvent]:
        """See `Journal.events`."""

        async def ask() -> list[KeptEvent] | Nothing:
            sort = ("part", ">", _part(after))
            pages = await self._dynamo.query(
                Where(self._settings.jobs, ("jobId", job), None, sort), limit=limit
            )
            found = [event for page in pages if page["part"].startswith(EVENTS) for event in _events(page)]
            return [event for event in found if event.number > after][:limit] or Nothing()

        return await poll(self._wakeups, self._clock, job_topic(job), wait, ask) or []

    async def left(self, lane: Lane, session: str | None = None) -> Facts:
        """See `Journal.left`."""
        if session is None:
            item = await self._dynamo.get(self._settings.lanes, lane_key(lane))
            if item is None or "lastSession" not in item:
                return NO_FACTS
            session = item["lastSession"]
        left = await self._dynamo.get(self._settings.ledger, left_key(lane.key, session))
        return facts_of(left["facts"] if left else None)


def _part(number: int) -> str:
    return f"{EVENTS}{number:08d}"


def _events(page: Item) -> list[KeptEvent]:
    texts: list[tuple[str, str]] = json.loads(lengthened(page["events"]))
    return [
        KeptEvent(number, float(page["at"]), page["attempt"], EventKind(kind), text)
        for number, (kind, text) in enumerate(texts, page["first"])
    ]
