"""The tables, their keys and their indexes; and how they come into being."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.settings import AwsSettings
from webordinary.core.errors import BackendUnavailable
from webordinary.ports.clock import Clock

# Indexes are read as hints: every decision reads the table itself. Most hold keys only, so that they cost
# a write only when a key changes.
OWNER_INDEX = "containerId-index"  # of lanes that have an owner
WANTED_INDEX = "wanted-index"  # of lanes with a claim request, oldest first
BUSY_INDEX = "busy-index"  # of lanes with work, and of those with an owner and none
NAME_INDEX = "name-index"  # of all lanes, by name
STATE_INDEX = "state-index"  # of jobs (and of mails) by state, in their order
LANE_INDEX = "lane-index"  # of jobs by lane, in their order
ID_INDEX = "id-index"  # of jobs by the beginning of their id
TIME_INDEX = "time-index"  # of everything that happened, in its order
DUE_INDEX = "due-index"  # of letters and callbacks that are owed, longest due first
ORDER_INDEX = "order-index"  # of letters, in the order in which they were owed

READY_SECONDS = 60.0
READY_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class TableIndex:
    """A second way into a table; an item without these attributes is not in it."""

    name: str
    partition: str
    sort: str
    number: bool = False  # whether the sort key is one
    whole: bool = False  # whether it holds the items as a whole


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its keys, its indexes, and the attribute that says when an item may go."""

    name: str
    partition: str
    sort: str | None = None
    indexes: tuple[TableIndex, ...] = ()
    ttl: str | None = None


def tables(settings: AwsSettings) -> tuple[Table, ...]:
    """All of them. No lane ever expires: its fence must outlive whoever held it."""
    return (
        Table(
            settings.lanes,
            "projectKey",
            indexes=(
                TableIndex(OWNER_INDEX, "containerId", "projectKey"),
                TableIndex(WANTED_INDEX, "wanted", "wantedSince", number=True),
                TableIndex(BUSY_INDEX, "busy", "projectKey"),
                TableIndex(NAME_INDEX, "all", "projectKey"),
            ),
        ),
        Table(settings.active, "projectKey"),
        Table(settings.projects, "projectId", "item"),
        Table(
            settings.jobs,
            "jobId",
            "part",
            indexes=(
                TableIndex(STATE_INDEX, "state", "order"),
                TableIndex(LANE_INDEX, "lane", "order"),
                TableIndex(ID_INDEX, "all", "jobId"),
            ),
        ),
        Table(
            settings.ledger,
            "projectKey",
            "entry",
            indexes=(TableIndex(TIME_INDEX, "all", "order", whole=True),),
        ),
        Table(settings.sessions, "key", indexes=(TableIndex(STATE_INDEX, "state", "order"),)),
        Table(
            settings.outbox,
            "about",
            "kind",
            indexes=(
                TableIndex(DUE_INDEX, "owed", "due"),
                TableIndex(ORDER_INDEX, "all", "order"),
            ),
        ),
        Table(settings.workers, "containerId", ttl="ttl"),
        Table(settings.quotas, "key", ttl="ttl"),
    )


async def create_tables(cloud: Cloud, settings: AwsSettings, clock: Clock) -> None:
    """Create what is not there yet; safe to repeat, and to do from two places at once."""
    await asyncio.gather(*(_create(cloud, table, clock) for table in tables(settings)))


async def missing_tables(cloud: Cloud, settings: AwsSettings) -> list[str]:
    """Name the tables that are not there or can't be used yet."""
    names = [table.name for table in tables(settings)]
    there = await asyncio.gather(*(_is_ready(cloud, name) for name in names))
    return [name for name, ready in zip(names, there, strict=True) if not ready]


async def _create(cloud: Cloud, table: Table, clock: Clock) -> None:
    try:
        await cloud.call("dynamodb", "create_table", **_description(table))
    except BackendUnavailable as error:
        if not _says(error, "ResourceInUseException"):
            raise
    deadline = clock.monotonic() + READY_SECONDS
    while not await _is_ready(cloud, table.name):
        if clock.monotonic() > deadline:
            raise BackendUnavailable(f"the table {table.name} is still being created; try again in a minute")
        await clock.sleep(READY_PAUSE_SECONDS)
    if table.ttl is not None:
        await _expire(cloud, table.name, table.ttl)


async def _expire(cloud: Cloud, table: str, attribute: str) -> None:
    answer = await cloud.call("dynamodb", "describe_time_to_live", TableName=table)
    if answer["TimeToLiveDescription"]["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
        return
    await cloud.call(
        "dynamodb",
        "update_time_to_live",
        TableName=table,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute},
    )


async def _is_ready(cloud: Cloud, table: str) -> bool:
    try:
        answer = await cloud.call("dynamodb", "describe_table", TableName=table)
    except BackendUnavailable as error:
        if _says(error, "ResourceNotFoundException"):
            return False
        raise
    return bool(answer["Table"]["TableStatus"] == "ACTIVE")


def _says(error: BackendUnavailable, code: str) -> bool:
    cause = error.__cause__
    return isinstance(cause, ClientError) and cause.response.get("Error", {}).get("Code") == code


def _description(table: Table) -> dict[str, Any]:
    kinds = {table.partition: "S"} | ({table.sort: "S"} if table.sort else {})
    for index in table.indexes:
        kinds |= {index.partition: "S", index.sort: "N" if index.number else "S"}
    described: dict[str, Any] = {
        "TableName": table.name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()
        ],
        "KeySchema": _keys(table.partition, table.sort),
    }
    if table.indexes:
        described["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index.name,
                "KeySchema": _keys(index.partition, index.sort),
                "Projection": {"ProjectionType": "ALL" if index.whole else "KEYS_ONLY"},
            }
            for index in table.indexes
        ]
    return described


def _keys(partition: str, sort: str | None) -> list[dict[str, str]]:
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    return [*keys, {"AttributeName": sort, "KeyType": "RANGE"}] if sort else keys
