"""The OpenAPI document, with schemas of what `core.to_json` makes of our types."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from starlette.requests import Request
from starlette.responses import Response

from webordinary import __version__
from webordinary.core.job import JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import MailState
from webordinary.dashboard.live import NUMBER_MAX
from webordinary.dashboard.query_params import CURSOR_CHARACTERS, PAGE, PAGE_MAX, WAIT_SECONDS_MAX

Schema = Mapping[str, object]

_SIMPLE: Mapping[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of(kind: object) -> Schema:
    """Describe what `plain` makes of a value of this type."""
    if kind is types.NoneType:
        return {"type": "null"}
    while isinstance(kind, typing.NewType):
        kind = kind.__supertype__
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if kind is Lane:
        return {"type": "string", "examples": ["amelia/scott"]}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [one.value for one in kind]}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return shape({field.name: schema_of(hints[field.name]) for field in dataclasses.fields(kind)})
    return _of_generic(typing.get_origin(kind), typing.get_args(kind))


def _of_generic(origin: object, given: Sequence[object]) -> Schema:
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [schema_of(one) for one in given]}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(given[0])}
    assert origin is dict, origin
    return {"type": "object", "additionalProperties": schema_of(given[1])}


def shape(properties: Mapping[str, Schema]) -> Schema:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


Endpoint = Callable[[Request], Awaitable[Response]]

ERROR = shape({"error": {"type": "string"}, "kind": {"type": "string"}})
REFUSALS = {
    400: "Something in the request breaks a rule; `error` says which.",
    401: "The token is missing or wrong.",
    403: "What was asked is no allowed move from its state, or another site asked for it.",
    404: "There is no such thing.",
    503: "The store did not answer; asking again is safe.",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing the API can be asked."""

    method: str
    path: str
    summary: str
    answer: Schema
    endpoint: Endpoint
    query: Sequence[str] = ()
    body: Mapping[str, Schema] = field(default_factory=dict)
    body_required: Sequence[str] = ()

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.method == "post"

    @property
    def name(self) -> str:
        """A name for generated clients."""
        return re.sub(r"\W+", "_", f"{self.method} {self.path}").strip("_")


_TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": CURSOR_CHARACTERS}
QUERY: Mapping[str, tuple[str, Schema]] = {
    "limit": (
        "How many items at most.",
        {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE},
    ),
    "before": ("Go on before this item: what the page before gave as next.", _TEXT),
    "after": (
        "Go on after this lane: what the page before gave as next.",
        {**_TEXT, "examples": ["amelia/scott"]},
    ),
    "busy": (
        "Only lanes that have an open job or a live owner.",
        {"type": "string", "enum": ["true", "false"]},
    ),
    "lane": ("Only this lane, written PROJECT/USER.", {**_TEXT, "examples": ["amelia/scott"]}),
    "about": ("Only letters about this job or mail.", _TEXT),
    "job_state": ("Only jobs in this state.", {"type": "string", "enum": [one.value for one in JobState]}),
    "mail_state": ("Only mails in this state.", {"type": "string", "enum": [one.value for one in MailState]}),
    "number": (
        "Go on after the event of this number.",
        {"type": "integer", "minimum": 0, "maximum": NUMBER_MAX},
    ),
    "wait": (
        "Wait so many seconds for an event, if there is none.",
        {"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX},
    ),
}
# The same word means different things for different lists.
CALLED = {"job_state": "state", "mail_state": "state", "number": "after"}

_PATH: Mapping[str, Schema] = {
    "project": {"type": "string", "minLength": 1, "description": "The lane's project, for example amelia."},
    "user": {"type": "string", "minLength": 1, "description": "The lane's user, for example scott."},
    "job": {"type": "string", "minLength": 1, "description": "Its id; a unique beginning is enough."},
}


def page_schema(item: Schema) -> Schema:
    """A page of a list."""
    return shape(
        {
            "items": {"type": "array", "items": item},
            "next": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        }
    )


def document(operations: Sequence[Operation]) -> dict[str, object]:
    """Describe all operations."""
    paths: dict[str, dict[str, object]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Webordinary",
            "version": __version__,
            "description": "Who owns what, what waits and why. Reading is open on this machine; "
            "changing anything needs the token that `webordinary up` prints.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": ERROR},
        },
    }


def _described(operation: Operation) -> dict[str, object]:
    described: dict[str, object] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": {
            "200": _json("What was asked for.", operation.answer),
            **{
                str(status): _refusal(summary)
                for status, summary in REFUSALS.items()
                if _may(operation, status)
            },
        },
    }
    if operation.writes:
        described["security"] = [{"token": []}]
        schema = {**shape(operation.body), "required": list(operation.body_required)}
        described["requestBody"] = {
            "required": bool(operation.body_required),
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _may(operation: Operation, status: int) -> bool:
    return operation.writes or status not in (401, 403)


def parameters(operation: Operation) -> list[dict[str, object]]:
    """Everything that stands in the address."""
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": _PATH[name]}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    in_query = [
        {
            "name": CALLED.get(name, name),
            "in": "query",
            "required": False,
            "description": QUERY[name][0],
            "schema": QUERY[name][1],
        }
        for name in operation.query
    ]
    return [*in_path, *in_query]


def _json(summary: str, schema: Schema) -> dict[str, object]:
    return {"description": summary, "content": {"application/json": {"schema": schema}}}


def _refusal(summary: str) -> dict[str, object]:
    return _json(summary, {"$ref": "#/components/schemas/Error"})
