"""An emulated cloud for tests, and worlds in it that know nothing of each other."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest

from tests.emulators import ministack
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.queues import Queues
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.tables import create_tables
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


class PlainLine(Cloud):
    """A line to an emulator that asks for no signature, for calls that are made before every test.

    The real client takes ten times as long for a call.
    """

    targets = MappingProxyType({"dynamodb": "DynamoDB_20120810", "sqs": "AmazonSQS"})

    def __init__(self, settings: AwsSettings) -> None:
        super().__init__(settings)
        self._connection = HTTPConnection((settings.endpoint or "").removeprefix("http://"))

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        named = operation.title().replace("_", "")
        headers = {
            "X-Amz-Target": f"{self.targets[service]}.{named}",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": f"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request",
        }
        self._connection.request("POST", "/", json.dumps(parameters), headers)
        answer = self._connection.getresponse()
        told: dict[str, Any] = json.load(answer)
        assert answer.status == HTTPStatus.OK, told
        return told

    async def aclose(self) -> None:
        self._connection.close()


def set_up(settings: AwsSettings, clock: Clock) -> None:
    """Create tables and queues; in a thread, for the test may have a loop running already."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(_set_up(settings, clock))).result()


async def _set_up(settings: AwsSettings, clock: Clock) -> None:
    """What `set_up_aws` does, which has tests of its own."""
    line = PlainLine(settings)
    await create_tables(line, settings, clock)
    await Queues(line, settings, clock).create_unclaimed()
    await line.aclose()
