"""What `core.plain` makes of our types, described for those who read the API."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum

from webordinary.core.lane import Lane

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
