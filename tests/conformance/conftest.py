"""One suite, every backend: a new one is one more opener here.

A backend is opened with a clock that tests advance. Its wake-ups are made to stand alone: where a backend
looks by itself once in a while for what a lost wake-up could miss, the suite switches that off.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.aws.emulated import cloud, new_settings, set_up  # noqa: F401 - cloud is a fixture
from tests.conformance.world import LIMITS, ManualClock, World
from webordinary.backends.aws.open import open_aws
from webordinary.backends.folder_blobs import FolderBlobs
from webordinary.backends.memory.open import open_memory
from webordinary.backends.sqlite import wakeups as sqlite_wakeups
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend

Opener = Callable[[pytest.FixtureRequest, ManualClock, Limits], Backend]


def fresh_memory(_: pytest.FixtureRequest, clock: ManualClock, limits: Limits) -> Backend:
    return open_memory(clock, limits)


def fresh_sqlite(request: pytest.FixtureRequest, clock: ManualClock, limits: Limits) -> Backend:
    folder: Path = request.getfixturevalue("tmp_path")
    home = folder / clock.unique()
    return open_sqlite(home, clock, limits, large=FolderBlobs(home / "blobs"))


def fresh_aws(request: pytest.FixtureRequest, clock: ManualClock, limits: Limits) -> Backend:
    """One emulator for all tests of a process; each has tables and queues of its own."""
    settings = new_settings(request.getfixturevalue("cloud"))
    set_up(settings, clock)
    blobs = FolderBlobs(request.getfixturevalue("tmp_path") / clock.unique())
    return open_aws(settings, clock, limits, blobs=blobs)


OPENERS: dict[str, Opener] = {"memory": fresh_memory, "sqlite": fresh_sqlite, "aws": fresh_aws}


class Opened(NamedTuple):
    """A backend and the clock it lives by."""

    backend: Backend
    clock: ManualClock


@pytest.fixture(params=OPENERS)
def open_backend(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Limits], Opened]]:
    """Opens an empty backend with limits of the test's choice."""
    monkeypatch.setattr(sqlite_wakeups, "MISSED_WAKEUP_SECONDS", 3600.0)
    opened: list[Backend] = []

    def opening(limits: Limits) -> Opened:
        clock = ManualClock()
        opened.append(OPENERS[request.param](request, clock, limits))
        return Opened(opened[-1], clock)

    yield opening
    for backend in opened:
        backend.close()


@pytest.fixture
def backend(open_backend: Callable[[Limits], Opened]) -> Opened:
    """An empty backend and its clock."""
    return open_backend(LIMITS)


@pytest.fixture
def world(backend: Opened) -> World:
    """An empty backend, with short words for the steps of the protocol."""
    return World(backend.backend, backend.clock, LIMITS)


@pytest.fixture
def world_with(open_backend: Callable[[Limits], Opened]) -> Callable[[Limits], World]:
    """The same with limits of the test's choice."""

    def with_limits(limits: Limits) -> World:
        backend, clock = open_backend(limits)
        return World(backend, clock, limits)

    return with_limits
