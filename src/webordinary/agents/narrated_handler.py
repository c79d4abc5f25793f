"""Tells the log when a job starts and how it ends."""

from __future__ import annotations

import asyncio
import logging
from typing import assert_never

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Failed, HandedBack, Outcome, Preempted, Retry
from webordinary.ports.handler import Handler, Stop

log = logging.getLogger("webordinary.job")

WORDS_CHARACTERS = 120


class Narrated:
    """See `Handler`; does what another handler does, and says so."""

    def __init__(self, handler: Handler) -> None:
        """Tell about this one."""
        self._handler = handler

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        loop = asyncio.get_running_loop()
        began, name = loop.time(), f"{delivery.claim.lane}: job {delivery.job.id}"
        about = {"lane": str(delivery.claim.lane), "job": delivery.job.id, "attempt": delivery.attempt}
        log.info("%s started (attempt %d)", name, delivery.attempt, extra=about)
        try:
            outcome = await self._handler.run(delivery, stop)
        except BaseException as error:
            how = "killed" if isinstance(error, asyncio.CancelledError) else "broke off"
            log.info("%s %s after %.1f s", name, how, loop.time() - began, extra=about)
            raise
        log.info("%s %s after %.1f s", name, in_words(outcome), loop.time() - began, extra=about)
        return outcome


def in_words(outcome: Outcome) -> str:
    """Say in a few words how an attempt ended."""
    match outcome:
        case Done():
            return "done"
        case Failed(reason):
            return f"failed ({_short(reason)})"
        case Preempted():
            return "stopped as asked"
        case Retry(reason):
            return f"wants another try ({_short(reason)})"
        case HandedBack(reason):
            return f"handed back ({_short(reason)})"
        case _:
            assert_never(outcome)


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= WORDS_CHARACTERS else line[: WORDS_CHARACTERS - 1] + "…"
