"""A site, and as many workers as a test likes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.world import ManualClock
from tests.needs import needs
from tests.workspace.site import PAGE, Site
from webordinary.sites.git.workspaces import GitWorkspaces

NewWorker = Callable[..., GitWorkspaces]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def site(tmp_path: Path, clock: ManualClock) -> Site:
    needs("git")
    site = Site(tmp_path, clock)
    site.create({"index.html": PAGE, "about.html": "<p>about</p>\n", ".gitignore": "built/\n"})
    return site


@pytest.fixture
def new_worker(tmp_path: Path, clock: ManualClock) -> Iterator[NewWorker]:
    """Make workers; each on its own machine unless a root is given."""
    made: list[GitWorkspaces] = []

    def make(
        root: Path | None = None,
        cap: int = 2**40,
        network: dict[str, str] | None = None,
        store: str = "s1",
    ) -> GitWorkspaces:
        folder = root or tmp_path / f"machine{len(made)}"
        made.append(
            GitWorkspaces(folder, disk_cap_bytes=cap, network_environment=network, clock=clock, store=store)
        )
        return made[-1]

    yield make
    for worker in made:
        worker.close()


@pytest.fixture
def worker(new_worker: NewWorker) -> GitWorkspaces:
    return new_worker()
