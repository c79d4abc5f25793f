"""One suite, every backend: a new one is one more opener here.

A backend is opened with a clock that tests advance. Its wake-ups are made to stand alone: where a backend
looks by itself once in a while for what a lost wake-up could miss, the suite switches that off.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conformance.world import LIMITS, ManualClock, World
from tests.emulators import ministack
from webordinary.backends.aws.open import open_aws, set_up_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.memory.open import open_memory
from webordinary.backends.sqlite import wakeups as sqlite_wakeups
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend

Opener = Callable[[pytest.FixtureRequest, ManualClock, Limits], Backend]

_worlds = count(1)


def fresh_memory(_: pytest.FixtureRequest, clock: ManualClock, limits: Limits) -> Backend:
    return open_memory(clock, limits)


def fresh_sqlite(request: pytest.FixtureRequest, clock: ManualClock, limits: Limits) -> Backend:
    folder: Path = request.getfixturevalue("tmp_path")
    return open_sqlite(folder / clock.unique(), clock, limits)


def fresh_aws(request: pytest.FixtureRequest, clock: ManualClock, limits: Limits) -> Backend:
    """One emulator for all tests of a process; each has tables and queues of its own."""
    settings = AwsSettings(
        endpoint=request.getfixturevalue("cloud"),
        prefix=f"t{next(_worlds)}",
        skew_seconds=0.0,
        look_again_seconds=3600.0,
    )
    with ThreadPoolExecutor(1) as thread:  # the test may have a loop running already
        thread.submit(asyncio.run, set_up_aws(settings, clock)).result()
    return open_aws(settings, clock, limits)


OPENERS: dict[str, Opener] = {"memory": fresh_memory, "sqlite": fresh_sqlite, "aws": fresh_aws}


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An emulated cloud, with credentials that are good for nothing else."""
    with pytest.MonkeyPatch.context() as environment, ministack(tmp_path_factory.mktemp("cloud")) as endpoint:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield endpoint


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
