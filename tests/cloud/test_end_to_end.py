"""The whole way as real processes over HTTP: mail into S3, function, state machine, workers, site, reply."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.conftest import DEFINITION, ROLE, Account
from tests.cloud.mails import SCOTT, arrive, mail
from tests.cloud.processes import Container
from tests.waiting import until
from webordinary import samples
from webordinary.core.job import JobId, JobState
from webordinary.entrypoints.functions import ingest
from webordinary.ports.backend import Backend
from webordinary.sites.git.repositories import GitRepositories

JOHN = "john@example.com"


@pytest.fixture
async def repository(tmp_path: Path) -> str:
    """Where every worker can reach it."""
    return await GitRepositories(tmp_path / "git").create("amelia", samples.folder("amelia"))


@pytest.fixture
def operator(account: Account, environment: dict[str, str], tmp_path: Path) -> Container:
    return Container(tmp_path / "operator", environment)


@contextmanager
def pool(tmp_path: Path, environment: dict[str, str], size: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    with ExitStack() as stack:
        homes = [Container(tmp_path / f"container{number}", environment) for number in range(size)]
        yield [stack.enter_context(home.works()) for home in homes]


async def taken_in(account: Account, text: str, sender: str = SCOTT) -> dict[str, str]:
    """A mail arrives, and the service calls our function as the cloud does."""
    made = mail(text, sender=sender)
    told = await arrive(account, made, source=sender)
    (answer,) = await asyncio.to_thread(ingest, told, None)
    return answer


async def replied(account: Account, to: str, about: str) -> list[dict[str, Any]]:
    """Wait for a reply of the mail service with these words."""

    def found() -> list[dict[str, Any]]:
        return [one for one in account.sent() if one["To"] == [to] and about in one["BodyText"]]

    async def is_there() -> bool:
        return bool(found())

    await until(is_there)
    return found()


async def page(account: Account, bucket: str) -> str:
    answer = await account.call("s3", "get_object", Bucket=bucket, Key="index.html")
    async with answer["Body"] as body:
        return bytes(await body.read()).decode()


async def test_a_mail_becomes_a_changed_site_and_a_reply(
    account: Account, operator: Container, environment: dict[str, str], repository: str, tmp_path: Path
) -> None:
    """Two generic workers, either of which may serve it."""
    await account.call("sesv2", "create_email_identity", EmailIdentity="webordinary.example")
    said = operator.said("onboard", "amelia", "--user", "scott", "--sender", SCOTT, "--repo", repository)
    assert f"{account.names.prefix}-input-amelia-scott.fifo" in said
    with pool(tmp_path, environment, 2):
        answer = await taken_in(account, "Change the title of the homepage to Spring Sale")
        assert answer["state"] == "accepted"
        done = await asyncio.to_thread(operator.json, "cloud", "executions")
        assert [one["mail"] for one in done] == [answer["mail"]]
        await replied(account, SCOTT, "Spring Sale")

        async def has_succeeded() -> bool:
            listed = await asyncio.to_thread(operator.json, "cloud", "executions")
            return [one["status"] for one in listed] == ["SUCCEEDED"]

        await until(has_succeeded)
        held = await asyncio.to_thread(operator.json, "cloud", "ownership")
        assert [lane["lane"] for lane in held] == ["amelia/scott"]
        counts = await asyncio.to_thread(operator.json, "cloud", "queues")
        assert {queue["waiting"] for queue in counts} == {0}
    assert "<title>Spring Sale</title>" in await page(account, "edit.amelia")
    job = operator.json("job", answer["job"])["job"]
    assert (job["state"], job["lane"]) == ("done", "amelia/scott")
    shown = operator.json("mails", answer["mail"])
    assert "Spring Sale" in shown["raw"]
    assert operator.json("status")["jobs"]["done"] == 1


async def test_the_operators_commands(
    account: Account, operator: Container, environment: dict[str, str], repository: str, tmp_path: Path
) -> None:
    """Onboard refuses what would be lost; `cloud send` follows a mail; offboard takes the queues away."""
    await account.call("sesv2", "create_email_identity", EmailIdentity="webordinary.example")
    john = ("onboard", "bakery", "--user", "john", "--sender", JOHN)
    refused = operator.complained(*john, code=2)
    assert "--repo" in refused
    assert "lost" in refused
    first, again = (operator.said(*john, "--repo", repository) for _ in range(2))
    assert "new project" in first
    assert "nothing changed" in again
    with pool(tmp_path, environment, 1):
        sent = await asyncio.to_thread(
            operator.said, "cloud", "send", "Change the title of the homepage to Fresh Bread", "--from", JOHN
        )
        assert "done: " in sent
        assert "Fresh Bread" in sent.split("\nreply\n")[1], "the letter itself, from its copy"
        assert "SUCCEEDED" in sent
        plainly = await asyncio.to_thread(
            operator.json, "send", "Change the title of the homepage to Buns", "--from", JOHN
        )
        assert plainly["job"]["state"] == "done"
        assert "Buns" in plainly["reply"]
        waited = await asyncio.to_thread(
            operator.json, "submit", "bakery/john", "Change the title of the homepage to Rye", "--wait", "60"
        )
        assert waited["result"]["state"] == "done"
    assert "<title>Rye</title>" in await page(account, "edit.bakery")
    operator.said("offboard", "bakery")
    assert not any("bakery" in queue["name"] for queue in operator.json("cloud", "queues"))


async def test_the_doctor_looks_at_the_cloud(account: Account, operator: Container) -> None:
    """What is there, and for each thing that is not, what to do."""

    domain = f"doctor-{account.names.prefix}.example"  # no other test of this emulator verifies it

    def looked(**environment: str) -> dict[str, dict[str, str]]:
        ran = operator.run("doctor", "--json", WEBORDINARY_MAIL_ADDRESS=f"edit@{domain}", **environment)
        return {one["what"]: one for one in json.loads(ran.stdout)}

    before = looked()
    good = ("[aws]", "account", "tables", "queue", "mail", "blobs", "key", "workflow")
    assert {before[what]["mark"] for what in good} == {"good"}
    assert "ports" not in before
    assert before["replies"]["mark"] == "bad"
    assert "Verify it" in before["replies"]["text"]
    await account.call("sesv2", "create_email_identity", EmailIdentity=domain)
    assert looked()["replies"]["mark"] == "good"
    elsewhere = looked(
        WEBORDINARY_CLOUD_PREFIX="nowhere",
        WEBORDINARY_CLOUD_MAIL_BUCKET="there-is-none",
        WEBORDINARY_CLOUD_BLOBS_BUCKET="",
        WEBORDINARY_CLOUD_STATE_MACHINE_ARN="",
    )
    for what in ("tables", "queue", "mail"):
        assert elsewhere[what]["mark"] == "bad"
        assert "webordinary cloud setup" in elsewhere[what]["text"]
    assert "[cloud] blobs_bucket" in elsewhere["blobs"]["text"]
    assert elsewhere["workflow"]["mark"] == "missing"
    assert "account" not in looked(AWS_REGION="")
    assert "set AWS_REGION" in looked(AWS_REGION="")["cloud"]["text"]


async def test_setting_up_is_safe_to_repeat(account: Account, operator: Container, tmp_path: Path) -> None:
    """It was set up before; the state machine is brought up to date, not made twice."""
    words = ("cloud", "setup", "--role", ROLE, "--definition", str(DEFINITION))
    made = operator.json(*words)["made"]
    assert made["state_machine_arn"] == account.made.state_machine_arn
    assert f"{account.names.prefix}-container-ownership" in made["tables"]
    (tmp_path / "broken.json").write_text("{")
    refused = operator.complained(*words[:-1], str(tmp_path / "broken.json"), code=2)
    assert "is no state machine" in refused
    assert "none, for no --role" in operator.said("cloud", "setup")
    without = operator.json("cloud", "setup", "--role", ROLE)["made"]
    assert without["state_machine_arn"] == account.made.state_machine_arn, "the definition that is shipped"


async def test_commands_that_make_no_sense_in_the_cloud_say_so(operator: Container) -> None:
    assert "docs/cloud.md" in operator.complained("up", code=2)
    embedded = operator.complained("cloud", "queues", code=2, WEBORDINARY_BACKEND="embedded")
    assert "backend is embedded" in embedded


async def test_a_worker_killed_at_work_leaves_its_job_to_another(
    account: Account,
    backend: Backend,
    operator: Container,
    environment: dict[str, str],
    repository: str,
    tmp_path: Path,
) -> None:
    """Its lease runs out; the other worker does the job; the execution hears of it."""
    await account.call("sesv2", "create_email_identity", EmailIdentity="webordinary.example")
    operator.said("onboard", "coral", "--user", "scott", "--sender", SCOTT, "--repo", repository)
    slow = environment | {
        "WEBORDINARY_HANDLER": "sleep",
    }
    with ExitStack() as stack:
        first = Container(tmp_path / "first", slow)
        dying = stack.enter_context(first.works())
        answer = await taken_in(account, "6 seconds of work")

        async def runs() -> bool:
            return (await backend.ledger.job(JobId(answer["job"]))).state is JobState.RUNNING

        await until(runs)
        dying.kill()
        stack.enter_context(Container(tmp_path / "second", slow).works())

        async def ended() -> bool:
            machine = account.settings.cloud.state_machine_arn
            listed = await account.call("stepfunctions", "list_executions", stateMachineArn=machine)
            return bool(listed["executions"][0]["status"] != "RUNNING")

        await until(ended)
    job = operator.json("job", answer["job"])["job"]
    assert (job["state"], job["attempt"]) == ("done", 2)
    assert operator.json("cloud", "executions")[0]["status"] == "SUCCEEDED"
