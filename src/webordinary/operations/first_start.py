"""The first start on an empty home: two sample sites, so that there is something to write to."""

from __future__ import annotations

import os
from pathlib import Path

from webordinary import samples
from webordinary.core.errors import StoreFull
from webordinary.core.job import Intent
from webordinary.core.lane import Lane
from webordinary.dispatch.submit import Request, submit
from webordinary.identify.onboarding import Wanted, onboard
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.sites.git.repositories import GitRepositories
from webordinary.system.durable_folder import make_durable, translated
from webordinary.wiring.embedded import repositories_folder
from webordinary.wiring.settings import Settings

SAMPLES = {Lane("amelia", "scott"): "scott@example.com", Lane("bakery", "john"): "john@example.com"}
UNFINISHED = "first-start.unfinished"


async def onboard_samples(settings: Settings, backend: Backend, clock: Clock) -> bool:
    """Onboard the sample sites on the first start, or what one that was cut short left to do."""
    unfinished = settings.home / UNFINISHED
    if not unfinished.exists() and not await _is_empty(backend):
        return False
    try:
        _write_down(unfinished)
        for lane, address in SAMPLES.items():
            if not await backend.ledger.jobs(limit=1, lane=lane):
                await _onboard_sample(lane, address, settings, backend, clock)
    except StoreFull as error:
        raise StoreFull(
            f"there is no room left in {settings.home} for the sample sites. What is there is kept, and the "
            "next start goes on from there: free some space first, or name another --home"
        ) from error
    unfinished.unlink(missing_ok=True)
    return True


async def _is_empty(backend: Backend) -> bool:
    """Nobody was ever onboarded here. Jobs are never forgotten, and a sample that went had at least one."""
    return not await backend.directory.projects(limit=1) and not await backend.ledger.jobs(limit=1)


def _write_down(mark: Path) -> None:
    """Have it survive a power cut before anything that it speaks of does."""
    with translated(mark.parent):
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        make_durable(mark.parent)


async def _onboard_sample(
    lane: Lane, address: str, settings: Settings, backend: Backend, clock: Clock
) -> None:
    """Every step can be repeated; the first release, a job like any other, is the last one."""
    repositories = GitRepositories(repositories_folder(settings.home))
    await repositories.create(lane.project, samples.folder(lane.project))
    await onboard(Wanted(lane, address), backend.directory)
    request = Request(
        lane,
        "Show the site for the first time",
        message_id=f"first-release-{lane.project}",
        intent=Intent.PUBLISH,
    )
    await submit(request, backend, clock)
