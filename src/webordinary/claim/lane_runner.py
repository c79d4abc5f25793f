"""Serving one claimed lane: its jobs in order, one at a time, until there is a reason to let go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from webordinary.claim.backoff import Backoff
from webordinary.claim.release_reasons import LetGo, why_let_go
from webordinary.core.claim import Claim, Delivery, Interrupt, Pulse
from webordinary.core.errors import BackendUnavailable, ClaimLost
from webordinary.core.failure import FailureKind
from webordinary.core.limits import Limits
from webordinary.core.log_throttle import LogThrottle
from webordinary.core.outcome import Failed, HandedBack, Outcome, Preempted, Retry
from webordinary.ports.broker import Broker, Recall
from webordinary.ports.clock import Clock
from webordinary.ports.handler import Handler, Stop

log = logging.getLogger("webordinary.worker")

FETCHING, SETTLING, RELEASING = "no answer to a look for jobs", "it is not settled yet", "not released yet"
NEXT_JOB_WAIT_SECONDS = 20.0
SHORTEST_WAIT_SECONDS = 0.001  # what rounding leaves of a wait may be less than the clock can tell apart


class LaneServer:
    """One claimed lane in a worker's hands.

    It vouches for itself: before everything that may take long it says until when it can be trusted to
    be alive. The worker's beat renews only claims that are vouched for, so a lane whose loop is stuck
    or dead is let go by its lease, however lively the rest of the worker is.
    """

    def __init__(
        self,
        claim: Claim,
        broker: Broker,
        handler: Handler,
        clock: Clock,
        limits: Limits,
        changed: Callable[[], None],
    ) -> None:
        """Start serving on `serve`; `changed` is called whenever the lane becomes idle or busy."""
        self.claim = claim
        self.reason: LetGo | None = None
        self.pulse = Pulse()
        self.throttle = LogThrottle(log, clock.monotonic)  # the worker puts in its own, for all its lanes
        self._broker, self._handler, self._clock, self._limits = broker, handler, clock, limits
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._recall = Recall()
        self._draining = False
        self._running: Delivery | None = None  # until it is settled
        self._handling = False  # the part of that in which there is something to stop
        self._stop = Stop()
        self._stopping: Outcome | None = None  # what a stopped job ends as
        self._force: asyncio.TimerHandle | None = None
        self._watchdog: asyncio.TimerHandle | None = None
        self._quiet_since = self._turn_began = self._trusted_until = clock.monotonic()
        self.vouch(limits.lease_seconds)

    # --- what the worker asks and tells -----------------------------------------------------------

    def start(self, asked_at: float, done: Callable[[LaneServer], None]) -> None:
        """Begin to serve; the lease counts from before it was asked for."""
        self.renewed(asked_at)
        self._task = asyncio.create_task(self._serve(), name=f"lane {self.claim.lane}")
        self._task.add_done_callback(lambda _: done(self))

    def vouch(self, seconds: float) -> None:
        """Say that this lane's loop will be heard of again within so many seconds."""
        self._trusted_until = self._clock.monotonic() + seconds

    def trusted(self) -> bool:
        """Whether the beat may renew this claim: its loop is alive, and the claim is not lost."""
        return self.reason is None and self._clock.monotonic() <= self._trusted_until

    @property
    def idle_since(self) -> float | None:
        """Since when nothing ran here; None while a job runs or the lane is being let go."""
        return self._quiet_since if self._running is None and self.reason is None else None

    def renewed(self, asked_at: float) -> None:
        """Move the watchdog: the lease is good for its length from before the beat was sent.

        The watchdog is a timer of this process. It never waits for the call that renews.
        """
        if self._watchdog is not None:
            self._watchdog.cancel()
        left = asked_at + self._limits.lease_seconds - self._clock.monotonic()
        self._watchdog = asyncio.get_running_loop().call_later(max(left, 0.0), self.lose)

    def lose(self) -> None:
        """Drop the lane at once: whatever runs for it is killed, nothing of it is settled or published."""
        if self.reason is None:
            self.reason = LetGo.LOST
            log.warning("lost %s (fence %s)", self.claim.lane, self.claim.fence)
            self._recall.call()
            if self._running is not None and self._task is not None:
                self._task.cancel()

    def exchanged(self) -> None:
        """The store gave this idle lane away for a waiting one."""
        if self.reason is None:
            self.reason = LetGo.EXCHANGED
        self._recall.call()

    def interrupt(self, interrupt: Interrupt) -> None:
        """Stop the running job in favour of a newer one."""
        if self._running is not None and self._running.job.id == interrupt.job:
            self._ask_to_stop(Preempted(interrupt.by))

    def drain(self) -> None:
        """Take no further job; one that runs may finish."""
        self._draining = True
        self._recall.call()

    def hand_back(self) -> None:
        """Stop the running job and hand it back uncounted."""
        if self._running is not None:
            self._ask_to_stop(HandedBack())

    def check_budget(self) -> None:
        """Stop a job that has run for too long."""
        budget = self._limits.job_budget_seconds
        if self._running is not None and self._clock.monotonic() - self._quiet_since > budget:
            self._ask_to_stop(
                Failed(
                    f"it took longer than {budget / 60:g} minutes and was stopped", kind=FailureKind.TOO_LONG
                )
            )

    def _ask_to_stop(self, becomes: Outcome) -> None:
        if self._stopping is not None or not self._handling:
            return
        self._stopping = becomes
        self._stop.ask()
        self.vouch(2 * self._limits.stop_grace_seconds)  # one to be asked, one to be killed
        self._force = asyncio.get_running_loop().call_later(self._limits.stop_grace_seconds, self._force_stop)

    def _force_stop(self) -> None:
        if self._running is not None and self._task is not None:
            log.warning(
                "%s: job %s did not stop when asked; killing it", self.claim.lane, self._running.job.id
            )
            self._task.cancel()

    # --- the loop that does the work --------------------------------------------------------------

    async def _serve(self) -> None:
        try:
            delivery = await self._next_job()
            while delivery is not None:
                outcome = await self._perform(delivery)
                delivery = await self._settle(delivery, outcome) or await self._next_job()
            await self._let_go()
        except ClaimLost:
            self.reason = self.reason or LetGo.LOST
        except asyncio.CancelledError:
            if self.reason is not LetGo.LOST:
                raise
        except Exception:
            log.exception("%s: the lane's loop failed; its lease will run out", self.claim.lane)
            raise
        finally:
            self._end()

    def _end(self) -> None:
        self._trusted_until = float("-inf")
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._changed()

    async def _next_job(self) -> Delivery | None:
        """Wait for the lane's next job; None means: let go, `reason` says why."""
        backoff = Backoff(self._clock)
        while (reason := self._why_let_go()) is None:
            if self.reason is not None:
                return None
            left = self._limits.idle_release_seconds - self._quiet_seconds()
            wait = max(min(NEXT_JOB_WAIT_SECONDS, left), SHORTEST_WAIT_SECONDS)
            self.vouch(wait + self._limits.lease_seconds)
            try:
                delivery = await self._broker.next_job(self.claim, wait=wait, recall=self._recall)
            except BackendUnavailable as error:
                self.throttle.met(FETCHING, error, str(self.claim.lane))
                await backoff.wait()
                continue
            self.throttle.over(FETCHING, str(self.claim.lane))
            if delivery is not None:
                return delivery
        self.reason = self.reason or reason
        return None

    def _why_let_go(self) -> LetGo | None:
        return why_let_go(
            draining=self._draining,
            idle_seconds=self._quiet_seconds(),
            turn_seconds=self._clock.monotonic() - self._turn_began,
            pulse=self.pulse,
            limits=self._limits,
        )

    def _quiet_seconds(self) -> float:
        return self._clock.monotonic() - self._quiet_since

    def _check_not_lost(self) -> None:
        """A lost claim is final: no job is begun or settled under it, though nobody else may have it yet."""
        if self.reason is LetGo.LOST:
            raise ClaimLost(f"the lease of {self.claim.lane} ran out here")

    async def _perform(self, delivery: Delivery) -> Outcome:
        self._check_not_lost()
        self._begin(delivery)
        try:
            outcome = await self._handler.run(delivery, self._stop)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._stopping is None or self.reason is not None or task is None:
                raise
            task.uncancel()  # our own force, not somebody ending this loop
            outcome = self._stopping
        except ClaimLost:
            raise  # the repository or the publisher knows of a newer owner
        except Exception as error:  # noqa: BLE001 - a handler may fail in any way; the lane goes on
            log.warning("%s: job %s: %r", self.claim.lane, delivery.job.id, error)
            outcome = self._stopping or Retry(f"{type(error).__name__}: {error}")
        finally:
            self._finish()
        return self._as_stopped(outcome)

    def _begin(self, delivery: Delivery) -> None:
        was_idle = self._running is None
        self._running = delivery
        self._quiet_since = self._clock.monotonic()
        if self._stop.asked:
            self._stop = Stop()
        self._stopping = None
        self._handling = True
        self.vouch(self._limits.job_budget_seconds)
        if was_idle:
            self._changed()

    def _finish(self) -> None:
        self._handling = False
        if self._force is not None:
            self._force.cancel()
            self._force = None
        self._quiet_since = self._clock.monotonic()  # idle counts from the end of the last job

    def _as_stopped(self, outcome: Outcome) -> Outcome:
        """A job that stopped because it was asked to ends as what it was asked for."""
        if not isinstance(outcome, Preempted) or self._stopping is None:
            return outcome
        if isinstance(self._stopping, Preempted):
            return Preempted(self._stopping.by, outcome.kept, outcome.facts)
        return self._stopping

    async def _settle(self, delivery: Delivery, outcome: Outcome) -> Delivery | None:
        """Settle, and take the next job in the same breath unless the lane is to be let go."""
        backoff: Backoff | None = None
        while True:
            self._check_not_lost()
            self.vouch(self._limits.lease_seconds)
            try:
                following = await self._broker.settle(delivery, outcome, more=self._why_let_go() is None)
            except BackendUnavailable as error:
                self.throttle.met(SETTLING, error, f"{self.claim.lane}: job {delivery.job.id}")
                backoff = backoff or Backoff(self._clock)
                await backoff.wait()
            else:
                if backoff is not None:
                    self.throttle.over(SETTLING, f"{self.claim.lane}: job {delivery.job.id}")
                if following is None:
                    self._running = None
                    self._changed()
                return following

    async def _let_go(self) -> None:
        if self.reason in (LetGo.LOST, LetGo.EXCHANGED):
            return
        log.info("letting go of %s: %s", self.claim.lane, self.reason)
        backoff = Backoff(self._clock)
        while True:
            try:
                await self._broker.release(self.claim)
            except BackendUnavailable as error:
                self.throttle.met(RELEASING, error, str(self.claim.lane))
                await backoff.wait()
            else:
                self.throttle.over(RELEASING, str(self.claim.lane))
                return
