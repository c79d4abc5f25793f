"""The rights of each role, beside what its processes really did: nothing missing, nothing for nothing."""

from __future__ import annotations

import asyncio
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cloud.conftest import ADDRESS, ROOT, Account
from tests.cloud.mails import SCOTT, arrive, mail
from tests.cloud.processes import Container
from tests.cloud.recorder import Need, Recorder, recording
from tests.waiting import HANG_SECONDS, until
from webordinary import samples
from webordinary.core.job import ENDED, JobId
from webordinary.entrypoints.functions import ingest
from webordinary.ports.backend import Backend
from webordinary.sites.git.repositories import GitRepositories

POLICIES = ROOT / "infra" / "policies"
ROLES = ("worker", "ingest", "workflow", "gatekeeper", "dashboard")
DAY = ("Change the title of the homepage to Dahlias", "Paint it blue", "undo", "publish", "status")
MEANT = {  # as whoever deploys it would fill it in
    "MailBucket": "raw-mail",
    "BlobsBucket": "kept-blobs",
    "PreviewBucket": "edit.*",
    "LiveBucket": "dahlia",
    "MailAddress": ADDRESS,
}


def statements(role: str) -> list[dict[str, Any]]:
    text = (POLICIES / f"{role}.json").read_text()
    for name, value in MEANT.items():
        text = text.replace(f"${{{name}}}", value)
    assert "${" not in text, "a placeholder that nobody fills in"
    found: list[dict[str, Any]] = json.loads(text)["Statement"]
    return found


def granted(role: str, need: Need) -> bool:
    action, resource = need
    return any(
        action in statement["Action"] and any(fnmatchcase(resource, one) for one in statement["Resource"])
        for statement in statements(role)
    )


def grants(role: str) -> set[Need]:
    """Each action with each pattern of what it may be done to."""
    return {
        (action, pattern)
        for statement in statements(role)
        for action in statement["Action"]
        for pattern in statement["Resource"]
    }


def used(role: str, needed: set[Need]) -> set[Need]:
    """Grants that something was done by."""
    return {
        (action, pattern)
        for action, pattern in grants(role)
        if any(done == action and fnmatchcase(resource, pattern) for done, resource in needed)
    }


def explained() -> dict[str, set[Need]]:
    """What is granted for bad days, by the table in infra/README.md: an action, on what ends like this."""
    text = (ROOT / "infra" / "README.md").read_text()
    for name, value in MEANT.items():
        text = text.replace(f"${{{name}}}", value)
    rows = re.findall(r"^\| (\w+) \| `([\w:]+)` \| `([^`]+)` \| \S", text, re.MULTILINE)
    found: dict[str, set[Need]] = {role: set() for role in ROLES}
    for role, action, end in rows:
        meant = {grant for grant in grants(role) if grant[0] == action and grant[1].endswith(end)}
        assert meant, f"{role} has no {action} on {end}, which infra/README.md explains"
        found[role] |= meant
    return found


@pytest.mark.parametrize("role", ROLES)
def test_every_statement_says_what_for_and_names_what_it_is_about(role: str) -> None:
    for statement in statements(role):
        assert set(statement) <= {"Sid", "Effect", "Action", "Resource", "Condition"}
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]{9,}", statement["Sid"]), (
            "letters and digits only, by the service"
        )
        assert not any("*" in action for action in statement["Action"])
        if "*" in statement["Resource"]:
            assert all(action.startswith("states:SendTask") for action in statement["Action"]), (
                "a token has no name"
            )


def test_the_gatekeeper_has_no_write() -> None:
    """Fault one of the first build: it claimed lanes."""
    (statement,) = statements("gatekeeper")
    assert statement["Action"] == ["dynamodb:GetItem"]


def test_the_state_machine_may_do_what_its_states_do() -> None:
    text = (ROOT / "infra" / "email-processor.asl.json").read_text()
    done = {f"{service}:{verb[0].upper()}{verb[1:]}" for service, verb in re.findall(r":::(\w+):(\w+)", text)}
    assert done == {action for statement in statements("workflow") for action in statement["Action"]}


async def test_what_processes_do_is_granted_and_nothing_else_is(
    account: Account,
    backend: Backend,
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A day of work: mail in, jobs done and failed, a site made live, an operator who looks and acts."""
    await account.call("sesv2", "create_email_identity", EmailIdentity="webordinary.example")
    repository = await GitRepositories(tmp_path / "git").create("dahlia", samples.folder("amelia"))
    operator = Container(tmp_path / "operator", environment)
    onboard = ("onboard", "dahlia", "--user", "scott", "--sender", SCOTT, "--repo", repository)
    await asyncio.to_thread(operator.said, *onboard)
    needed: dict[str, Recorder] = {}
    endpoint = environment["AWS_ENDPOINT_URL"]
    with (
        recording(endpoint) as (to_worker, needed["worker"]),
        recording(endpoint) as (to_ingest, needed["ingest"]),
        recording(endpoint) as (to_dashboard, needed["dashboard"]),
    ):
        worker = Container(tmp_path / "worker", environment | {"AWS_ENDPOINT_URL": to_worker})
        web = Container(tmp_path / "web", environment | {"AWS_ENDPOINT_URL": to_dashboard})
        monkeypatch.setenv("AWS_ENDPOINT_URL", to_ingest)
        with worker.works():
            mails = [await taken_in(account, backend, text) for text in DAY]
            with web.web() as (address, token):
                await looked_at(address, token, mails[0])
    missing = {
        role: [need for need in sorted(own_names(account, recorder.needed)) if not granted(role, need)]
        for role, recorder in needed.items()
    }
    assert missing == {"worker": [], "ingest": [], "dashboard": []}
    idle = {
        role: sorted(grants(role) - used(role, own_names(account, recorder.needed)) - explained()[role])
        for role, recorder in needed.items()
    }
    assert idle == {"worker": [], "ingest": [], "dashboard": []}


def own_names(account: Account, needed: set[Need]) -> set[Need]:
    """As they would be with the usual prefix."""
    prefix = account.names.prefix

    def usual(resource: str) -> str:
        resource = resource.replace(f":{prefix}-email-processor", ":email-processor")
        return re.sub(rf"(table/|:){re.escape(prefix)}-", r"\1webordinary-", resource)

    return {(action, usual(resource)) for action, resource in needed}


async def taken_in(account: Account, backend: Backend, text: str) -> dict[str, str]:
    """A mail comes in, and what it asks for is carried out."""
    told = await arrive(account, mail(text))
    (answer,) = await asyncio.to_thread(ingest, told, None)

    async def has_ended() -> bool:
        return (await backend.ledger.job(JobId(answer["job"]))).state in ENDED

    if answer["job"]:
        await until(has_ended)
    return answer


async def looked_at(address: str, token: str, about: dict[str, str]) -> None:
    """The pages, and what an operator changes there."""
    job, letter = f"/jobs/{about['job']}", f"/mail/{about['mail']}"
    pages = ("/", "/pool", "/lanes", "/lanes/dahlia/scott", "/jobs", job, f"{job}/patch", "/dead", "/metrics")
    mails = ("/mail", "/mail/sent", letter, f"{letter}/raw")
    answers = ("status", "workers", "lanes", "jobs", "mails", "letters", "dead", "metrics")
    bearer = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, follow_redirects=True, timeout=HANG_SECONDS) as browser:
        for path in (*pages, *mails, *(f"/api/{name}" for name in answers)):
            answer = await browser.get(path)
            assert answer.status_code == 200, (path, answer.status_code, answer.text[:300])
        deeds: tuple[tuple[str, dict[str, str] | None], ...] = (
            ("/api/jobs", {"lane": "dahlia/scott", "instruction": "Paint it green"}),
            ("/api/lanes/dahlia/scott/interrupt", None),
            ("/api/lanes/dahlia/scott/release", None),
        )
        for path, body in deeds:
            answer = await browser.post(path, json=body, headers=bearer)
            assert answer.status_code < 300, (path, answer.status_code, answer.text[:300])
        await tried(browser, token)


async def tried(browser: httpx.AsyncClient, token: str) -> None:
    """The try-it box: a mail in by the cloud's way, and its letter as it went out."""
    browser.headers["Origin"] = str(browser.base_url).rstrip("/")
    await browser.post("/sign-in", data={"token": token})
    secret = re.search(r'name="csrf" value="([^"]+)"', (await browser.get("/")).text)
    assert secret
    mail = {"subject": "My site", "text": "Change the title of the homepage to Tulips"}
    sent = await browser.post("/try", data={"csrf": secret[1], "sender": f"dahlia/scott {SCOTT}", **mail})
    assert sent.status_code == 200, sent.text[:300]
    job = re.search(r"/jobs/([0-9a-z]{16})", sent.text)
    assert job, sent.text

    async def is_answered() -> bool:
        return f"/mail/sent/done/{job[1]}" in (await browser.get(f"/jobs/{job[1]}")).text

    await until(is_answered)
    await until(lambda: has_words(browser, f"/mail/sent/done/{job[1]}", "Tulips"))


async def has_words(browser: httpx.AsyncClient, path: str, words: str) -> bool:
    return words in (await browser.get(path)).text
