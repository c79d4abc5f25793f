"""The emulated cloud, and backends in it."""

from collections.abc import Callable, Iterator

import pytest

from tests.aws.emulated import cloud, new_settings, set_up  # noqa: F401 - cloud is a fixture
from tests.aws.worker_process import LIMITS as REAL_LIMITS
from tests.conformance.world import LIMITS, ManualClock, World
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.open import open_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def settings(cloud: str, clock: ManualClock) -> AwsSettings:  # noqa: F811 - the fixture
    """Tables and queues that nobody else uses."""
    made = new_settings(cloud)
    set_up(made, clock)
    return made


@pytest.fixture
def process(settings: AwsSettings, clock: ManualClock) -> Iterator[Callable[..., World]]:
    """Opens the same cloud once more, as another process would: they share nothing but tables and queues."""
    opened: list[Backend] = []

    def opening(made_of: Cloud | None = None) -> World:
        opened.append(open_aws(settings, clock, LIMITS, cloud=made_of))
        return World(opened[-1], clock, LIMITS)

    yield opening
    for backend in opened:
        backend.close()


@pytest.fixture
def world(process: Callable[..., World]) -> World:
    """One process."""
    return process()


@pytest.fixture
def usual(cloud: str) -> AwsSettings:  # noqa: F811 - the fixture
    """Tables and queues of our own, in real time, and the settings that operators have."""
    made = AwsSettings(endpoint=cloud, prefix=new_settings(cloud).prefix)
    set_up(made, SystemClock())
    return made


@pytest.fixture
def quiet(usual: AwsSettings) -> Iterator[Backend]:
    """A backend on a good line, to look at what happened there."""
    backend = open_aws(usual, SystemClock(), REAL_LIMITS)
    yield backend
    backend.close()
