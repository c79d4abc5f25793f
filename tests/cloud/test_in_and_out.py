"""Letting people in and out in the cloud: all of it or nothing, and nothing is left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cloud.conftest import Account
from tests.cloud.mails import SCOTT
from tests.cloud.processes import Container
from tests.waiting import until
from webordinary.backends.aws import client
from webordinary.ports.backend import Backend

REPOSITORY = ("--repo", "https://git.example/site.git")


@pytest.fixture
def operator(account: Account, environment: dict[str, str], tmp_path: Path) -> Container:
    return Container(tmp_path / "operator", environment)


async def has_queues(account: Account, project: str) -> bool:
    told = await account.call("sqs", "list_queues", QueueNamePrefix=f"{account.names.prefix}-")
    return any(f"-{project}-" in url for url in told.get("QueueUrls", ()))


async def test_a_taken_bucket_name_lets_nobody_in(
    account: Account,
    backend: Backend,
    operator: Container,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names of buckets are the same for all the world, so this is the common case."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AWS_ACCESS_KEY_ID", "111111111111")  # for the emulator, another account
        elsewhere.setattr(client, "_session", None)
        another = client.Cloud(account.names)
        await another.call("s3", "create_bucket", Bucket="fuchsia")
        await another.aclose()
    words = ("onboard", "fuchsia", "--user", "scott", "--sender", SCOTT, *REPOSITORY)
    refused = operator.complained(*words, code=2)
    assert "nobody was let in" in refused
    assert "fuchsia is taken" in refused
    assert "[cloud] live_bucket" in refused
    assert await backend.directory.lanes_of(SCOTT) == []
    assert await backend.directory.project("fuchsia") is None
    assert not await has_queues(account, "fuchsia")
    ran = operator.run(*words, WEBORDINARY_CLOUD_LIVE_BUCKET="live-{project}")
    assert "live-fuchsia" in ran.stdout, ran
    assert [str(lane) for lane in await backend.directory.lanes_of(SCOTT)] == ["fuchsia/scott"]


async def test_a_name_that_no_bucket_can_have_lets_nobody_in(backend: Backend, operator: Container) -> None:
    refused = operator.complained("onboard", "a", "--user", "b", "--sender", SCOTT, *REPOSITORY, code=2)
    assert "nobody was let in" in refused
    assert "can't be called 'a'" in refused
    assert await backend.directory.project("a") is None


async def test_who_is_refused_leaves_no_queues(account: Account, operator: Container) -> None:
    """Nothing is made before it is clear that nothing speaks against it."""
    first = ("onboard", "gladiola", "--user", "scott", "--sender", SCOTT, *REPOSITORY)
    operator.said(*first)
    operator.complained("onboard", "gladiola", "--user", "ann", "--sender", SCOTT, code=4)
    told = await account.call("sqs", "list_queues", QueueNamePrefix=f"{account.names.prefix}-")
    assert not any("gladiola-ann" in url for url in told["QueueUrls"])


async def test_queues_stay_away_after_the_last_member_left_an_idle_owner(
    account: Account,
    backend: Backend,
    operator: Container,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    """The owner listens to its lane for 30 minutes, and once made the queues again, which then stayed."""
    operator.said("onboard", "heather", "--user", "scott", "--sender", SCOTT, *REPOSITORY)
    container = Container(tmp_path / "container", environment | {"WEBORDINARY_HANDLER": "echo"})
    with container.works():
        await asyncio.to_thread(operator.said, "submit", "heather/scott", "Hello", "--wait", "60")

        async def holds_nothing() -> bool:
            return not [one for one in await backend.ledger.lanes(limit=9) if one.worker]

        assert not await holds_nothing()
        assert "may no longer" in await asyncio.to_thread(operator.said, "offboard", "heather")
        await until(holds_nothing)

        await asyncio.sleep(4)  # beats, sweeps and whatever listens there go on
        assert not await has_queues(account, "heather")
    assert not await has_queues(account, "heather")
