"""What operators do in the cloud: set it up, let lanes in and out, look at queues and executions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.open import set_up_aws
from webordinary.backends.aws.queues import Queues
from webordinary.backends.aws.settings import PREFIX
from webordinary.backends.aws.tables import tables
from webordinary.core.errors import BadInput, NotFound
from webordinary.core.lane import Lane
from webordinary.core.release import Place
from webordinary.ports.clock import Clock
from webordinary.sites.s3_buckets import NameRefused, make_bucket
from webordinary.wiring.cloud import aws_settings, open_cloud, site_bucket
from webordinary.wiring.settings import PROJECT, Settings

MACHINE = "email-processor"
DEFINITION = f"{MACHINE}.asl.json"
QUEUES_PER_PAGE = 1000
EXECUTIONS_PER_PAGE = 1000
FUNCTION_ANSWER_BYTES = 1_000_000


# --- setting up -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetUp:
    """What is there now."""

    tables: tuple[str, ...]
    unclaimed_queue_url: str
    buckets: tuple[str, ...]
    state_machine_arn: str  # "" if none was wanted


async def set_up(settings: Settings, clock: Clock, definition: Path | None, role: str) -> SetUp:
    """Make what all projects share; safe to repeat, and the state machine is brought up to date."""
    names, wanted = aws_settings(settings), settings.cloud
    shared = tuple(dict.fromkeys(filter(None, (wanted.mail_bucket, wanted.bucket("blobs_bucket")))))
    text = _definition(definition) if definition else ""
    await set_up_aws(names, clock)
    async with open_cloud(settings) as cloud:
        client = await cloud.client("s3")
        for bucket in shared:
            try:
                await make_bucket(client, bucket, region=names.region)
            except NameRefused as error:
                setting = "mail_bucket" if bucket == wanted.mail_bucket else "blobs_bucket"
                raise BadInput(f"{error}. Choose another in [cloud] {setting}, and repeat this") from error
        machine = await _state_machine(cloud, _machine_name(settings), text, role) if text else ""
        unclaimed = await Queues(cloud, names, clock).create_unclaimed()
    return SetUp(tuple(table.name for table in tables(names)), unclaimed, shared, machine)


def shipped_definition() -> Path:
    """Find the state machine's definition: in the package, or beside it where that is a checkout."""
    shipped = Path(str(resources.files("webordinary.operations") / DEFINITION))
    return shipped if shipped.is_file() else Path(__file__).parents[3] / "infra" / DEFINITION


def _definition(path: Path) -> str:
    try:
        text = path.read_text("utf-8")
        json.loads(text)
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path} is no state machine: {error}") from error
    return text


def _machine_name(settings: Settings) -> str:
    prefix = settings.cloud.prefix
    return MACHINE if prefix == PREFIX else f"{prefix}-{MACHINE}"


async def _state_machine(cloud: Cloud, name: str, definition: str, role: str) -> str:
    """Create the state machine, or give the one of this name the definition; running executions go on."""
    page: dict[str, Any] = {}
    while True:
        answer = await cloud.call("stepfunctions", "list_state_machines", **page)
        for one in answer["stateMachines"]:
            if one["name"] == name:
                arn = str(one["stateMachineArn"])
                await cloud.call(
                    "stepfunctions",
                    "update_state_machine",
                    stateMachineArn=arn,
                    definition=definition,
                    roleArn=role,
                )
                return arn
        if not answer.get("nextToken"):
            break
        page = {"nextToken": answer["nextToken"]}
    made = await cloud.call(
        "stepfunctions", "create_state_machine", name=name, definition=definition, roleArn=role
    )
    return str(made["stateMachineArn"])


# --- lanes in and out -----------------------------------------------------------------------------


async def let_in(settings: Settings, lane: Lane, clock: Clock) -> list[str]:
    """Make a lane's queues and its project's buckets; safe to repeat. Says which are there now."""
    names = aws_settings(settings)
    places = {place: site_bucket(settings, place, lane.project) for place in Place}
    async with open_cloud(settings) as cloud:
        client = await cloud.client("s3")
        for place, bucket in places.items():
            try:
                await make_bucket(client, bucket, region=names.region, site=True)
            except NameRefused as error:
                raise BadInput(
                    f"{error}. Choose a pattern that is yours in [cloud] {place.value}_bucket, such as "
                    f"{place.value}-{PROJECT}-example-org, and repeat the command"
                ) from error
        await Queues(cloud, names, clock).create_input(lane)
    return [names.input_of(lane), names.dead_of(lane), *places.values()]


async def let_out(settings: Settings, lanes: Sequence[Lane], clock: Clock) -> None:
    """Remove the queues of lanes that nobody writes to any more. Sites stay until somebody removes them."""
    async with open_cloud(settings) as cloud:
        queues = Queues(cloud, aws_settings(settings), clock)
        for lane in lanes:
            await queues.delete_input(lane)


# --- looking --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue as the service counts it: about so many messages. Nothing is decided by these numbers."""

    name: str
    waiting: int
    in_hand: int
    delayed: int


_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


async def queues_of(settings: Settings) -> list[QueueView]:
    """List our queues by name."""
    found: list[QueueView] = []
    page: dict[str, Any] = {}
    async with open_cloud(settings) as cloud:
        while True:
            answer = await cloud.call(
                "sqs",
                "list_queues",
                QueueNamePrefix=f"{settings.cloud.prefix}-",
                MaxResults=QUEUES_PER_PAGE,
                **page,
            )
            for url in answer.get("QueueUrls", ()):
                asked = await cloud.call(
                    "sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=list(_COUNTS)
                )
                counts = [int(asked.get("Attributes", {}).get(name, 0)) for name in _COUNTS]
                found.append(QueueView(str(url).rpartition("/")[2], *counts))
            if not answer.get("NextToken"):
                return sorted(found, key=lambda queue: queue.name)
            page = {"NextToken": answer["NextToken"]}


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """An execution: its name is its mail."""

    mail: str
    status: str
    started_at: float
    ended_at: float | None


async def executions_of(settings: Settings, *, limit: int, status: str | None = None) -> list[ExecutionView]:
    """List executions, newest first."""
    machine = _machine(settings)
    async with open_cloud(settings) as cloud:
        try:
            found = await _executions(cloud, machine, limit, {"statusFilter": status} if status else {})
            if not found:
                await cloud.call("stepfunctions", "describe_state_machine", stateMachineArn=machine)
        except NotFound as error:
            raise NotFound(
                f"there is no state machine {machine}: set [cloud] state_machine_arn to what "
                "`webordinary cloud setup --role ARN` prints, and look at AWS_REGION"
            ) from error
    return found


async def _executions(cloud: Cloud, machine: str, limit: int, page: dict[str, Any]) -> list[ExecutionView]:
    found: list[ExecutionView] = []
    while True:
        page["maxResults"] = min(limit - len(found), EXECUTIONS_PER_PAGE)
        answer = await cloud.call("stepfunctions", "list_executions", stateMachineArn=machine, **page)
        found += [_execution(one) for one in answer["executions"]]
        if len(found) >= limit or not answer.get("nextToken"):
            return found[:limit]
        page["nextToken"] = answer["nextToken"]


def _machine(settings: Settings) -> str:
    if not settings.cloud.state_machine_arn:
        raise BadInput(
            "no state machine is set, so there are no executions: `webordinary cloud setup --role ARN` makes "
            "one, and its name belongs into [cloud] state_machine_arn"
        )
    return settings.cloud.state_machine_arn


def _execution(one: dict[str, Any]) -> ExecutionView:
    stopped = one.get("stopDate")
    ended = stopped.timestamp() if stopped is not None else None
    return ExecutionView(one["name"], one["status"], one["startDate"].timestamp(), ended)


async def execution_of(settings: Settings, mail: str) -> dict[str, Any] | None:
    """Tell how the execution of a mail stands; None if there is no state machine."""
    arn = settings.cloud.state_machine_arn
    if not arn:
        return None
    execution = f"{arn.replace(':stateMachine:', ':execution:')}:{mail}"
    async with open_cloud(settings) as cloud:
        answer = await cloud.call("stepfunctions", "describe_execution", executionArn=execution)
    return {name: answer.get(name) for name in ("status", "error", "cause", "output")}


# --- a function of ours ---------------------------------------------------------------------------


async def invoke(settings: Settings, function: str, event: object) -> object:
    """Have a function of the cloud take an event in, and wait for its answer."""
    async with open_cloud(settings) as cloud:
        answer = await cloud.call(
            "lambda", "invoke", FunctionName=function, Payload=json.dumps(event).encode()
        )
        async with answer["Payload"] as body:
            said = bytes(await body.read())[:FUNCTION_ANSWER_BYTES].decode(errors="replace")
    if answer.get("FunctionError"):
        raise BadInput(f"the function {function} failed: {said[:500]}. The mail is in its bucket")
    return json.loads(said) if said else None
