"""What pages and API show, put together from the ports. Every read is bounded, however much there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webordinary.claim.wait_reasons import explained
from webordinary.core.errors import NotFound
from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import Letter, MailId, MailRecord, MailState
from webordinary.core.release import Place
from webordinary.core.site import Member
from webordinary.core.views import JobView, LaneEvent, LaneView, WorkerView
from webordinary.core.waiting import SILENT_BEATS, Reason
from webordinary.core.work import KeptEvent
from webordinary.dashboard.parts import Parts
from webordinary.dashboard.query_params import ResultPage, letter_cursor, page_of
from webordinary.ports.outbox import LetterStatus

BUSY_LANES_MAX = 150  # looked at for a summary; more are shown as "150 and more"
WORKERS_SHOWN = 100
SEATS_LOOKED_UP_MAX = 200
HISTORY_SHOWN = 200
LETTERS_OF_A_JOB = 20
EVENTS_SHOWN = 1_000
PROJECTS_SHOWN = 100
MAILS_SEARCHED = 200

Reasoned = tuple[LaneView, Reason]


@dataclass(frozen=True, slots=True)
class Seated:
    """A worker and the lanes it holds."""

    worker: WorkerView
    healthy: bool
    lanes: list[Reasoned]


@dataclass(frozen=True, slots=True)
class PoolSummary:
    """The whole pool in a few numbers."""

    now: float
    workers: int
    slots: int
    slots_taken: int
    jobs: dict[JobState, int]
    lanes_busy: int
    lanes_owned: int
    lanes_waiting: int
    lanes_running: int
    lanes_parked: int
    lanes_uncounted: bool  # there are more than were looked at
    oldest_wait: float


@dataclass(frozen=True, slots=True)
class SiteView:
    """A project and where it can be seen."""

    project: str
    members: list[Member]
    preview: str
    live: str


# --- lanes and workers ------------------------------------------------------------------------------


async def reasoned(parts: Parts, lanes: Sequence[LaneView]) -> list[Reasoned]:
    """Say of each lane what it waits for."""
    workers, now = await parts.backend.ledger.workers(), parts.clock.now()
    return await explained(parts.backend.ledger, lanes, workers, parts.limits, now)


async def lanes_page(parts: Parts, *, limit: int, after: Lane | None, busy: bool) -> ResultPage[Reasoned]:
    """List lanes by name, each with what it waits for."""
    lanes = await parts.backend.ledger.lanes(limit=limit + 1, after=after, busy=busy)
    return page_of(await reasoned(parts, lanes), limit, [str(lane.lane) for lane in lanes])


async def seated(parts: Parts) -> list[Seated]:
    """List the workers, each with the lanes it holds and what it does there."""
    ledger, now = parts.backend.ledger, parts.clock.now()
    workers = (await ledger.workers())[:WORKERS_SHOWN]
    known = {view.lane: view for view in await ledger.lanes(limit=BUSY_LANES_MAX, busy=True)}
    held = [lane for worker in workers for lane in worker.lanes][:SEATS_LOOKED_UP_MAX]
    for lane in held:
        if lane not in known:
            known[lane] = await ledger.lane(lane)
    seen = [known[lane] for worker in workers for lane in worker.lanes if lane in known]
    reasons = {view.lane: (view, reason) for view, reason in await reasoned(parts, seen)}
    return [
        Seated(
            worker,
            now - worker.seen_at <= SILENT_BEATS * parts.limits.beat_seconds,
            [reasons[lane] for lane in worker.lanes if lane in reasons],
        )
        for worker in workers
    ]


async def summary(parts: Parts) -> PoolSummary:
    """Count what there is, within bounds."""
    ledger, now = parts.backend.ledger, parts.clock.now()
    workers = await ledger.workers()
    lanes = await ledger.lanes(limit=BUSY_LANES_MAX + 1, busy=True)
    counted = lanes[:BUSY_LANES_MAX]
    waits = [now - lane.waiting_since for lane in counted if lane.waiting_since is not None and lane.head]
    return PoolSummary(
        now=now,
        workers=len(workers),
        slots=sum(worker.slots for worker in workers),
        slots_taken=sum(len(worker.lanes) for worker in workers),
        jobs=await ledger.counts(),
        lanes_busy=len(counted),
        lanes_owned=sum(lane.owned_at(now) for lane in counted),
        lanes_waiting=len(waits),
        lanes_running=sum(lane.running is not None and lane.owned_at(now) for lane in counted),
        lanes_parked=sum(lane.parked_at(now) for lane in counted),
        lanes_uncounted=len(lanes) > BUSY_LANES_MAX,
        oldest_wait=max([*waits, 0.0]),
    )


# --- jobs -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobCase:
    """A job and all that belongs to it."""

    job: JobView
    why: Reason | None
    history: list[LaneEvent]
    events: list[KeptEvent]
    letters: list[tuple[Letter, LetterStatus]]
    mail: MailRecord | None


async def jobs_page(
    parts: Parts, *, limit: int, lane: Lane | None, state: JobState | None, before: JobId | None
) -> ResultPage[JobView]:
    """List jobs, newest first."""
    jobs = await parts.backend.ledger.jobs(limit=limit + 1, lane=lane, state=state, before=before)
    return page_of(jobs, limit, [job.id for job in jobs])


async def job_case(parts: Parts, job: JobId) -> JobCase:
    """Show a job with everything that is known about it."""
    backend = parts.backend
    view = await backend.ledger.job(job)
    reason = None
    if view.state not in ENDED:
        ((_, reason),) = await reasoned(parts, [await backend.ledger.lane(view.lane)])
    return JobCase(
        view,
        reason,
        await backend.ledger.history(view.lane, limit=HISTORY_SHOWN, job=view),
        await backend.journal.events(view.id, limit=EVENTS_SHOWN),
        await backend.outbox.letters(limit=LETTERS_OF_A_JOB, about=view.id),
        await backend.mailbox.mail(MailId(view.message_id)),
    )


# --- mail -------------------------------------------------------------------------------------------


async def mails_page(
    parts: Parts, *, limit: int, state: MailState | None, before: str | None
) -> ResultPage[MailRecord]:
    """List mails, newest first."""
    first = MailId(before) if before else None
    mails = await parts.backend.mailbox.mails(limit=limit + 1, state=state, before=first)
    return page_of(mails, limit, [mail.id for mail in mails])


async def letters_page(
    parts: Parts, *, limit: int, **which: object
) -> ResultPage[tuple[Letter, LetterStatus]]:
    """List letters, newest first, each with how it stands."""
    letters = await parts.backend.outbox.letters(limit=limit + 1, **which)  # type: ignore[arg-type] # passed on
    return page_of(letters, limit, [letter_cursor(letter.about, letter.kind) for letter, _ in letters])


async def mail_of(parts: Parts, mail: str) -> MailRecord:
    """Find a mail."""
    record = await parts.backend.mailbox.mail(MailId(mail))
    if record is None:
        raise NotFound(f"there is no mail {mail}")
    return record


async def mail_with_message_id(parts: Parts, message_id: str) -> MailRecord | None:
    """Find a mail that came in a moment ago."""
    latest = await parts.backend.mailbox.mails(limit=MAILS_SEARCHED)
    return next((mail for mail in latest if mail.message_id.strip("<>") == message_id.strip("<>")), None)


# --- sites ------------------------------------------------------------------------------------------


async def sites(parts: Parts) -> list[SiteView]:
    """List projects, who may edit them, and where they can be seen."""
    directory = parts.backend.directory
    return [
        SiteView(
            project.name,
            await directory.members(project.name),
            address(parts, project.name, Place.PREVIEW),
            address(parts, project.name, Place.LIVE),
        )
        for project in await directory.projects(limit=PROJECTS_SHOWN)
    ]


def address(parts: Parts, project: str, place: Place) -> str:
    """Say where a site is seen; only web addresses become links."""
    found = parts.publisher.address(project, place) if parts.publisher else ""
    return found if found.startswith(("http://", "https://")) else ""


async def release_of(parts: Parts, project: str) -> str:
    """Name the release that is previewed, so that a frame loads again when it changes."""
    current = await parts.publisher.current(project, Place.PREVIEW) if parts.publisher else None
    return current[0].id if current else ""


@dataclass(frozen=True, slots=True)
class Sight:
    """A release of a site, as it was."""

    name: str
    address: str  # "" if it is not kept any more


async def sights(parts: Parts, job: JobView) -> list[Sight]:
    """The release before a job and its own: what the site looked like then, not what it looks like today.

    None at all where no former release is ever kept.
    """
    preview = job.facts.preview
    if preview is None or not preview.release or parts.kept is None:
        return []
    own, former = preview.release, preview.former_release
    named = [("Before this job", former)] if former and former != own else []
    return [
        Sight(name, await parts.kept(job.lane.project, release))
        for name, release in [*named, ("After this job", own)]
    ]
