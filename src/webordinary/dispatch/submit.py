"""The one way a job comes to be, by mail, command line, dashboard, API or in the cloud.

Whoever asks says what is wanted. What that means for the jobs before it, which conversation it belongs to and
whose lane takes work is decided here, the same for all. Submit first, look second: a job is durable in its
lane before anyone asks who owns the lane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from webordinary.core.claim import Ownership
from webordinary.core.errors import NotFound
from webordinary.core.job import Arrival, Duplicate, Intent, Job, JobId, Submitted
from webordinary.core.lane import Lane
from webordinary.core.mail import MailRecord
from webordinary.core.site import Project
from webordinary.dispatch.arrival_policy import arrival_of
from webordinary.ports.admissions import Admission
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.directory import Directory
from webordinary.ports.quotas import Bucket

WINDOW_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """Mails at once, and mails an hour."""

    sender_burst: int = 20
    sender_per_hour: float = 60
    project_burst: int = 50
    project_per_hour: float = 200
    global_burst: int = 300
    global_per_hour: float = 2000


def buckets(sender: str, lane: Lane, limits: QuotaLimits) -> tuple[Bucket, ...]:
    """Name what a mail of this sender to this lane takes from."""
    return (
        Bucket(f"sender {sender}", limits.sender_burst, limits.sender_per_hour),
        Bucket(f"project {lane.project}", limits.project_burst, limits.project_per_hour),
        Bucket("everybody", limits.global_burst, limits.global_per_hour),
    )


def window(now: float) -> int:
    """Number the window of a moment: one polite letter a window says that it was too much."""
    return int(now // WINDOW_SECONDS)


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants done in a lane."""

    lane: Lane
    instruction: str = ""  # undo, redo and publish need none
    message_id: str | None = None  # the same one twice is one job; None is a new one each time
    intent: Intent = Intent.EDIT
    policy: Arrival | None = None  # what an edit does to those before it; None: the project's
    session: str | None = None  # the conversation; None: see `_session`


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a request, and who held its lane right after it was stored."""

    lane: Lane
    stored: Submitted | Duplicate
    owner: Ownership | None


async def submit(request: Request, backend: Backend, clock: Clock, *, any_project: bool = False) -> Receipt:
    """Queue a job for the operator, who pays no quota and is written no letter.

    The gatekeeper is asked afterwards, to tell people; nothing is decided by its answer. `any_project`: also
    one that nobody was onboarded to, as pools for trials have.
    """
    project = await backend.directory.project(request.lane.project)
    if project is not None or not any_project:
        await _check_member(backend.directory, request.lane)
    job = await _job(request, project, backend, clock)
    stored = await backend.broker.submit(job)
    return Receipt(request.lane, stored, await backend.gatekeeper.owner(request.lane))


async def submit_mail(
    request: Request, mail: Admission, backend: Backend, clock: Clock
) -> MailRecord | Bucket:
    """Queue the job of a member's mail, in one step with the mail; or say which quota is used up."""
    project = await backend.directory.project(request.lane.project)
    job = replace(await _job(request, project, backend, clock), wants_reply=True)
    return await backend.admissions.admit(replace(mail, job=job))


async def _check_member(directory: Directory, lane: Lane) -> None:
    """A lane that is nobody's has nothing in it, and asking would make one."""
    if all(member.lane != lane for member in await directory.members(lane.project)):
        raise NotFound(f"{lane} is nobody who may edit a site here; `webordinary onboard` lets people in")


async def _job(request: Request, project: Project | None, backend: Backend, clock: Clock) -> Job:
    unique = clock.unique()
    session = _session(request, unique)
    policy = request.policy or (project.arrival if project else Arrival.INTERRUPT)
    return Job(
        id=JobId(unique),
        lane=request.lane,
        instruction=request.instruction or ("" if request.intent is Intent.EDIT else request.intent.value),
        message_id=f"<{unique}@webordinary>" if request.message_id is None else request.message_id,
        arrival=await arrival_of(request.intent, backend.ledger, request.lane, session, policy),
        session=session,
        intent=request.intent,
    )


def _session(request: Request, unique: str) -> str:
    """The conversation of a request.

    Instructions without one are one conversation of their lane: a second one goes on with the first. An undo,
    redo or publish begins its own, as a mail of one word does: it means the lane's last change, whoever
    asked for that.
    """
    if request.session is not None:
        return request.session
    return "" if request.intent is Intent.EDIT else unique
