"""How things stand, for a member who asks: what runs, what waits, and what is previewed and not yet live.

All of it is read from the store, for whoever takes mail in need not reach the place where sites are.
"""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.core.job import Intent, JobState
from webordinary.core.lane import Lane
from webordinary.core.outcome import Facts
from webordinary.core.views import JobView
from webordinary.ports.backend import Backend
from webordinary.work.prompt import gist

JOBS_SEEN = 50  # the latest of a lane; who has more waiting or unpublished is told of these
LANES_SEEN = 20


async def status_of(lane: Lane, backend: Backend) -> Facts:
    """Facts for the letter about a lane, and about the site that it shares with others."""
    open_jobs = [
        job
        for state in (JobState.RUNNING, JobState.RETRYING, JobState.QUEUED)
        for job in await backend.ledger.jobs(limit=JOBS_SEEN, lane=lane, state=state)
    ]
    running = next((job.instruction for job in open_jobs if job.state is JobState.RUNNING), "")
    waiting = sum(job.state is not JobState.RUNNING for job in open_jobs)
    ended = await _ended(lane, backend)
    facts = {
        "project": lane.project,
        "running": running,
        "waiting": str(waiting),
        "previewed": "\n".join(_not_yet_live(ended, lane)),
        "preview": _last_fact("preview", [job for job in ended if job.intent is not Intent.PUBLISH]),
        "live": _last_fact("live", ended),
    }
    return {name: fact for name, fact in facts.items() if fact}


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


def _not_yet_live(ended: Sequence[JobView], lane: Lane) -> list[str]:
    """The changes since the last publish. One that was taken back again is none."""
    made: list[str] = []
    for job in ended:
        if job.intent is Intent.PUBLISH:
            made.clear()
        elif "commit" in job.facts:
            who = "" if job.lane == lane else f"{job.lane.user}: "
            turned = job.facts.get("turned", "")
            back = f"Taken back: {who}{turned}"
            match job.intent:
                case Intent.UNDO if f"{who}{turned}" in made:
                    made.remove(f"{who}{turned}")
                case Intent.UNDO:
                    made.append(back)
                case Intent.REDO if back in made:
                    made.remove(back)
                case Intent.REDO:
                    made.append(f"{who}{turned}")
                case _:
                    made.append(f"{who}{gist(job.instruction)}")
    return made


def _last_fact(name: str, jobs: Sequence[JobView]) -> str:
    return next((job.facts[name] for job in reversed(jobs) if name in job.facts), "")
