"""Handlers that need no program: to try the system out."""

from __future__ import annotations

import asyncio
import re

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Outcome, Preempted
from webordinary.ports.handler import Stop

SLEEP_SECONDS = 1.0  # when the instruction does not begin with a number


class Echo:
    """Answers with the instruction."""

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:  # noqa: ARG002 - done before anyone could ask
        """See `Handler.run`."""
        return Done(delivery.job.instruction)


class Sleep:
    """Sleeps for as many seconds as the instruction begins with; stops at once when asked."""

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        seconds = seconds_of(delivery.job.instruction)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(seconds):
                await stop.wait()
        except TimeoutError:
            return Done(f"slept {seconds:g} s")
        return Preempted(kept=f"slept {loop.time() - began:.1f} of {seconds:g} s")


def seconds_of(instruction: str) -> float:
    """Read the number that an instruction begins with: `2.5 change the title` is 2.5."""
    number = re.match(r"\s*(\d{1,9}(?:\.\d{1,9})?)", instruction, re.ASCII)
    return float(number[1]) if number else SLEEP_SECONDS
