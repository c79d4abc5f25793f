"""A mailer that keeps a copy of what it sent, where people can look it up."""

from __future__ import annotations

import asyncio
import logging

from webordinary.ports.mailer import Letters, Mailer, Rejected, Sent, TryLater

COPY_SECONDS = 5.0  # a letter waits for its copy no longer
log = logging.getLogger(__name__)


class KeepingMailer:
    """See `Mailer`."""

    def __init__(self, mailer: Mailer, copies: Letters) -> None:
        """Send by the one, keep in the other."""
        self._mailer, self._copies = mailer, copies

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater | Rejected:
        """See `Mailer.send`. The copy comes first: nothing may make a letter that is out look unsent."""
        why_not = await self._keep(message, recipient, key)
        if why_not:
            log.warning("letter %s goes out, but no copy of it is kept: %s", key, why_not)
        return await self._mailer.send(message, recipient=recipient, key=key, return_path=return_path)

    async def _keep(self, message: bytes, recipient: str, key: str) -> str:
        try:
            async with asyncio.timeout(COPY_SECONDS):
                kept = await self._copies.send(message, recipient=recipient, key=key)
        except TimeoutError:
            return f"that takes longer than {COPY_SECONDS:g} s"
        return "" if isinstance(kept, Sent) else kept.reason
