"""Submit first, look second: a job is durable in its lane before anyone asks who owns the lane."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.claim import Ownership
from webordinary.core.job import Arrival, Duplicate, Intent, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.ports.broker import Broker, Gatekeeper
from webordinary.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants done in a lane. Without a message id it is a new one each time."""

    lane: Lane
    instruction: str
    message_id: str | None = None
    arrival: Arrival = Arrival.INTERRUPT
    intent: Intent = Intent.EDIT


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a request, and who held its lane right after it was stored."""

    lane: Lane
    stored: Submitted | Duplicate
    owner: Ownership | None


async def submit(request: Request, broker: Broker, gatekeeper: Gatekeeper, clock: Clock) -> Receipt:
    """Queue a job. The gatekeeper is asked afterwards, to tell people; nothing is decided by its answer."""
    unique = clock.unique()
    message_id = request.message_id if request.message_id is not None else f"<{unique}@webordinary>"
    job = Job(
        JobId(unique),
        request.lane,
        request.instruction,
        message_id,
        request.arrival,
        intent=request.intent,
    )
    stored = await broker.submit(job)
    return Receipt(request.lane, stored, await gatekeeper.owner(request.lane))
