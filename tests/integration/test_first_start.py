"""The first start: both samples, whatever cuts it short, and never again."""

from pathlib import Path

import pytest

from tests.integration.cli_support import Home, home
from tests.needs import needs
from webordinary import samples
from webordinary.identify.onboarding import Leaving, Wanted, offboard, onboard
from webordinary.operations.first_start import SAMPLES, UNFINISHED, onboard_samples
from webordinary.ports.backend import Backend
from webordinary.sites.git.repositories import GitRepositories
from webordinary.system.clock import SystemClock
from webordinary.wiring.embedded import repositories_folder
from webordinary.wiring.settings import load

__all__ = ["home"]

AMELIA, BAKERY = SAMPLES


@pytest.fixture(autouse=True)
def _git() -> None:
    needs("git")


async def first_start(home: Path, backend: Backend) -> bool:
    return await onboard_samples(load(home, {}), backend, SystemClock())


async def projects(backend: Backend) -> list[str]:
    return [project.name for project in await backend.directory.projects(limit=10)]


@pytest.mark.parametrize("steps", range(4))
def test_a_first_start_that_was_cut_short_is_finished_by_the_next(home: Home, steps: int) -> None:
    """It was cut after its mark, a repository, a member, or all of the first sample."""

    async def cut_short_then_again(backend: Backend) -> None:
        repositories = GitRepositories(repositories_folder(home.folder))
        (home.folder / UNFINISHED).touch()
        if steps > 0:
            await repositories.create(AMELIA.project, samples.folder(AMELIA.project))
        if steps > 1:
            await onboard(Wanted(AMELIA, SAMPLES[AMELIA]), backend.directory)
        if steps > 2:
            await first_start(home.folder, backend)
            await offboard(Leaving(BAKERY.project, force=True), backend.directory, backend.ledger)
            (home.folder / UNFINISHED).touch()
        assert await first_start(home.folder, backend)
        assert not (home.folder / UNFINISHED).exists()
        jobs = await backend.ledger.jobs(limit=10)
        assert sorted(str(job.lane) for job in jobs) == ["amelia/scott", "bakery/john"]
        # A sample whose first release was asked for was complete: if it is gone, somebody took it away.
        assert await projects(backend) == (["amelia", "bakery"] if steps <= 2 else ["amelia"])

    home.ask(cut_short_then_again)


@pytest.mark.parametrize("gone", [(BAKERY,), (AMELIA, BAKERY)])
def test_a_sample_that_was_offboarded_does_not_come_back(home: Home, gone: tuple[object, ...]) -> None:
    async def offboarded(backend: Backend) -> None:
        assert await first_start(home.folder, backend)
        for lane in (lane for lane in SAMPLES if lane in gone):
            await offboard(Leaving(lane.project, force=True), backend.directory, backend.ledger)
        left = await projects(backend)
        assert not await first_start(home.folder, backend)
        assert await projects(backend) == left == [lane.project for lane in SAMPLES if lane not in gone]

    home.ask(offboarded)


def test_a_home_with_a_site_of_its_own_gets_no_samples(home: Home) -> None:
    """Also if that site is called as a sample is."""

    async def own(backend: Backend) -> None:
        await onboard(Wanted(AMELIA, "me@example.org"), backend.directory)
        assert not await first_start(home.folder, backend)
        assert await projects(backend) == ["amelia"]
        assert await backend.ledger.jobs(limit=1) == []

    home.ask(own)
