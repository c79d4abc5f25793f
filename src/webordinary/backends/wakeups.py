"""Waking waiters up. Always a hint: whoever is woken asks the store again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol


class Subscription:
    """One waiter's ear on one topic."""

    __slots__ = ("_future", "_heard", "_topic", "_wakeups")

    def __init__(self, wakeups: LocalWakeups, topic: str) -> None:
        """Listen from now on."""
        self._wakeups, self._topic = wakeups, topic
        self._future: asyncio.Future[None] | None = None
        self._heard = False

    def wake(self) -> None:
        """Let the waiter go on."""
        self._heard = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Come back when something was heard since this ear was opened, or when the seconds are over."""
        if self._heard:
            return
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        timer = loop.call_later(seconds, self.wake)
        try:
            await self._future
        finally:
            timer.cancel()

    def close(self) -> None:
        """Stop listening."""
        self._wakeups.forget(self._topic, self)


class Wakeups(Protocol):
    """How the waiters of a backend are woken."""

    def listen(self, topic: str) -> Subscription:
        """Open an ear; whatever is sent from now on is heard."""
        ...

    def send(self, topics: Iterable[str]) -> None:
        """Wake everybody who listens to one of these."""
        ...


class LocalWakeups:
    """Wakes waiters of this process."""

    def __init__(self) -> None:
        """Start with nobody listening."""
        self._ears: dict[str, dict[Subscription, None]] = {}

    def listen(self, topic: str) -> Subscription:
        """Open an ear."""
        ear = Subscription(self, topic)
        self._ears.setdefault(topic, {})[ear] = None
        return ear

    def forget(self, topic: str, ear: Subscription) -> None:
        """Close an ear."""
        ears = self._ears.get(topic)
        if ears is not None:
            ears.pop(ear, None)
            if not ears:
                del self._ears[topic]

    def send(self, topics: Iterable[str]) -> None:
        """Wake everybody here who listens to one of these."""
        for topic in topics:
            for ear in tuple(self._ears.get(topic, ())):
                ear.wake()

    def wake_all(self, *, but: str = "\n") -> None:
        """Wake everybody, but for topics that begin so: something happened, and nobody knows what."""
        self.send(tuple(topic for topic in self._ears if not topic.startswith(but)))
