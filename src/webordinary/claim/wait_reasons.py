"""Why lanes wait, read from the ledger: a few bounded reads, however many lanes and jobs there are."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.core.estimates import Estimates
from webordinary.core.job import JobState
from webordinary.core.limits import Limits
from webordinary.core.views import LaneView, WorkerView
from webordinary.core.waiting import ESTIMATED, Cause, Reason, why
from webordinary.ports.ledger import Ledger

ENDED_LOOKED_AT = 50
BUSY_LOOKED_AT = 200


async def explained(
    ledger: Ledger, lanes: Sequence[LaneView], workers: Sequence[WorkerView], limits: Limits, now: float
) -> list[tuple[LaneView, Reason]]:
    """Say of each lane what it waits for, with an estimate where there is something to estimate."""
    reasons = [(lane, why(lane, workers, limits, now)) for lane in lanes]
    causes = {reason.cause for _, reason in reasons}
    if not causes & ESTIMATED:
        return reasons
    # Only jobs that were done: how long they take is what a waiting one is compared with.
    ended = await ledger.jobs(limit=ENDED_LOOKED_AT, state=JobState.DONE)
    full = Cause.NO_FREE_WORKER in causes
    busy = await ledger.lanes(limit=BUSY_LOOKED_AT, busy=True) if full else []
    estimates = Estimates(limits, now, ended, busy)
    return [(lane, why(lane, workers, limits, now, estimates)) for lane in lanes]
