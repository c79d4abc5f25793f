"""Trouble that repeats: told once, then at most every minute (or so) with a count, and once when it is over.

Whatever fails for the same reason is one trouble: when the store refuses our credentials, beats, sweeps and
calls for lanes fail alike, and people need to hear of it once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from webordinary.core.errors import BackendUnavailable, WebordinaryError
from webordinary.core.waiting import span

EVERY_SECONDS = 60.0
NEVER = float("-inf")


@dataclass(slots=True)
class _Repeated:
    """One reason, and what fails because of it."""

    began_at: float
    logged_at: float
    met_at: float
    doings: set[tuple[str, str]] = field(default_factory=set)
    times: int = 0  # since it began
    unlogged: int = 0
    is_logged: bool = False  # since it began


class LogThrottle:
    """What goes wrong in one process, by its reason."""

    def __init__(
        self, log: logging.Logger, monotonic: Callable[[], float], every_seconds: float = EVERY_SECONDS
    ) -> None:
        """Tell this log; the clock may start anywhere."""
        self._log, self._monotonic, self._every_seconds = log, monotonic, every_seconds
        self._known: dict[str, _Repeated] = {}

    def met(self, doing: str, error: WebordinaryError, about: str = "") -> None:
        """Note that this failed; tell it if it is new, or was not told for a minute."""
        now = self._monotonic()
        reason = error.reason if isinstance(error, BackendUnavailable) else str(error)
        trouble = self._known.setdefault(reason, _Repeated(now, NEVER, now))
        if not trouble.doings:
            trouble.began_at, trouble.times, trouble.is_logged = now, 0, False
        trouble.doings.add((doing, about))
        trouble.met_at = now
        trouble.times += 1
        trouble.unlogged += 1
        if now - trouble.logged_at < self._every_seconds:
            return
        again = f" ({trouble.unlogged} times since the last word of it)" if trouble.unlogged > 1 else ""
        self._log.warning("%s%s: %s%s", f"{about}: " if about else "", doing, error, again)
        trouble.logged_at, trouble.unlogged, trouble.is_logged = now, 0, True

    def over(self, doing: str, about: str = "") -> None:
        """Note that this works. A trouble is over when all that failed works, or was not met for a minute."""
        if not self._known:
            return
        now = self._monotonic()
        for reason, trouble in list(self._known.items()):
            was_there = bool(trouble.doings)
            trouble.doings.discard((doing, about))
            if now - trouble.met_at >= self._every_seconds:
                trouble.doings.clear()
            if trouble.doings:
                continue
            if was_there and trouble.is_logged and trouble.times > 1:
                after = span(trouble.met_at - trouble.began_at)
                self._log.info("all works again, after %s and %d failures", after, trouble.times)
            if now - trouble.logged_at >= self._every_seconds:
                del self._known[reason]
