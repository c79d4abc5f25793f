"""The state machine of infra/, executed by the emulator: which way a job goes, and how it ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.cloud.conftest import DEFINITION, Account
from tests.cloud.working import working
from tests.waiting import until
from webordinary.core.job import Arrival, Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import MailId
from webordinary.operations.cloud_setup import execution_of, let_in
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock
from webordinary.wiring.cloud import AwsPlatform

AMELIA = Lane("amelia", "scott")
CLOCK = SystemClock()


@pytest.fixture
def follow(account: Account, backend: Backend) -> Callable[[str], Any]:
    """Submits an instruction and has the state machine follow it, as taking a mail in does."""

    async def start(instruction: str) -> tuple[MailId, JobId]:
        await let_in(account.settings, AMELIA, CLOCK)
        job = Job(JobId(CLOCK.unique()), AMELIA, instruction, f"<{CLOCK.unique()}>", Arrival.INTERRUPT)
        await backend.broker.submit(job)
        workflow = AwsPlatform(account.settings).workflow()
        assert workflow is not None
        mail = MailId(f"mail-{job.id}")
        await workflow.start(mail, AMELIA, job.id)
        return mail, job.id

    return start


async def ended(account: Account, mail: MailId) -> dict[str, Any]:
    found: dict[str, Any] = {}

    async def has_ended() -> bool:
        found.update(await execution_of(account.settings, mail) or {})
        return str(found["status"]) != "RUNNING"

    await until(has_ended)
    return found


async def way(account: Account, mail: MailId) -> list[str]:
    """The states an execution went through: each is a transition that is paid for."""
    machine = account.settings.cloud.state_machine_arn
    execution = f"{machine.replace(':stateMachine:', ':execution:')}:{mail}"
    told = await account.call(
        "stepfunctions", "get_execution_history", executionArn=execution, maxResults=1000
    )
    return [
        event["stateEnteredEventDetails"]["name"]
        for event in told["events"]
        if "stateEnteredEventDetails" in event
    ]


async def test_a_job_in_an_unclaimed_lane_takes_seven_transitions(
    account: Account, backend: Backend, follow: Callable[[str], Any]
) -> None:
    """Nobody listens anywhere when it starts: message and claim request wait for the first worker."""
    mail, _ = await follow("do it")
    await until(lambda: passed(account, mail, "SendToBoth"))
    async with working(backend):
        told = await ended(account, mail)
    assert told["status"] == "SUCCEEDED", told
    facts = {"preview": {"commit": "c1"}}
    assert json.loads(told["output"]) == {"state": "done", "note": "all of it", "facts": facts}
    shared = ["CheckActiveJob", "CheckOwnership", "CheckIfClaimed", "SendToBoth"]
    # The emulator does not write down what happens inside a branch; each of the two has one state.
    inside = ["SendToContainerToBe", "SendClaimRequest"]
    went = [name for name in await way(account, mail) if name not in inside]
    assert went == [*shared, "Done"]
    assert len(went) + len(inside) == 7


async def passed(account: Account, mail: MailId, state: str) -> bool:
    return state in await way(account, mail)


async def test_a_job_in_a_claimed_lane_goes_to_its_owner_alone(
    account: Account, backend: Backend, follow: Callable[[str], Any]
) -> None:
    async with working(backend):
        first, _ = await follow("do it")
        await ended(account, first)
        mail, _ = await follow("do it again")
        told = await ended(account, mail)
    assert told["status"] == "SUCCEEDED"
    assert json.loads(told["output"])["state"] == "done"
    assert await way(account, mail) == [
        "CheckActiveJob",
        "CheckOwnership",
        "CheckIfClaimed",
        "SendToContainer",
        "Done",
    ]


async def test_a_newer_job_interrupts_and_the_older_is_preempted_not_failed(
    account: Account, backend: Backend, follow: Callable[[str], Any]
) -> None:
    """Scenario three: two executions, and both end well."""
    async with working(backend):
        older, waiting_job = await follow("wait for ever")

        async def runs() -> bool:
            return (await backend.ledger.job(waiting_job)).state is JobState.RUNNING

        await until(runs)
        newer, _ = await follow("do it")
        assert (await ended(account, newer))["status"] == "SUCCEEDED"
        told = await ended(account, older)
    assert told["status"] == "SUCCEEDED", told
    assert json.loads(told["output"]) == {"state": "preempted", "note": "half of it"}


@pytest.mark.parametrize("owned_before", [False, True])
async def test_a_failed_job_fails_its_execution_by_name(
    account: Account, backend: Backend, follow: Callable[[str], Any], *, owned_before: bool
) -> None:
    async with working(backend):
        if owned_before:
            first, _ = await follow("do it")
            await ended(account, first)
        mail, _ = await follow("fail please")
        told = await ended(account, mail)
    assert (told["status"], told["error"], told["cause"]) == ("FAILED", "FAILED", "no homepage")


async def test_an_owner_that_died_does_not_count_as_one(
    account: Account, backend: Backend, follow: Callable[[str], Any]
) -> None:
    """Its row is still there, with a lease that is over: a claim request has to go out."""
    async with working(backend):
        first, _ = await follow("do it")
        await ended(account, first)
    await account.call(
        "dynamodb",
        "update_item",
        TableName=account.names.lanes,
        Key={"projectKey": {"S": AMELIA.key}},
        UpdateExpression="SET containerId = :who, leaseUntil = :past, claimedAt = :past",
        ExpressionAttributeValues={":who": {"S": "dead"}, ":past": {"N": str(CLOCK.now() - 60)}},
    )
    mail, _ = await follow("do it")
    await until(lambda: passed(account, mail, "SendToBoth"))
    async with working(backend, "w2"):
        assert (await ended(account, mail))["status"] == "SUCCEEDED"


async def test_the_same_mail_starts_one_execution(
    account: Account, backend: Backend, follow: Callable[[str], Any]
) -> None:
    mail, job = await follow("do it")
    workflow = AwsPlatform(account.settings).workflow()
    assert workflow is not None
    await workflow.start(mail, AMELIA, job)
    async with working(backend):
        await ended(account, mail)
    await workflow.start(mail, AMELIA, job)
    machine = account.settings.cloud.state_machine_arn
    listed = await account.call("stepfunctions", "list_executions", stateMachineArn=machine)
    assert Counter(one["name"] for one in listed["executions"])[mail] == 1


# --- the file -------------------------------------------------------------------------------------


def states_of(machine: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """All states, those of branches included."""
    found = list(machine["States"].items())
    for state in machine["States"].values():
        for branch in state.get("Branches", ()):
            found += states_of(branch)
    return found


def test_every_state_has_its_reason_and_a_name_of_its_own() -> None:
    """The service wants names that are unique across branches; people want reasons."""
    states = states_of(json.loads(DEFINITION.read_text()))
    assert [name for name, state in states if len(state.get("Comment", "")) < 5] == []
    assert [name for name, times in Counter(name for name, _ in states).items() if times > 1] == []


def test_no_function_is_in_the_routing_path_and_nothing_is_written() -> None:
    states = states_of(json.loads(DEFINITION.read_text()))
    resources = {state["Resource"] for _, state in states if "Resource" in state}
    assert resources == {
        "arn:aws:states:::dynamodb:getItem",
        "arn:aws:states:::sqs:sendMessage",
        "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
    }
    reads = [state for _, state in states if state.get("Resource", "").endswith("getItem")]
    assert all(state["Parameters"]["ConsistentRead"] is True for state in reads)


def test_a_job_may_wait_behind_several_of_an_hour_before_its_heartbeat_is_missed() -> None:
    states = states_of(json.loads(DEFINITION.read_text()))
    waits = [state for _, state in states if "waitForTaskToken" in state.get("Resource", "")]
    assert [state["HeartbeatSeconds"] >= 5 * 3600 for state in waits] == [True, True]
