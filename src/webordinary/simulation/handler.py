"""Jobs that take virtual time, succeed, fail, hang, and heed or ignore being asked to stop."""

from __future__ import annotations

import asyncio

from webordinary.core.claim import Delivery
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.ports.handler import Stop
from webordinary.simulation.faults import Fault, Weather

STUCK_SECONDS = 4000.0


class SimHandler:
    """See `Handler`."""

    def __init__(self, weather: Weather) -> None:
        """Behave as the weather says."""
        self._weather = weather
        self._seconds = (0.0, 0.05, 1.0, 5.0, 20.0) if weather.kinds else (0.05, 5.0, 100.0)

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        del delivery
        rng = self._weather.rng
        if self._weather.strikes(Fault.STUCK):
            return await _hang()
        try:
            async with asyncio.timeout(rng.choice(self._seconds) * rng.random()):
                await stop.wait()
        except TimeoutError:
            return self._outcome()
        await asyncio.sleep(rng.choice((0.0, 0.1, 20.0)) * rng.random())  # some dawdle past the grace
        return Preempted(kept="half of it")

    def _outcome(self) -> Outcome:
        match self._weather.rng.randrange(20):
            case 0:
                return Failed("no such page")
            case 1:
                return Retry("the model was overloaded")
            case 2 if not self._weather.calm:
                raise RuntimeError("a bug in the handler")
            case _:
                return Done("did it")


async def _hang() -> Outcome:
    """Ignore everything for an hour, then come back as if nothing had happened."""
    loop = asyncio.get_running_loop()
    until = loop.time() + STUCK_SECONDS
    while loop.time() < until:
        try:
            await asyncio.sleep(until - loop.time())
        except asyncio.CancelledError:
            continue
    return Done("much too late")
