"""Our values as what JSON has: fields by their names, a lane as people write it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from functools import cache

from webordinary.core.lane import Lane

_AS_THEY_ARE = frozenset({str, int, float, bool, type(None)})


def to_json(value: object) -> object:
    """Turn a value into what JSON has."""
    kind: type = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if (names := _field_names(kind)) is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    match value:
        case Lane():
            return str(value)
        case Enum():
            return value.value
        case Mapping():
            return {str(to_json(key)): to_json(item) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
        case _:
            return value


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    if kind is Lane or not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


def fields(value: object) -> dict[str, object]:
    """Turn one of our dataclasses into a JSON object."""
    result = to_json(value)
    assert isinstance(result, dict)
    return result
