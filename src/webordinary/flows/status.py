"""How things stand, for a member who asks: what runs, what waits, and what is previewed and not yet live.

All of it is read from the store, for whoever takes mail in need not reach the place where sites are.
"""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.core.facts import RequestedChange, StatusReport
from webordinary.core.job import Intent, JobState
from webordinary.core.lane import Lane
from webordinary.core.views import JobView
from webordinary.ports.backend import Backend
from webordinary.work.prompt import gist

JOBS_SEEN = 50  # the latest of a lane; of more that wait or are unpublished, these are in the letter
LANES_SEEN = 20


async def status_of(lane: Lane, backend: Backend) -> StatusReport:
    """What is in the letter about a lane, and about the site that it shares with others."""
    open_jobs = [
        job
        for state in (JobState.RUNNING, JobState.RETRYING, JobState.QUEUED)
        for job in await backend.ledger.jobs(limit=JOBS_SEEN, lane=lane, state=state)
    ]
    running = next((job.instruction for job in open_jobs if job.state is JobState.RUNNING), "")
    waiting = sum(job.state is not JobState.RUNNING for job in open_jobs)
    ended = await _ended(lane, backend)
    previews = [job.facts.preview.address for job in ended if job.facts.preview]
    releases = [job.facts.live.address for job in ended if job.facts.live]
    return StatusReport(
        project=lane.project,
        running=running,
        waiting=waiting,
        previewed=tuple(_not_yet_live(ended, lane)),
        preview=previews[-1] if previews else "",
        live=releases[-1] if releases else "",
    )


async def _ended(lane: Lane, backend: Backend) -> list[JobView]:
    """What was done to the site, by everybody, in the order of its end."""
    members = {member.lane for member in await backend.directory.members(lane.project)}
    lanes = [lane, *sorted(members - {lane})[: LANES_SEEN - 1]]
    done = [
        job
        for one in lanes
        for job in await backend.ledger.jobs(limit=JOBS_SEEN, lane=one, state=JobState.DONE)
    ]
    return sorted(done, key=lambda job: job.finished_at or 0.0)


def _not_yet_live(ended: Sequence[JobView], lane: Lane) -> list[RequestedChange]:
    """The changes since the last publish. One that was taken back again is none."""
    made: list[RequestedChange] = []
    for job in ended:
        user = "" if job.lane == lane else job.lane.user
        if job.intent is Intent.PUBLISH:
            made.clear()
        elif job.facts.preview is None:
            continue
        elif job.intent is Intent.EDIT:
            made.append(RequestedChange(user, gist(job.instruction)))
        elif job.facts.undo is not None:
            is_undo, request = job.intent is Intent.UNDO, job.facts.undo.request
            opposite = RequestedChange(user, request, taken_back=not is_undo)
            if opposite in made:
                made.remove(opposite)
            else:
                made.append(RequestedChange(user, request, taken_back=is_undo))
    return made
