"""Who sends replies. On one machine that is the gateway; in the cloud every worker does it beside its work.

There mail comes in without a process of ours, so workers are the only ones that are there. A worker hears at
once of what it settled itself, and looks now and then for what others owe.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from webordinary.ports.backend import Backend
from webordinary.wiring.settings import Settings


@asynccontextmanager
async def replies(settings: Settings, backend: Backend) -> AsyncIterator[None]:
    """Send replies while something else is done, where that is a worker's affair."""
    if not settings.in_cloud:
        yield
        return
    # What mail takes is loaded only here: a bare worker needs none of it.
    from webordinary.wiring.mail import open_mail_room  # noqa: PLC0415 - see above

    room = open_mail_room(settings, backend)
    sending = asyncio.create_task(room.sender.run())
    try:
        yield
    finally:
        room.sender.stop()
        await sending
        await room.close()
