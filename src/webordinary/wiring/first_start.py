"""The first start on an empty home: two sample sites, so that there is something to write to."""

from __future__ import annotations

from webordinary import samples
from webordinary.adapters.git.repositories import GitRepositories
from webordinary.core.job import Arrival, Intent
from webordinary.core.lane import Lane
from webordinary.dispatch.submitting import Request, submit
from webordinary.identify.onboarding import Wanted, onboard
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.wiring.folders import repositories_folder
from webordinary.wiring.settings import Settings

SAMPLES = {Lane("amelia", "scott"): "scott@example.com", Lane("bakery", "john"): "john@example.com"}


async def onboard_samples(settings: Settings, backend: Backend, clock: Clock) -> bool:
    """Onboard the sample sites if there is no project yet; their first release is a job like any other."""
    if await backend.directory.projects(limit=1):
        return False
    repositories = GitRepositories(repositories_folder(settings.home))
    for lane, address in SAMPLES.items():
        await repositories.create(lane.project, samples.folder(lane.project))
        await onboard(Wanted(lane, address), backend.directory)
        request = Request(
            lane,
            "Show the site for the first time",
            message_id=f"first-release-{lane.project}",
            arrival=Arrival.QUEUE,
            intent=Intent.PUBLISH,
        )
        await submit(request, backend.broker, backend.gatekeeper, clock)
    return True
