"""An emulated cloud for tests, and worlds in it that know nothing of each other."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.emulators import ministack
from webordinary.backends.aws.open import set_up_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.ports.clock import Clock

_worlds = count(1)


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of an emulated cloud; the credentials are good for nothing else."""
    with pytest.MonkeyPatch.context() as environment, ministack(tmp_path_factory.mktemp("cloud")) as endpoint:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield endpoint


def new_settings(endpoint: str) -> AwsSettings:
    """Names that no other test uses. Nobody looks by himself for what a lost wake-up could miss.

    Every beat looks at the pool anew, like the reference model.
    """
    return AwsSettings(
        endpoint=endpoint,
        prefix=f"t{next(_worlds)}",
        skew_seconds=0.0,
        look_again_seconds=3600.0,
        news_leases=0.0,
    )


def set_up(settings: AwsSettings, clock: Clock) -> None:
    """Create tables and queues; in a thread, for the test may have a loop running already."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(set_up_aws(settings, clock))).result()
