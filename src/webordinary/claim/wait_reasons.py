"""Why lanes wait, read from the ledger: a few bounded reads, however many lanes and jobs there are."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.core.estimates import Known
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
    causes = {why(lane, workers, limits, now).cause for lane in lanes}
    known = await _known(ledger, causes) if causes & ESTIMATED else Known()
    return [(lane, why(lane, workers, limits, now, known)) for lane in lanes]


async def _known(ledger: Ledger, causes: set[Cause]) -> Known:
    """Only jobs that were done: how long they take is what a waiting one is compared with."""
    ended = await ledger.jobs(limit=ENDED_LOOKED_AT, state=JobState.DONE)
    if Cause.NO_FREE_WORKER not in causes:
        return Known(ended)
    return Known(ended, await ledger.lanes(limit=BUSY_LOOKED_AT, busy=True))
