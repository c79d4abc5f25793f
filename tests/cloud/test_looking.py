"""The operator's commands that look, where there is nothing, or too much, to see."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cloud.conftest import Account
from tests.cloud.mails import SCOTT
from tests.cloud.processes import Container
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.operations import cloud_setup
from webordinary.operations.cloud_setup import executions_of
from webordinary.ports.backend import Backend


@pytest.fixture
def operator(account: Account, environment: dict[str, str], tmp_path: Path) -> Container:
    return Container(tmp_path / "operator", environment)


async def test_more_executions_than_the_service_lists_at_once(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_setup, "EXECUTIONS_PER_PAGE", 3)
    machine = account.settings.cloud.state_machine_arn
    for number in range(8):
        await account.call(
            "stepfunctions", "start_execution", stateMachineArn=machine, name=f"m{number}", input="{}"
        )
    assert len({one.mail for one in await executions_of(account.settings, limit=100)}) == 8
    assert len(await executions_of(account.settings, limit=7)) == 7


def test_a_limit_beyond_what_the_service_allows(operator: Container) -> None:
    assert operator.json("cloud", "executions", "--limit", "5000") == []


def test_no_state_machine_of_that_name(account: Account, operator: Container) -> None:
    arn = account.settings.cloud.state_machine_arn.replace("email-processor", "no-processor")
    refused = operator.complained("cloud", "executions", code=4, WEBORDINARY_CLOUD_STATE_MACHINE_ARN=arn)
    assert "there is no state machine" in refused
    assert "[cloud] state_machine_arn" in refused


def test_nothing_is_set_up(operator: Container) -> None:
    ran = operator.run("cloud", "queues", WEBORDINARY_CLOUD_PREFIX="nothing-there")
    assert ran.returncode == 1
    assert "no queues begin with nothing-there-" in ran.stdout
    assert "webordinary cloud setup" in ran.stdout


async def test_a_test_mail_without_a_worker_says_what_it_waits_for(
    backend: Backend, operator: Container
) -> None:
    await backend.directory.add_project(Project("amelia", repository="https://git.example/amelia.git"))
    await backend.directory.add_member(Member(Lane("amelia", "scott"), SCOTT))
    ran = await asyncio.to_thread(operator.run, "cloud", "send", "Add roses", "--from", SCOTT, "--wait", "1")
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("queued:")]
    assert "worker" in line
    assert ran.returncode == 8
