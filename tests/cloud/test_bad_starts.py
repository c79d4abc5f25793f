"""Starts on bad days: what can be waited for is waited for, and what can't is one sentence."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.aws.fault_proxy import FaultProxy
from tests.cloud.conftest import Account
from tests.cloud.processes import Container
from tests.waiting import until
from webordinary.core.job import JobId, JobState
from webordinary.ports.backend import Backend

REFUSED = "refuses our credentials"


async def test_a_worker_that_starts_with_expired_credentials_comes_up_when_they_are_renewed(
    account: Account, backend: Backend, environment: dict[str, str], tmp_path: Path
) -> None:
    """It once said that it was up, and was gone a moment later."""
    async with FaultProxy(
        environment["AWS_ENDPOINT_URL"], refusal="ExpiredTokenException"
    ).listening() as line:
        here = environment | {"AWS_ENDPOINT_URL": line.endpoint, "WEBORDINARY_HANDLER": "echo"}
        container = Container(tmp_path / "container", here)
        with container.works() as process:

            async def has_tried_again() -> bool:
                return line.calls.total() > 2 * len(account.made.tables)

            await until(has_tried_again)
            log = container.log.read_text()
            assert "up with" not in log
            assert log.count(REFUSED) == 1
            assert "not up yet" in log
            line.refusal = ""
            await until(container.is_up)
            submitted = await asyncio.to_thread(container.json, "submit", "amelia/scott", "Hello")

            async def is_done() -> bool:
                return (await backend.ledger.job(JobId(submitted["job"]))).state is JobState.DONE

            await until(is_done)
            assert process.poll() is None
            before = len(container.log.read_text())
            line.refusal = "ExpiredTokenException"
            calls = line.calls.total()

            async def is_in_trouble() -> bool:
                return line.calls.total() > calls + 60

            await until(is_in_trouble)
            told = container.log.read_text()[before:]
            assert 1 <= told.count(REFUSED) <= 4, "one line for all that the worker does, and a few beside"
            line.refusal = ""

            async def says_that_it_is_over() -> bool:
                return "all works again" in container.log.read_text()[before:]

            await until(says_that_it_is_over)
            process.terminate()
            await asyncio.to_thread(process.wait, 60)  # the line that it leaves through is served here


async def test_a_worker_that_is_not_up_yet_leaves_when_told(
    account: Account, environment: dict[str, str], tmp_path: Path
) -> None:
    async with FaultProxy(
        environment["AWS_ENDPOINT_URL"], refusal="ExpiredTokenException"
    ).listening() as line:
        here = environment | {"AWS_ENDPOINT_URL": line.endpoint, "WEBORDINARY_HANDLER": "echo"}
        container = Container(tmp_path / "container", here)
        with container.works() as process:

            async def has_tried() -> bool:
                return "not up yet" in container.log.read_text()

            await until(has_tried)
            process.terminate()
            assert await asyncio.to_thread(process.wait, 60) == 0


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        (
            "AWS_ENDPOINT_URL",
            "nonsense",
            "AWS_ENDPOINT_URL must be a text like https://example.com, not 'nonsense'",
        ),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:port", "AWS_ENDPOINT_URL must be"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "nonsense", "nonsense"),
        ("AWS_REGION", "us east", "AWS_REGION must be a text like us-east-1, not 'us east'"),
        ("UNCLAIMED_QUEUE_URL", "webordinary-unclaimed", "UNCLAIMED_QUEUE_URL"),
        ("AWS_PROFILE", "nobody", "nobody"),
    ],
)
def test_settings_that_lead_to_no_cloud_are_bad_input(
    environment: dict[str, str], tmp_path: Path, setting: str, value: str, words: str
) -> None:
    """Trying again is useless, and it is no mistake in webordinary."""
    given = environment | {setting: value}
    if setting.startswith("AWS_ENDPOINT_URL_"):
        given["AWS_ENDPOINT_URL"] = ""
    container = Container(tmp_path, given)
    refused = container.complained("status", code=2)
    assert words in refused
    assert len(re.findall("webordinary:", refused)) == 1
    assert len(refused.splitlines()) == 1
