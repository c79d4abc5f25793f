"""How long a reader of a mailbox waits: whatever fails again is tried again later, up to a bound."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from webordinary.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class PollPace:
    """How long to wait, in seconds."""

    look: float = 30.0  # between two looks, where the server does not tell of new mail
    idle: float = 300.0  # and where it does: lines die silently, and some servers forget to tell
    news: float = 1.0  # at least, between two looks at a server that tells all the time
    reconnect: float = 0.25
    reconnect_most: float = 120.0
    login: float = 60.0  # after a refused one: servers lock users out who try too often
    login_most: float = 900.0
    retry: float = 60.0  # of one mail
    retry_most: float = 3600.0


def slower(first: float, times: int, most: float, clock: Clock) -> float:
    """Twice as long each time, with some chance in it."""
    return min(first * 2.0 ** min(times - 1, 30), most) * (0.75 + clock.chance() / 2)


@dataclass(slots=True)
class _Failed:
    times: int = 0
    put_off: int = 0
    due: float = 0.0  # not before that


class Retries:
    """Mails that something was tried with in vain, by UID."""

    def __init__(self, pace: PollPace, clock: Clock) -> None:
        """Start with none."""
        self._pace, self._clock = pace, clock
        self._failed: dict[int, _Failed] = {}

    def times(self, uid: int) -> int:
        """How often it failed in a row."""
        return self._failed[uid].times if uid in self._failed else 0

    def is_due(self, uid: int) -> bool:
        """Whether to try it now."""
        return uid not in self._failed or self._failed[uid].due <= self._clock.monotonic()

    def due(self) -> list[float]:
        """When to try those again that failed."""
        return [failed.due for failed in self._failed.values()]

    def was_put_off(self, uid: int) -> bool:
        """Whether the others went on without it before."""
        return uid in self._failed and self._failed[uid].put_off > 0

    def failed(self, uid: int) -> int:
        """Note a failure; say how many that are in a row."""
        failed = self._failed.setdefault(uid, _Failed())
        failed.times += 1
        return failed.times

    def put_off(self, uid: int) -> None:
        """Come back to it later, and four times as late each time."""
        failed = self._failed.setdefault(uid, _Failed())
        failed.put_off += 1
        seconds = slower(self._pace.retry, 2 * failed.put_off - 1, self._pace.retry_most, self._clock)
        failed.due = self._clock.monotonic() + seconds

    def forget(self, uid: int) -> None:
        """It went well."""
        self._failed.pop(uid, None)

    def keep_only(self, uids: Collection[int]) -> None:
        """Forget all others."""
        self._failed = {uid: failed for uid, failed in self._failed.items() if uid in uids}
