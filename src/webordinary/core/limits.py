"""Every limit, with its unit in its name and its reason beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from webordinary.core.errors import BadLimits

BEATS_PER_LEASE = 3  # two lost beats are survivable
DOUBLINGS_MAX = 64  # of a back-off: beyond any bound that makes sense, and within what a float can hold


def believable(moment: float | None, latest: float) -> float:
    """A moment that can't be later than `latest`; 0 if there is none.

    A later one was written by a clock that was set back since. It counts as long over: nothing waits for
    hours because a clock was wrong.
    """
    return moment if moment is not None and moment <= latest else 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The times and counts of the claim protocol. All are settings; the defaults fit ten-minute jobs."""

    lease_seconds: float = 60.0
    beat_seconds: float = 15.0
    idle_release_seconds: float = 30 * 60.0
    sweep_seconds: float = 10.0  # how often each worker looks for stranded lanes, with jitter
    sweep_lanes_max: int = 500  # bounded work per run

    job_budget_seconds: float = 60 * 60.0
    stop_grace_seconds: float = 5.0  # between asking a job to stop and killing it
    drain_grace_seconds: float = 30.0  # between SIGTERM and handing back what still runs

    deliveries_max: int = 5
    retry_first_seconds: float = 2.0
    retry_most_seconds: float = 120.0

    exchange_grace_seconds: float = 0.25  # workers with free slots, and with fewer lanes, go first
    warm_seconds: float = 0.25  # a lane's last worker goes first: its workspace is warm
    turn_seconds: float = 60.0  # a lane may be served this long ...
    patience_seconds: float = 30.0  # ... before it gives way to lanes that waited longer than this

    acknowledge_seconds: float = 8.0  # "your request is in" waits so long; the result may be there first

    breaker_failures: int = 10  # failed attempts in a row that park a lane ...
    breaker_seconds: float = 10 * 60.0  # ... for this long

    def __post_init__(self) -> None:
        """Refuse limits that would break a promise of the protocol."""
        for name in self.__slots__:
            if not 0 < getattr(self, name) < math.inf:
                raise BadLimits(f"{name} must be a number more than zero")
        if self.beat_seconds * BEATS_PER_LEASE >= self.lease_seconds:
            raise BadLimits(
                f"a lease of {self.lease_seconds:g} s needs beats closer than "
                f"{self.lease_seconds / BEATS_PER_LEASE:g} s, so that two lost beats are survivable"
            )

    # --- moments that the store's clock wrote down ---------------------------------------------------

    def latest_lease(self, now: float) -> float:
        """How far away a lease can end; one that ends later is no lease.

        Twice its length: a clock that is set back a little takes no lane from a live owner.
        """
        return now + 2 * self.lease_seconds

    def lease_holds(self, until: float | None, now: float) -> bool:
        """Whether a lease has not run out."""
        return believable(until, self.latest_lease(now)) > now

    def latest_parking(self, now: float) -> float:
        """How far away the end of a parking can be."""
        return now + 2 * self.breaker_seconds

    def latest_retry(self, now: float) -> float:
        """How far away the end of a back-off can be."""
        return now + 2 * self.retry_most_seconds

    def parked_until(self, until: float | None, now: float) -> float:
        """Until when a lane is parked; 0 if it never was."""
        return believable(until, self.latest_parking(now))

    def retry_at(self, due_at: float | None, now: float) -> float:
        """When a job's back-off ends; 0 if it has none."""
        return believable(due_at, self.latest_retry(now))

    def retry_delay(self, attempt: int) -> float:
        """How long a job waits after its attempt number `attempt` failed."""
        doublings = min(attempt - 1, DOUBLINGS_MAX)
        return float(min(self.retry_first_seconds * 2**doublings, self.retry_most_seconds))
