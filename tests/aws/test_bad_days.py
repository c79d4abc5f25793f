"""Lost answers, throttling, broken credentials, missing tables: one clear sentence, and nothing is lost."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiobotocore.config import AioConfig

from tests.aws.emulated import new_settings
from tests.aws.faulty import FaultyCloud
from tests.conformance.world import AMELIA, LIMITS, W1, W2, ManualClock, World
from webordinary.backends.aws import client
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.errors import ChangedMeanwhile
from webordinary.backends.aws.open import check_aws, open_aws, set_up_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.errors import BackendUnavailable, ClaimLost, SchemaMismatch
from webordinary.core.facts import Facts, SessionMemory, UnfinishedWork
from webordinary.core.job import INSTRUCTION_CHARACTERS, Arrival, Duplicate, Job, JobId, JobState, Submitted
from webordinary.core.outcome import Done, Retry
from webordinary.core.work import AgentEvent, EventKind

DOWN = BackendUnavailable("the line is down")

# What the client's own repetition gets whose first try took effect: its condition does not hold any more.
TOO_LATE = ChangedMeanwhile(frozenset())


@pytest.fixture
def line(settings: AwsSettings) -> FaultyCloud:
    """A line to the cloud that a test can break."""
    return FaultyCloud(settings)


# --- a lane that changes while it is read ---------------------------------------------------------


class Overtaken(FaultyCloud):
    """A line on which something happens right after the first look at a lane."""

    meanwhile: list[Callable[[], Awaitable[object]]]

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        answer = await super().call(service, operation, **parameters)
        if operation == "batch_get_item" and self.meanwhile:
            await self.meanwhile.pop()()
        return answer


async def test_a_lane_whose_job_begins_while_it_is_read_is_read_again(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """Half of one moment and half of the next would be refused; and some roles may not even try that."""
    line = Overtaken(settings)
    line.meanwhile = []
    operator, worker = process(line), process()
    job = await worker.submit()
    (claim,) = (await worker.claim(W1)).claims
    line.meanwhile.append(lambda: worker.next_job(claim))
    line.made.clear()
    assert await operator.control.interrupt(AMELIA) == job
    assert line.meanwhile == []
    assert line.made.count("dynamodb transact_write_items") == 1
    assert (await worker.ledger.job(job)).interrupted


class Moving(FaultyCloud):
    """A line on which something happens right after the first look at an index."""

    meanwhile: list[Callable[[], Awaitable[object]]]

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        answer = await super().call(service, operation, **parameters)
        if operation == "query" and self.meanwhile:
            await self.meanwhile.pop()()
        return answer


async def test_a_lane_that_moves_between_two_looks_is_shown_once(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """The service refuses to read a key twice in one call, so `status` failed while jobs moved."""
    line = Moving(settings)
    line.meanwhile = []
    operator, worker = process(line), process()
    delivery = await worker.start()
    line.meanwhile.append(lambda: worker.broker.settle(delivery, Done(), more=False))
    shown = await operator.ledger.lanes(limit=9, busy=True)
    assert line.meanwhile == []
    assert [lane.lane for lane in shown] == [AMELIA]


# --- answers that are lost on their way -----------------------------------------------------------


async def test_a_submit_whose_answer_was_lost_is_one_job_and_calls_for_an_owner(
    process: Callable[..., World], line: FaultyCloud
) -> None:
    world, job = process(line), process().job(reply=True)
    line.after["transact_write_items"] = [TOO_LATE]
    assert await world.broker.submit(job) == Submitted(job.id, ahead=0)
    line.after["transact_write_items"] = [DOWN]
    second = world.job()
    with pytest.raises(BackendUnavailable):
        await world.broker.submit(second)
    assert await world.broker.submit(second) == Duplicate(second.id)
    assert len(await world.ledger.jobs(limit=9)) == 2
    assert len(await world.backend.outbox.letters(limit=9)) == 1
    assert (await world.claim(W2)).claims


async def test_a_claim_whose_answer_was_lost_is_ours(
    process: Callable[..., World], line: FaultyCloud
) -> None:
    """Otherwise nobody would serve the lane until the lease ran out."""
    world = process(line)
    await world.submit()
    line.after["transact_write_items"] = [TOO_LATE]
    (claim,) = (await world.claim()).claims
    assert (await world.deliver(claim)).claim.fence == 1


async def test_a_settle_whose_answer_was_lost_happened_once(
    process: Callable[..., World], line: FaultyCloud
) -> None:
    world = process(line)
    delivery = await world.start(reply=True)
    following = await world.submit()
    line.after["transact_write_items"] = [TOO_LATE]
    handed_over = await world.broker.settle(delivery, Done("yes"), more=True)
    assert handed_over is not None
    assert (handed_over.job.id, handed_over.attempt) == (following, 1)
    line.after["transact_write_items"] = [DOWN]
    with pytest.raises(BackendUnavailable):
        await world.broker.settle(handed_over, Done("yes"), more=False)
    await world.broker.settle(handed_over, Done("yes"), more=False)
    assert (await world.ledger.counts())[JobState.DONE] == 2


async def test_a_call_that_never_reached_the_store_left_nothing(
    process: Callable[..., World], line: FaultyCloud
) -> None:
    world = process(line)
    delivery = await world.start()
    before = await world.everything()
    line.before["transact_write_items"] = [DOWN, DOWN, DOWN]
    with pytest.raises(BackendUnavailable):
        await world.submit(arrival=Arrival.INTERRUPT)
    with pytest.raises(BackendUnavailable):
        await world.broker.settle(delivery, Done(), more=True)
    with pytest.raises(BackendUnavailable):
        await world.broker.release(delivery.claim)
    assert await world.everything() == before


async def test_a_worker_that_was_paused_beyond_its_lease_changes_nothing_from_elsewhere(
    process: Callable[..., World],
) -> None:
    """Fault seven of the first build: nothing fenced it."""
    paused, other = process(), process()
    old = await paused.start(worker=W1)
    paused.outlive_the_lease()
    await other.broker.sweep()
    await other.deliver(await other.take(worker=W2))
    before = await other.everything()
    with pytest.raises(ClaimLost):
        await paused.broker.settle(old, Done(), more=True)
    with pytest.raises(ClaimLost):
        await paused.backend.journal.tell(old, [AgentEvent(EventKind.SAID, "late")])
    await paused.broker.release(old.claim)
    assert (await paused.beat(W1, [old.claim])).lost == (old.claim,)
    after = await other.everything()
    assert (after.lanes, after.jobs, after.history) == (before.lanes, before.jobs, before.history)


# --- reads that are not of one moment -------------------------------------------------------------


class TornCloud(Cloud):
    """Lets something happen while a call reads several tables: of one it sees the past, of the others not."""

    def __init__(self, settings: AwsSettings) -> None:
        super().__init__(settings)
        self._jobs = settings.jobs
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        asked = parameters.get("RequestItems", {})
        if self.meanwhile is None or operation != "batch_get_item" or self._jobs not in asked:
            return await super().call(service, operation, **parameters)
        early = await super().call(service, operation, RequestItems={self._jobs: asked.pop(self._jobs)})
        first, self.meanwhile = self.meanwhile, None
        await first()
        late = await super().call(service, operation, RequestItems=asked)
        return {"Responses": early["Responses"] | late["Responses"]}


async def test_a_job_that_is_read_before_its_lane_changes_is_read_again(
    process: Callable[..., World], settings: AwsSettings
) -> None:
    """Otherwise the interrupt that came in between would be forgotten, and the newer job wait for a retry."""
    torn = TornCloud(settings)
    owner, sender = process(torn), process()
    running = await owner.start()
    torn.meanwhile = lambda: sender.submit(arrival=Arrival.INTERRUPT)
    following = await owner.broker.settle(running, Retry("flaky"), more=True)
    assert await owner.state(running.job.id) is JobState.PREEMPTED
    assert following is not None


# --- clocks that differ ---------------------------------------------------------------------------


async def test_a_lease_counts_a_little_longer_for_strangers(
    settings: AwsSettings, clock: ManualClock
) -> None:
    """Their clock may be ahead of the owner's by the margin, and the owner must not be robbed for that."""
    skewed = replace(settings, skew_seconds=2.0)
    backend = open_aws(skewed, clock, LIMITS)
    world = World(backend, clock, LIMITS)
    await world.start(worker=W1)
    world.outlive_the_lease()
    clock.advance(1.75)
    await world.broker.sweep()
    assert not (await world.claim(W2)).claims
    assert await backend.gatekeeper.owner(AMELIA) is None
    clock.advance(0.25)
    await world.broker.sweep()
    assert (await world.claim(W2)).claims
    backend.close()


# --- what the cloud may answer --------------------------------------------------------------------


@asynccontextmanager
async def answering(status: int, code: str) -> AsyncIterator[str]:
    """A cloud that answers everything the same way."""
    body = json.dumps({"__type": code, "message": "no"}).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


QUICK = AioConfig(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 1})


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "ProvisionedThroughputExceededException", "slow down"),
        (400, "ThrottlingException", "slow down"),
        (500, "InternalServerError", "500 InternalServerError"),
        (503, "ServiceUnavailable", "503"),
        (400, "ExpiredTokenException", "credentials"),
        (400, "UnrecognizedClientException", "credentials"),
        (400, "AccessDeniedException", "grant"),
        (400, "ResourceNotFoundException", "tables .*-jobs.* is missing.*webordinary cloud setup"),
    ],
)
async def test_what_the_cloud_answers_becomes_one_clear_sentence(
    cloud: str, status: int, code: str, words: str
) -> None:
    """The fixture is asked for its credentials only."""
    async with answering(status, code) as endpoint:
        settings = AwsSettings(endpoint=endpoint)
        line = Cloud(settings, QUICK)
        backend = open_aws(settings, ManualClock(), LIMITS, cloud=line)
        with pytest.raises(BackendUnavailable, match=words) as told:
            await backend.broker.submit(Job(JobId("j"), AMELIA, "do it", "<m>"))
        assert "\n" not in str(told.value)
        await line.aclose()


async def test_a_cloud_that_is_not_there_becomes_one_clear_sentence(cloud: str) -> None:
    line = Cloud(AwsSettings(endpoint="http://127.0.0.1:9"), QUICK)
    with pytest.raises(BackendUnavailable, match="did not answer"):
        await line.call("dynamodb", "list_tables")
    await line.aclose()


async def test_no_credentials_at_all_become_one_clear_sentence(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setattr(client, "_session", None)
    line = Cloud(AwsSettings(endpoint=cloud))
    with pytest.raises(BackendUnavailable, match="no credentials"):
        await line.call("dynamodb", "list_tables")
    await line.aclose()


# --- tables and settings --------------------------------------------------------------------------


async def test_a_start_without_tables_names_those_that_are_missing(cloud: str, clock: ManualClock) -> None:
    settings = new_settings(cloud)
    with pytest.raises(
        SchemaMismatch, match=f"{settings.prefix}-container-ownership.*{settings.prefix}-jobs"
    ):
        await check_aws(settings)
    await set_up_aws(settings, clock)
    await set_up_aws(settings, clock)  # safe to repeat
    await check_aws(settings)


def test_tables_and_queues_have_the_names_that_operators_know() -> None:
    settings = AwsSettings(ownership_table="mine", active_jobs_table="running")
    assert (settings.lanes, settings.active) == ("mine", "running")
    plain = AwsSettings()
    assert plain.lanes == "webordinary-container-ownership"
    assert (plain.active, plain.projects) == ("webordinary-active-jobs", "webordinary-project-configs")
    assert plain.input_of(AMELIA) == "webordinary-input-amelia-scott.fifo"
    assert plain.unclaimed == "webordinary-unclaimed"


# --- sizes ----------------------------------------------------------------------------------------


async def test_the_longest_instruction_that_is_hard_to_compress_goes_all_the_way(world: World) -> None:
    """An item has at most 400 KB, a message 256 KB; a mail does not care."""
    chance = random.Random(1)
    text = "".join(chr(chance.randrange(0x10000, 0x1F000)) for _ in range(INSTRUCTION_CHARACTERS))
    job = Job(JobId("long"), AMELIA, text, "<long>")
    await world.broker.submit(job)
    assert (await world.deliver(await world.take())).job == job
    assert (await world.view(job.id)).instruction == text


async def test_a_newer_job_replaces_more_than_fit_one_transaction(world: World) -> None:
    pending = [await world.submit(reply=True) for _ in range(70)]
    newer = world.job(arrival=Arrival.REPLACE_PENDING)
    assert await world.broker.submit(newer) == Submitted(newer.id, ahead=0)
    counts = await world.ledger.counts()
    assert (counts[JobState.PREEMPTED], counts[JobState.QUEUED]) == (len(pending), 1)
    assert len(await world.backend.outbox.letters(limit=1000)) == 2 * len(pending)


async def test_facts_that_do_not_fit_are_left_out_and_the_job_is_settled_all_the_same(world: World) -> None:
    chance = random.Random(1)
    noise = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(300_000))
    delivery = await world.start(reply=True)
    files = tuple(f"{number} {noise[number : number + 90]}" for number in range(9_000))
    left = Facts(unfinished=UnfinishedWork(noise, "c1", files=files), memory=SessionMemory(recap=("kept",)))
    await world.broker.settle(delivery, Done("yes", left), more=False)
    view = await world.view(delivery.job.id)
    work = view.facts.unfinished
    assert work is not None
    assert (view.state, work.commit, view.facts.memory) == (JobState.DONE, "c1", left.memory)
    assert "too long" in work.request
    assert work.files == ()
