"""Drills of real workers in the emulated cloud: what each execution's history says, and that lanes go on."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.conftest import DEFINITION, ROLE, Account
from tests.cloud.mails import arrive, mail
from tests.cloud.processes import Container
from tests.waiting import until
from webordinary import samples
from webordinary.backends.aws.letters import CALLBACK
from webordinary.core.job import JobId, JobState
from webordinary.core.mail import MailId
from webordinary.core.views import JobView
from webordinary.entrypoints.functions import ingest
from webordinary.operations.cloud_setup import set_up
from webordinary.ports.backend import Backend
from webordinary.sites.git.repositories import GitRepositories
from webordinary.system.clock import SystemClock

SLOWLY = "take your time: 6 seconds"
FOR_LONG = "take your time: 300 seconds"
ENDS = ("ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted")
BREAKS_ALWAYS = {
    "WEBORDINARY_WORK_AGENT": "command",
    "WEBORDINARY_WORK_COMMAND": "false",
    "WEBORDINARY_WORK_SANDBOX": "off-i-trust-every-sender",
}


@dataclass(frozen=True)
class Sent:
    """A mail that was taken in, and the job that it became."""

    mail: MailId
    job: JobId


@dataclass(frozen=True)
class Story:
    """What an execution's history says."""

    status: str
    error: str
    output: dict[str, Any]
    states: tuple[str, ...]
    ends: tuple[str, ...]  # its events that end an execution: exactly one


@dataclass
class Scene:
    """One test's cloud, the operator's desk in it, and containers as they are wanted."""

    account: Account
    backend: Backend
    environment: dict[str, str]
    folder: Path
    operator: Container

    async def onboard(self, project: str) -> str:
        """A site with one user of its own; its repository."""
        repository = await GitRepositories(self.folder / "git").create(project, samples.folder("amelia"))
        words = ("onboard", project, "--user", "ann", "--sender", sender_of(project), "--repo", repository)
        await asyncio.to_thread(self.operator.said, *words)
        return repository

    @contextmanager
    def worker(self, name: str, **environment: str) -> Iterator[tuple[Container, subprocess.Popen[bytes]]]:
        """A container with a generic worker; one that was paused goes on before it must leave."""
        container = Container(self.folder / name, self.environment | environment)
        with container.works() as process:
            try:
                yield container, process
            finally:
                process.send_signal(signal.SIGCONT)

    async def send(self, project: str, title: str, *lines: str, answers: Sent | None = None) -> Sent:
        """A mail arrives, and the service calls our function as the cloud does."""
        earlier = await self.backend.mailbox.mail(answers.mail) if answers else None
        text = "\n".join([f"Change the title of the homepage to {title}", *lines])
        sender = sender_of(project)
        thread = {"In_Reply_To": earlier.message_id} if earlier else {}
        told = await arrive(self.account, mail(text, sender=sender, **thread), source=sender)
        (answer,) = await asyncio.to_thread(ingest, told, None)
        assert answer["state"] == "accepted", answer
        return Sent(MailId(answer["mail"]), JobId(answer["job"]))

    async def job(self, sent: Sent) -> JobView:
        return await self.backend.ledger.job(sent.job)

    async def until(self, sent: Sent, state: JobState) -> JobView:
        async def is_so() -> bool:
            return (await self.job(sent)).state is state

        await until(is_so)
        return await self.job(sent)

    def execution(self, sent: Sent) -> str:
        machine = self.account.made.state_machine_arn
        return f"{machine.replace(':stateMachine:', ':execution:')}:{sent.mail}"

    async def described(self, sent: Sent) -> dict[str, Any]:
        return await self.account.call(
            "stepfunctions", "describe_execution", executionArn=self.execution(sent)
        )

    async def story(self, sent: Sent) -> Story:
        """Wait for the end of an execution, and read its history."""

        async def has_ended() -> bool:
            return bool((await self.described(sent))["status"] != "RUNNING")

        await until(has_ended)
        told = await self.described(sent)
        history = await self.account.call(
            "stepfunctions", "get_execution_history", executionArn=self.execution(sent), maxResults=1000
        )
        events = sorted(history["events"], key=lambda event: event["id"])
        entered = [event.get("stateEnteredEventDetails", {}).get("name") for event in events]
        output = json.loads(told.get("output") or "{}")
        states = tuple(name for name in entered if name)
        ends = tuple(event["type"] for event in events if event["type"] in ENDS)
        return Story(told["status"], told.get("error") or "", output, states, ends)

    async def succeeds(self, sent: Sent) -> Story:
        """Wait for an execution that must say that the job is done, as its job does."""
        story = await self.story(sent)
        assert (story.status, story.ends) == ("SUCCEEDED", ("ExecutionSucceeded",)), story
        assert story.output["state"] == "done", story
        assert (await self.job(sent)).state is JobState.DONE
        return story

    async def page(self, project: str) -> str:
        answer = await self.account.call("s3", "get_object", Bucket=f"edit.{project}", Key="index.html")
        async with answer["Body"] as body:
            return bytes(await body.read()).decode()

    async def goes_on(self, project: str) -> None:
        """The lane's next mail is carried out, and seen."""
        await self.succeeds(await self.send(project, "Going On"))
        assert "<title>Going On</title>" in await self.page(project)

    def letters(self, project: str) -> list[str]:
        """What the mail service sent to a site's user."""
        to = [sender_of(project)]
        return sorted(one["BodyText"] for one in self.account.sent() if one["To"] == to)

    async def nobody_waits(self) -> bool:
        """Whether no lane's running job has a task token (any more)."""
        told = await self.account.call("dynamodb", "scan", TableName=self.account.names.lanes)
        return not [row for row in told["Items"] if "taskToken" in row]

    async def no_callback_is_owed(self) -> None:
        async def none_is_owed() -> bool:
            told = await self.account.call("dynamodb", "scan", TableName=self.account.names.outbox)
            return not [row for row in told["Items"] if row["kind"]["S"] == CALLBACK]

        await until(none_is_owed)


def sender_of(project: str) -> str:
    return f"ann@{project}.example"


@pytest.fixture
async def scene(account: Account, backend: Backend, environment: dict[str, str], tmp_path: Path) -> Scene:
    await account.call("sesv2", "create_email_identity", EmailIdentity="webordinary.example")
    return Scene(account, backend, environment, tmp_path, Container(tmp_path / "operator", environment))


# --- the three scenarios ----------------------------------------------------------------------------


async def test_one_worker_serves_two_lanes(scene: Scene) -> None:
    """It has room for one lane and keeps an idle one for 30 minutes; the second does not wait for that."""
    for project in ("aster", "begonia"):
        await scene.onboard(project)
    with scene.worker("only"):
        sent = [await scene.send(project, "Spring") for project in ("aster", "begonia")]
        for one in sent:
            await scene.succeeds(one)
    assert len({(await scene.job(one)).worker for one in sent}) == 1
    for project in ("aster", "begonia"):
        assert "<title>Spring</title>" in await scene.page(project)


async def test_two_workers_serve_two_lanes_at_the_same_time(scene: Scene) -> None:
    for project in ("clover", "daisy"):
        await scene.onboard(project)
    with scene.worker("first"), scene.worker("second"):
        sent = [await scene.send(project, "Summer", SLOWLY) for project in ("clover", "daisy")]
        for one in sent:
            await scene.succeeds(one)
    jobs = [await scene.job(one) for one in sent]
    assert len({job.worker for job in jobs}) == 2
    assert max(job.started_at or 0 for job in jobs) < min(job.finished_at or 0 for job in jobs)


async def test_a_second_mail_interrupts_and_is_carried_out(scene: Scene) -> None:
    """The first execution says that it was preempted, which is no failure."""
    await scene.onboard("erica")
    with scene.worker("only"):
        older = await scene.send("erica", "Autumn", FOR_LONG)
        await scene.until(older, JobState.RUNNING)
        newer = await scene.send("erica", "Winter", answers=older)
        went = await scene.succeeds(newer)
        preempted = await scene.story(older)
        assert "<title>Winter</title>" in await scene.page("erica")
        await scene.goes_on("erica")
    assert (preempted.status, preempted.output["state"]) == ("SUCCEEDED", "preempted")
    assert preempted.ends == ("ExecutionSucceeded",)
    # No word of SendInterrupt: the tables flagged the older job, which may have stopped before that look.
    assert went.states[-2:] == ("SendToContainer", "Done")
    job = await scene.job(older)
    assert (job.state, job.interrupted_by) == (JobState.PREEMPTED, newer.job)


# --- bad days ---------------------------------------------------------------------------------------


async def test_nothing_is_seen_of_a_worker_that_wakes_after_its_lease(scene: Scene) -> None:
    """Paused with a change of its own in its hands, so that whatever came of it would be told apart."""
    repository = await scene.onboard("freesia")
    marker, script = scene.folder / "changed", scene.folder / "agent.sh"
    script.write_text(
        'sed -i "s/<title>.*<.title>/<title>Stale<\\/title>/" "$WEBORDINARY_TREE/index.html"\n'
        f"echo a stale change; touch {marker}; sleep 3\n"
    )
    stale = BREAKS_ALWAYS | {"WEBORDINARY_WORK_COMMAND": f"sh {script}"}

    async def has_changed() -> bool:
        return marker.exists()

    with ExitStack() as stack, ExitStack() as paused:
        container, process = paused.enter_context(scene.worker("first", **stale))
        sent = await scene.send("freesia", "Fresh")
        await until(has_changed)
        process.send_signal(signal.SIGSTOP)
        stack.enter_context(scene.worker("second"))
        await scene.succeeds(sent)
        before = await all_that_is_seen(scene, "freesia", sent, repository)
        process.send_signal(signal.SIGCONT)

        async def knows_that_it_lost() -> bool:
            return "lost freesia/ann" in container.log.read_text()

        await until(knows_that_it_lost)
        await asyncio.to_thread(paused.close)  # it leaves in good order: nothing of it is still to come
        assert await all_that_is_seen(scene, "freesia", sent, repository) == before
        assert "<title>Fresh</title>" in await scene.page("freesia")
        await scene.goes_on("freesia")
    assert (await scene.job(sent)).attempt == 2
    assert not [letter for letter in scene.letters("freesia") if "stale" in letter.lower()]


async def all_that_is_seen(scene: Scene, project: str, sent: Sent, repository: str) -> dict[str, object]:
    """All that a stale worker could have an effect on, once the reply is out."""

    async def is_answered() -> bool:
        return any(letter.startswith("Done!") for letter in scene.letters(project))

    await until(is_answered)
    listed = await scene.account.call("s3", "list_objects_v2", Bucket=f"edit.{project}")
    refs = subprocess.run(
        ["git", "-C", repository.removeprefix("file://"), "for-each-ref"], capture_output=True, check=True
    )
    return {
        "bucket": {one["Key"]: (one["ETag"], one["LastModified"]) for one in listed["Contents"]},
        "refs": refs.stdout,
        "letters": scene.letters(project),
        "execution": await scene.story(sent),
        "job": await scene.job(sent),
    }


async def test_a_poison_job_is_dead_and_done_after_the_agent_was_repaired(scene: Scene) -> None:
    """Its execution ends by the name DEAD, and stays so: the redriven job has nobody to call back."""
    await scene.onboard("gentian")
    with scene.worker("broken", **BREAKS_ALWAYS):
        poison = await scene.send("gentian", "Poison")
        told = await scene.story(poison)
    assert (told.status, told.error, told.ends) == ("FAILED", "DEAD", ("ExecutionFailed",))
    job = await scene.job(poison)
    assert (job.state, job.attempt) == (JobState.DEAD, 3)
    dead = await asyncio.to_thread(scene.operator.json, "dead", "list")
    assert [one["id"] for one in dead] == [poison.job]
    with scene.worker("repaired"):
        said = await asyncio.to_thread(scene.operator.said, "dead", "redrive", poison.job)
        assert "queued again" in said
        await scene.until(poison, JobState.DONE)
        assert "<title>Poison</title>" in await scene.page("gentian")
        await scene.goes_on("gentian")
    assert await scene.story(poison) == told
    assert await asyncio.to_thread(scene.operator.json, "dead", "list") == []
    await scene.no_callback_is_owed()


async def test_a_job_whose_execution_was_stopped_is_done_all_the_same(scene: Scene) -> None:
    """The job is the tables'. The emulator still takes the callback then, and nothing comes of it."""
    await scene.onboard("hyacinth")
    with scene.worker("only"):
        sent = await scene.send("hyacinth", "Unfollowed", SLOWLY)
        await scene.until(sent, JobState.RUNNING)
        await scene.account.call(
            "stepfunctions", "stop_execution", executionArn=scene.execution(sent), error="BY_HAND"
        )
        await ends_unfollowed(scene, "hyacinth", sent)
    told = await scene.story(sent)
    assert (told.status, told.error, told.ends) == ("ABORTED", "BY_HAND", ("ExecutionAborted",))


@pytest.mark.parametrize(
    ("project", "beat_seconds"),
    [pytest.param("iris", 1, id="a beat"), pytest.param("jasmine", 30, id="the end")],
)
async def test_an_execution_that_gave_up_is_not_called_back(
    scene: Scene, project: str, beat_seconds: int
) -> None:
    """The same state machine, less patient. That nobody waits is learned by a beat, or else at the end."""
    hasty = scene.folder / "hasty.json"
    hasty.write_text(DEFINITION.read_text().replace('"TimeoutSeconds": 86400', '"TimeoutSeconds": 8'))
    await set_up(scene.account.settings, SystemClock(), hasty, ROLE)
    await scene.onboard(project)
    beats = {"WEBORDINARY_LEASE_SECONDS": "120", "WEBORDINARY_BEAT_SECONDS": str(beat_seconds)}
    with scene.worker("only", **beats) as (container, _):
        await until(container.is_up)
        sent = await scene.send(project, "Unfollowed", "take your time: 14 seconds")
        told = await scene.story(sent)
        assert (told.status, told.error, told.ends) == ("FAILED", "NO_WORD", ("ExecutionFailed",))
        assert (await scene.job(sent)).state is JobState.RUNNING
        await set_up(scene.account.settings, SystemClock(), DEFINITION, ROLE)
        if beat_seconds == 1:
            await until(scene.nobody_waits)
            assert (await scene.job(sent)).state is JobState.RUNNING
        await ends_unfollowed(scene, project, sent)
    assert await scene.story(sent) == told
    called_back = f"nobody waits for job {sent.job} any more" in container.log.read_text()
    assert called_back == (beat_seconds > 1)


async def ends_unfollowed(scene: Scene, project: str, sent: Sent) -> None:
    """The job is done, no callback is tried for ever, its sender is told, and the lane goes on."""
    await scene.until(sent, JobState.DONE)
    assert "<title>Unfollowed</title>" in await scene.page(project)
    await scene.no_callback_is_owed()

    async def is_answered() -> bool:
        return any(letter.startswith("Done!") for letter in scene.letters(project))

    await until(is_answered)
    await scene.goes_on(project)
