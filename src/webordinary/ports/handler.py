"""Whoever carries a job out."""

from __future__ import annotations

import asyncio
from typing import Protocol

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Outcome


class Stop:
    """How a running job learns that it shall stop: ask first, force later."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        """Start with nothing asked."""
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Ask the job to stop cleanly and keep what it has."""
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether the job should stop."""
        return self._asked.is_set()

    async def wait(self) -> None:
        """Come back when the job should stop."""
        await self._asked.wait()


class Handler(Protocol):
    """Carries jobs out."""

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """Carry one job out. Heed `stop`; when cancelled, leave no process behind."""
        ...
