"""DynamoDB in plain values: items are dictionaries, conditions are what an item must say."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.values import Item, pack, packed, unpacked
from webordinary.core.errors import BackendUnavailable
from webordinary.ports.clock import Clock

ABSENT = object()  # in a condition: the item has no such attribute (or there is no such item)

GET_AT_ONCE = 100  # what the cloud allows in one call; the same for the next
WRITE_AT_ONCE = 100
UNPROCESSED_PAUSE_SECONDS = 0.05
UNPROCESSED_ATTEMPTS = 10

Condition = Mapping[str, object]
Key = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Put:
    """Write an item as a whole."""

    table: str
    item: Item
    where: Condition = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an item."""

    table: str
    key: Key
    where: Condition = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """Write nothing here; but the rest only if this holds."""

    table: str
    key: Key
    where: Condition


Write = Put | Delete | Check


@dataclass(frozen=True, slots=True)
class Where:
    """Which items of a table or of an index: one partition, perhaps a part of it."""

    table: str
    partition: tuple[str, str]
    index: str | None = None
    sort: tuple[str, str, object] | None = None  # attribute, one of < <= > >= begins_with, value
    newest_first: bool = False


class Dynamo:
    """Tables. Reads of a table are strongly consistent; reads of an index can't be, and are hints."""

    def __init__(self, cloud: Cloud, clock: Clock) -> None:
        """Use the tables of an account."""
        self._cloud, self._clock = cloud, clock

    # --- reading ----------------------------------------------------------------------------------

    async def get(self, table: str, key: Key) -> Item | None:
        """Read one item."""
        answer = await self._call("get_item", TableName=table, Key=packed(dict(key)), ConsistentRead=True)
        return unpacked(answer["Item"]) if "Item" in answer else None

    async def get_many(self, wanted: Mapping[str, Sequence[Key]]) -> dict[str, list[Item]]:
        """Read items of several tables, in no order; those that are not there are left out.

        Each once, however often it is named: a row that moves between two looks at an index is in both, and
        the service refuses a call that names a key twice.
        """
        once = {(table, *sorted(key.items())): (table, key) for table, keys in wanted.items() for key in keys}
        flat = list(once.values())
        found: dict[str, list[Item]] = {table: [] for table in wanted}
        for start in range(0, len(flat), GET_AT_ONCE):
            await self._get_batch(flat[start : start + GET_AT_ONCE], found)
        return found

    async def _get_batch(self, flat: Sequence[tuple[str, Key]], found: dict[str, list[Item]]) -> None:
        asked: dict[str, Any] = {}
        for table, key in flat:
            asked.setdefault(table, {"Keys": [], "ConsistentRead": True})["Keys"].append(packed(dict(key)))
        for _ in range(UNPROCESSED_ATTEMPTS):
            answer = await self._call("batch_get_item", RequestItems=asked)
            for table, items in answer.get("Responses", {}).items():
                found[table] += [unpacked(item) for item in items]
            asked = answer.get("UnprocessedKeys", {})
            if not asked:
                return
            await self._clock.sleep(UNPROCESSED_PAUSE_SECONDS)
        raise BackendUnavailable("the cloud asks us to slow down while reading; the call may be repeated")

    async def query(self, where: Where, *, limit: int | None = None) -> list[Item]:
        """Read items in the order of their sort key."""
        found: list[Item] = []
        parameters = _query(where)
        while True:
            if limit is not None:
                parameters["Limit"] = limit - len(found)
            answer = await self._call("query", **parameters)
            found += [unpacked(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer or (limit is not None and len(found) >= limit):
                return found
            parameters["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    async def scan(self, table: str, *, index: str | None = None, only: Sequence[str] = ()) -> list[Item]:
        """Read a whole (small) table or sparse index."""
        found: list[Item] = []
        parameters: dict[str, Any] = {"TableName": table}
        if index is None:
            parameters["ConsistentRead"] = True
        else:
            parameters["IndexName"] = index
        if only:
            names = {f"#p{number}": name for number, name in enumerate(only)}
            parameters |= {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
        while True:
            answer = await self._call("scan", **parameters)
            found += [unpacked(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found
            parameters["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    # --- writing ----------------------------------------------------------------------------------

    async def put(self, table: str, item: Item, where: Condition | None = None) -> None:
        """Write an item as a whole; `ChangedMeanwhile` if the condition does not hold."""
        await self._call("put_item", TableName=table, Item=packed(item), **_condition(where or {}))

    async def delete(self, table: str, key: Key, where: Condition | None = None) -> None:
        """Remove an item; `ChangedMeanwhile` if the condition does not hold."""
        await self._call("delete_item", TableName=table, Key=packed(dict(key)), **_condition(where or {}))

    async def update(
        self,
        table: str,
        key: Key,
        *,
        put: Item,
        add: Mapping[str, int] | None = None,
        remove: Iterable[str] = (),
        where: Condition,
    ) -> Item:
        """Change attributes of an item and read it as it is then; `ChangedMeanwhile` like above."""
        parameters = _condition(where)
        names: dict[str, str] = parameters.get("ExpressionAttributeNames", {})
        values: dict[str, Any] = parameters.get("ExpressionAttributeValues", {})
        clauses = []
        for verb, glue, changes in (("SET", " = ", put), ("ADD", " ", add or {})):
            parts: list[str] = []
            for name, value in changes.items():
                mark = f"{verb.lower()}{len(parts)}"
                names[f"#{mark}"], values[f":{mark}"] = name, pack(value)
                parts.append(f"#{mark}{glue}:{mark}")
            if parts:
                clauses.append(f"{verb} {', '.join(parts)}")
        removed = {f"#r{number}": name for number, name in enumerate(remove)}
        if removed:
            names |= removed
            clauses.append(f"REMOVE {', '.join(removed)}")
        parameters |= {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
        answer = await self._call(
            "update_item",
            TableName=table,
            Key=packed(dict(key)),
            UpdateExpression=" ".join(clauses),
            ReturnValues="ALL_NEW",
            **parameters,
        )
        return unpacked(answer["Attributes"])

    async def transact(self, writes: Sequence[Write], token: str) -> None:
        """Write all or nothing. A repetition with the same token writes nothing twice."""
        assert len(writes) <= WRITE_AT_ONCE
        await self._call(
            "transact_write_items",
            TransactItems=[_write(write) for write in writes],
            ClientRequestToken=token,
        )

    async def _call(self, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        return await self._cloud.call("dynamodb", operation, **parameters)


def _query(where: Where) -> dict[str, Any]:
    attribute, value = where.partition
    names, values = {"#k": attribute}, {":k": pack(value)}
    expression = "#k = :k"
    if where.sort is not None:
        names["#s"], operator, values[":s"] = where.sort[0], where.sort[1], pack(where.sort[2])
        begins = operator == "begins_with"
        expression += " AND begins_with(#s, :s)" if begins else f" AND #s {operator} :s"
    parameters: dict[str, Any] = {
        "TableName": where.table,
        "KeyConditionExpression": expression,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ScanIndexForward": not where.newest_first,
    }
    if where.index is None:
        parameters["ConsistentRead"] = True
    else:
        parameters["IndexName"] = where.index
    return parameters


def _condition(where: Condition) -> dict[str, Any]:
    """All of it must hold."""
    parts, names, values = [], {}, {}
    for number, (name, value) in enumerate(where.items()):
        names[f"#c{number}"] = name
        if value is ABSENT:
            parts.append(f"attribute_not_exists(#c{number})")
        else:
            parts.append(f"#c{number} = :c{number}")
            values[f":c{number}"] = pack(value)
    if not parts:
        return {}
    parameters = {"ConditionExpression": " AND ".join(parts), "ExpressionAttributeNames": names}
    return parameters | ({"ExpressionAttributeValues": values} if values else {})


def _write(write: Write) -> dict[str, Any]:
    match write:
        case Put(table, item, where):
            return {"Put": {"TableName": table, "Item": packed(item), **_condition(where)}}
        case Delete(table, key, where):
            return {"Delete": {"TableName": table, "Key": packed(dict(key)), **_condition(where)}}
        case Check(table, key, where):
            return {"ConditionCheck": {"TableName": table, "Key": packed(dict(key)), **_condition(where)}}


def new_token() -> str:
    """Name a write, so that it can be told from all others."""
    return uuid.uuid4().hex
