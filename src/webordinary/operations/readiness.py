"""Whether a worker may begin: what is missing is an error, what only does not answer is waited for."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from webordinary.core.errors import BackendUnavailable, SchemaMismatch
from webordinary.core.log_throttle import LogThrottle
from webordinary.system.clock import SystemClock
from webordinary.wiring.settings import Settings

log = logging.getLogger("webordinary.worker")

FIRST_SECONDS, MOST_SECONDS = 1.0, 30.0  # between two looks


async def ready(settings: Settings, leaving: asyncio.Event) -> bool:
    """Come back when a worker may begin; False if it is told to leave before that."""
    if not settings.in_cloud:
        return True
    # What the cloud takes is loaded only here.
    from webordinary.wiring.cloud import check_cloud  # noqa: PLC0415 - see above

    throttle, seconds = LogThrottle(log, SystemClock().monotonic), FIRST_SECONDS
    while not leaving.is_set():
        try:
            await check_cloud(settings)
        except SchemaMismatch:
            raise
        except BackendUnavailable as error:
            throttle.met("not up yet, and trying again", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await leaving.wait()
            seconds = min(2 * seconds, MOST_SECONDS)
        else:
            throttle.over("not up yet, and trying again")
            return True
    return False
