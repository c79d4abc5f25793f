"""Workers as they show themselves."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.values import Item
from webordinary.claim.rows import WorkerRow
from webordinary.core.claim import Presence, WorkerId
from webordinary.ports.clock import Clock

FORGOTTEN_SECONDS = 3600


class Workers:
    """The pool, as far as it shows itself."""

    def __init__(self, dynamo: Dynamo, settings: AwsSettings, clock: Clock, news_seconds: float) -> None:
        """Keep them in a table."""
        self._dynamo, self._settings, self._clock = dynamo, settings, clock
        self._news_seconds = news_seconds
        self._shown: dict[WorkerId, tuple[Presence, float]] = {}

    def is_news(self, presence: Presence) -> bool:
        """Whether the table does not know this worker like that, or has not heard of it for a while."""
        shown, at = self._shown.get(presence.worker, (None, 0.0))
        return shown != presence or self._clock.now() - at >= self._news_seconds

    async def show(self, presence: Presence) -> None:
        """Write down that a worker was seen now; with its last word it is gone."""
        key = {"containerId": presence.worker}
        self._shown.pop(presence.worker, None)
        if presence.gone:
            await self._dynamo.delete(self._settings.workers, key)
            return
        now = self._clock.now()
        await self._dynamo.put(
            self._settings.workers,
            {
                **key,
                "host": presence.host,
                "pid": presence.pid,
                "slots": presence.slots,
                "since": presence.since,
                "draining": presence.draining,
                "seenAt": now,
                "ttl": int(now) + FORGOTTEN_SECONDS,
            },
        )
        self._shown[presence.worker] = presence, now

    async def seen(self, names: Sequence[WorkerId]) -> dict[WorkerId, WorkerRow]:
        """Read some of them."""
        if not names:
            return {}
        keys = [{"containerId": name} for name in names]
        found = await self._dynamo.get_many({self._settings.workers: keys})
        return {row.presence.worker: row for row in map(_row, found[self._settings.workers])}

    async def everybody(self) -> list[WorkerRow]:
        """Read all of them, by name."""
        rows = [_row(item) for item in await self._dynamo.scan(self._settings.workers)]
        return sorted(rows, key=lambda row: row.presence.worker)


def _row(item: Item) -> WorkerRow:
    presence = Presence(
        WorkerId(item["containerId"]),
        item["slots"],
        float(item["since"]),
        item["host"],
        item["pid"],
        item["draining"],
    )
    return WorkerRow(presence, float(item["seenAt"]))
