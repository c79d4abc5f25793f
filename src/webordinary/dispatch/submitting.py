"""Submit first, look second: a job is durable in its lane before anyone asks who owns the lane."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.claim import Ownership
from webordinary.core.errors import NotFound
from webordinary.core.job import Arrival, Duplicate, Intent, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.core.site import Project
from webordinary.ports.broker import Broker, Gatekeeper
from webordinary.ports.clock import Clock
from webordinary.ports.directory import Directory


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


async def project_of_member(directory: Directory, lane: Lane) -> Project:
    """The project of a lane that is somebody's; a lane that is nobody's is not found."""
    project = await directory.project(lane.project)
    if project is None or all(member.lane != lane for member in await directory.members(lane.project)):
        raise NotFound(f"{lane} is nobody who may edit a site here; `webordinary onboard` lets people in")
    return project


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
