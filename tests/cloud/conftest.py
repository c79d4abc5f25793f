"""The emulated cloud, and all of ours in it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.aws.emulated import cloud  # noqa: F401 - a fixture
from tests.waiting import HANG_SECONDS
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.settings import AwsSettings
from webordinary.operations.cloud_setup import SetUp, set_up
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock
from webordinary.wiring.cloud import aws_settings
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import Settings, load

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = ROOT / "infra" / "email-processor.asl.json"
ROLE = "arn:aws:iam::000000000000:role/workflow"
ADDRESS = "edit@webordinary.example"
KEY = "k" * 32


@pytest.fixture
def environment(cloud: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:  # noqa: F811 - the fixture
    """What a container of ours has in its environment."""
    made = {
        "AWS_ENDPOINT_URL": cloud,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "WEBORDINARY_BACKEND": "aws",
        "WEBORDINARY_MAIL_ADDRESS": ADDRESS,
        "WEBORDINARY_CLOUD_PREFIX": prefix(),
        "WEBORDINARY_CLOUD_MAIL_BUCKET": "raw-mail",
        "WEBORDINARY_CLOUD_BLOBS_BUCKET": "kept-blobs",
        "WEBORDINARY_CLOUD_PREVIEW_ADDRESS": f"{cloud}/edit.{{project}}/",
        "WEBORDINARY_CLOUD_TOKEN_KEY": KEY,
    }
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    return made


_worlds: list[None] = []


def prefix() -> str:
    """Names that no other test uses."""
    _worlds.append(None)
    return f"c{len(_worlds)}"


@dataclass
class Account:
    """The cloud as one test has it."""

    settings: Settings
    names: AwsSettings
    line: Cloud
    endpoint: str
    made: SetUp

    async def call(self, service: str, operation: str, **parameters: object) -> dict[str, Any]:
        return await self.line.call(service, operation, **parameters)

    def sent(self) -> list[dict[str, Any]]:
        """Mails that the emulated mail service has sent, whoever had it send them."""
        with urllib.request.urlopen(
            f"{self.endpoint}/_ministack/ses/messages", timeout=HANG_SECONDS
        ) as answer:
            found: list[dict[str, Any]] = [
                one for mails in json.load(answer)["messages"].values() for one in mails
            ]
            return found


@pytest.fixture
async def account(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Account]:
    """Set up as `webordinary cloud setup` does."""
    home = tmp_path / "home"
    made = await set_up(load(home), SystemClock(), DEFINITION, ROLE)
    monkeypatch.setenv("WEBORDINARY_CLOUD_STATE_MACHINE_ARN", made.state_machine_arn)
    environment["WEBORDINARY_CLOUD_STATE_MACHINE_ARN"] = made.state_machine_arn
    settings = load(home)
    names = aws_settings(settings)
    line = Cloud(names)
    await line.call("sesv2", "create_email_identity", EmailIdentity=f"{names.prefix}.example")
    yield Account(settings, names, line, environment["AWS_ENDPOINT_URL"], made)
    await line.aclose()


@pytest.fixture
def backend(account: Account) -> Iterator[Backend]:
    opened = open_backend(account.settings)
    yield opened
    opened.close()
