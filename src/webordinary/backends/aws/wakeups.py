"""Ears that hear this process at once, and have somebody listen to queues for what others say."""

from __future__ import annotations

from collections.abc import Callable

from webordinary.backends.wakeups import LocalWakeups, Subscription
from webordinary.claim.rows import CLAIMS, WORKER
from webordinary.core.claim import WorkerId

LANE = "lane "  # as `lane_topic` begins
_LISTENED = (CLAIMS, LANE, WORKER)  # how the topics begin that queues carry


class CloudEar(Subscription):
    """An ear whose owner is also told, now and then, to look by himself where no queue would tell him."""

    __slots__ = ("_cloud", "_name")

    def __init__(self, wakeups: CloudWakeups, topic: str) -> None:
        """Listen from now on."""
        super().__init__(wakeups, topic)
        self._cloud, self._name = wakeups, topic

    async def wait(self, seconds: float) -> None:
        """See `Subscription.wait`; may come back early."""
        if self._name.startswith(_LISTENED):
            self._cloud.waiting(self._name, seconds)
        else:
            seconds = min(seconds, self._cloud.look_again_seconds)
        await super().wait(seconds)


class CloudWakeups(LocalWakeups):
    """See `Wakeups`."""

    def __init__(self, look_again_seconds: float) -> None:
        """Start with nobody listening."""
        super().__init__()
        self.look_again_seconds = look_again_seconds
        self.own_workers: set[WorkerId] = set()  # those of this process need no queue to hear of their lanes
        self.waiting: Callable[[str, float], None] = lambda _topic, _seconds: None

    def listen(self, topic: str) -> Subscription:
        """Open an ear."""
        ear = CloudEar(self, topic)
        self._ears.setdefault(topic, {})[ear] = None
        return ear

    def somebody_waits(self, topic: str) -> bool:
        """Whether anybody here listens to this."""
        return topic in self._ears
