"""A generic worker: it knows no project at start, claims lanes that wait, and keeps what it holds alive."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, replace

from webordinary.claim.backoff import Backoff
from webordinary.claim.lane_runner import LaneServer
from webordinary.claim.release_reasons import LetGo
from webordinary.core.claim import Claim, Claimed, Presence, Pulse
from webordinary.core.errors import BackendUnavailable
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.log_throttle import LogThrottle
from webordinary.ports.broker import Broker, Recall
from webordinary.ports.clock import Clock
from webordinary.ports.handler import Handler

log = logging.getLogger("webordinary.worker")

ASKING, BEATING, SWEEPING = "no answer to a call for lanes", "beat failed", "sweep failed"


@dataclass(frozen=True, slots=True)
class Shape:
    """How a worker takes part in the pool."""

    only: Lane | None = None  # tied to one lane
    exit_when_idle_seconds: float | None = None  # scale to zero


class Worker:
    """Claims lanes, serves each in a loop of its own, and sends one beat for all of them."""

    lane_server: type[LaneServer] = LaneServer
    sweeps = True

    def __init__(
        self,
        presence: Presence,
        broker: Broker,
        handler: Handler,
        clock: Clock,
        limits: Limits,
        shape: Shape | None = None,
    ) -> None:
        """Take part in the pool once `run` is called."""
        self._presence = presence
        self._broker, self._handler, self._clock, self._limits = broker, handler, clock, limits
        self._shape = shape or Shape()
        self._servers: dict[Claim, LaneServer] = {}
        self._draining = asyncio.Event()
        self._changed = asyncio.Event()
        self._recall = Recall()
        self._pulse = Pulse()
        self._throttle = LogThrottle(log, clock.monotonic)
        self._busy_at = clock.monotonic()

    async def run(self) -> None:
        """Work until told to drain. If any of the worker's own loops dies, all of it ends."""
        try:
            async with asyncio.TaskGroup() as loops:
                background = [loops.create_task(loop) for loop in self._background_loops()]
                await self._claim_lanes()
                background.append(loops.create_task(self._tell_of_leaving()))
                await self._let_go_of_everything()
                for task in background:
                    task.cancel()
        finally:
            for server in self._servers.values():
                server.lose()
        await self._say_goodbye()

    def _background_loops(self) -> list[Coroutine[None, None, None]]:
        loops = [self._beat()]
        if self.sweeps:
            loops.append(self._sweep())
        if self._shape.exit_when_idle_seconds is not None:
            loops.append(self._leave_when_idle(self._shape.exit_when_idle_seconds))
        return loops

    def drain(self) -> None:
        """Stop claiming at once; finish or hand back what runs; then `run` ends."""
        if not self._draining.is_set():
            self._draining.set()
            self._presence = replace(self._presence, draining=True)
            self._something_changed()

    def _something_changed(self) -> None:
        """A slot became free, idle or busy: a call for lanes under way no longer fits."""
        self._changed.set()
        self._recall.call()

    # --- claiming ---------------------------------------------------------------------------------

    async def _claim_lanes(self) -> None:
        backoff = Backoff(self._clock)
        while not self._draining.is_set():
            self._changed.clear()
            room, idle = self.capacity()
            if not room and not idle:
                await self._changed.wait()
                continue
            try:
                await self._claim_once(room, idle)
            except BackendUnavailable as error:
                self._throttle.met(ASKING, error)
                await backoff.wait()
            else:
                self._throttle.over(ASKING)
                backoff.succeeded()

    async def _claim_once(self, room: int, idle: list[Claim]) -> None:
        self._recall = Recall()
        asked_at = self._clock.monotonic()
        claimed = await self._broker.claim(
            self._presence.worker,
            room=room,
            idle=idle,
            only=self._shape.only,
            wait=self._limits.beat_seconds,
            recall=self._recall,
        )
        self._serve(claimed, asked_at)

    def capacity(self) -> tuple[int, list[Claim]]:
        """Say how many slots are free; without any, which idle claims may go in exchange, coldest first."""
        room = max(self._presence.slots - len(self._servers), 0)
        if room:
            return room, []
        quiet = [(server.idle_since, claim) for claim, server in self._servers.items()]
        return 0, [
            claim for since, claim in sorted(((s, c) for s, c in quiet if s is not None), key=lambda q: q[0])
        ]

    def _serve(self, claimed: Claimed, asked_at: float) -> None:
        for claim in claimed.given_up:
            if claim in self._servers:
                self._servers[claim].exchanged()
        for claim in claimed.claims:
            log.info("claimed %s (fence %s)", claim.lane, claim.fence)
            server = self.lane_server(
                claim, self._broker, self._handler, self._clock, self._limits, self._something_changed
            )
            server.pulse, server.throttle = self._pulse, self._throttle
            self._servers[claim] = server
            server.start(asked_at, self._server_ended)
            if self._draining.is_set():
                server.drain()

    def _server_ended(self, server: LaneServer) -> None:
        del self._servers[server.claim]
        if server.reason is not LetGo.EXCHANGED:
            self._busy_at = self._clock.monotonic()
        self._something_changed()

    # --- keeping ----------------------------------------------------------------------------------

    async def _beat(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            try:
                await self._beat_once()
            except BackendUnavailable as error:
                self._throttle.met(BEATING, error)
                await backoff.wait()
            else:
                self._throttle.over(BEATING)
                backoff.succeeded()
                await self._broker.nudged(self._presence.worker, wait=self._limits.beat_seconds)

    async def _beat_once(self) -> None:
        asked_at = self._clock.monotonic()
        for server in self._servers.values():
            server.check_budget()
        beating = [server for server in self._servers.values() if server.trusted()]
        self._pulse = await self._broker.keep(self._presence, [server.claim for server in beating])
        lost = set(self._pulse.lost)
        for server in beating:
            if server.claim in lost:
                server.lose()
            else:
                server.renewed(asked_at)
                server.pulse = self._pulse
        for interrupt in self._pulse.interrupts:
            for server in beating:
                if server.claim.lane == interrupt.lane:
                    server.interrupt(interrupt)

    async def _sweep(self) -> None:
        """Give stranded lanes a claim request: the guarantee that everything else only speeds up."""
        while True:
            await self._clock.sleep(self._limits.sweep_seconds * (0.5 + self._clock.chance()))
            try:
                stranded = await self._broker.sweep()
            except BackendUnavailable as error:
                self._throttle.met(SWEEPING, error)
            else:
                self._throttle.over(SWEEPING)
                if stranded:
                    log.info("found %d stranded lanes and asked for owners", stranded)

    # --- leaving ----------------------------------------------------------------------------------

    async def _leave_when_idle(self, seconds: float) -> None:
        while not self._draining.is_set():
            now = self._clock.monotonic()
            quiet = [server.idle_since for server in self._servers.values()]
            if any(since is None for since in quiet):
                self._busy_at = now
            last = max([self._busy_at, *(since for since in quiet if since is not None)])
            if now - last >= seconds and not await self._work_is_left():
                log.info("idle for %g s: leaving", seconds)
                self.drain()
                return
            await self._clock.sleep(max(seconds - (now - last), seconds / 10))

    async def _work_is_left(self) -> bool:
        """Ask before leaving: a job in back-off makes no noise, and nobody else may be there to run it."""
        try:
            await self._beat_once()
        except BackendUnavailable:
            return True
        return self._pulse.lanes_with_work > 0

    async def _tell_of_leaving(self) -> None:
        """Show it at once where a job still runs: people look at that moment. Idle, it is gone before."""
        if any(server.idle_since is None for server in self._servers.values()):
            try:
                await self._beat_once()
            except BackendUnavailable as error:
                log.warning("could not say that it is leaving: %s", error)

    async def _let_go_of_everything(self) -> None:
        """Idle lanes are released at once; running jobs may finish within the grace, or are handed back."""
        for server in self._servers.values():
            server.drain()
        grace = self._limits.drain_grace_seconds
        if not await self._all_ended(grace):
            for server in self._servers.values():
                server.hand_back()
            await self._all_ended(2 * self._limits.stop_grace_seconds)

    async def _all_ended(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while self._servers:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _say_goodbye(self) -> None:
        try:
            await self._broker.keep(replace(self._presence, gone=True), [])
        except BackendUnavailable as error:
            log.warning("could not say goodbye: %s", error)
