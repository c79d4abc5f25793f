"""Time and chance of this machine: the only place that asks for either."""

from __future__ import annotations

import asyncio
import random
import secrets
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: easy to read aloud
TIME_CHARACTERS = 9  # milliseconds since 1970, good until the year 3084
CHANCE_CHARACTERS = 7


class SystemClock:
    """See `Clock`."""

    def now(self) -> float:
        """See `Clock.now`."""
        return time.time()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        await asyncio.sleep(seconds)

    def chance(self) -> float:
        """See `Clock.chance`."""
        return random.random()  # noqa: S311 - spreads retries, guards nothing

    def unique(self) -> str:
        """See `Clock.unique`."""
        return _written(time.time_ns() // 1_000_000, TIME_CHARACTERS) + _written(
            secrets.randbits(5 * CHANCE_CHARACTERS), CHANCE_CHARACTERS
        )


def _written(number: int, characters: int) -> str:
    return "".join(ALPHABET[number >> (5 * place) & 31] for place in reversed(range(characters)))
