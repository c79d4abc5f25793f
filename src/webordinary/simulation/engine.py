"""The engine that production runs, with shared commits and the file's lock, on virtual time."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from webordinary.backends.loading import Needs
from webordinary.backends.sqlite.engine import LOCK_WAIT_SECONDS, Engine, Verb, _Asked
from webordinary.backends.wakeups import Subscription, Wakeups
from webordinary.ports.clock import Clock
from webordinary.simulation.witness import Checker, Witness

T = TypeVar("T")
LOOK_SECONDS = 0.05  # at a lock that somebody else holds


class Effect:
    """What the witness is told when a call takes effect, once."""

    def __init__(self, saw: Callable[[Any], None]) -> None:
        """Tell it by this."""
        self._saw: Callable[[Any], None] | None = saw

    def took(self, answer: object) -> None:
        """Tell it, unless it was told before."""
        saw, self._saw = self._saw, None
        if saw is not None:
            saw(answer)


EFFECT: ContextVar[Effect | None] = ContextVar("the effect of the call that is under way", default=None)


class SimEngine(Engine):
    """Tells the witness of every effect in the order of commits, and waits for a lock without a thread."""

    def __init__(self, path: Path, clock: Clock, wakeups: Wakeups, witness: Callable[[], Witness]) -> None:
        """Open the file; nothing here survives a power cut, and need not."""
        super().__init__(path, clock, self, synchronous="OFF")
        self._woken, self._witness = wakeups, witness
        self._effects: list[tuple[Effect, object]] = []

    def listen(self, topic: str) -> Subscription:
        """See `Wakeups.listen`."""
        return self._woken.listen(topic)

    def send(self, topics: Iterable[str]) -> None:
        """See `Wakeups.send`."""
        if self._writer.in_transaction:
            self._witness().broken(Checker.WAKEUPS, "sent before the commit")
        self._woken.send(topics)

    async def write(self, verb: Verb[T], needs: Needs | None = None) -> T:
        """See `Engine.write`."""
        effect = EFFECT.get()

        def watched(tx: Any) -> T:  # noqa: ANN401 - what the engine gives its verbs
            answer = verb(tx)
            if effect is not None:
                self._effects.append((effect, answer))
            return answer

        return await super().write(watched, needs)

    def _transact(self, batch: list[_Asked], topics: dict[str, None]) -> list[object]:
        self._effects.clear()
        results = super()._transact(batch, topics)
        for effect, answer in self._effects:
            effect.took(answer)
        return results

    def _wait_for_lock(self, loop: asyncio.AbstractEventLoop) -> None:
        self._overdue = loop.call_later(LOCK_WAIT_SECONDS, self._give_up_waiting, loop)
        loop.call_later(LOOK_SECONDS, self._look_at_lock, loop)

    def _look_at_lock(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._lock_file < 0:
            return
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            loop.call_later(LOOK_SECONDS, self._look_at_lock, loop)
            return
        if self._overdue is not None:
            self._overdue.cancel()
        self._commit_all(loop)
