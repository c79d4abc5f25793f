"""Our values as what JSON has: fields by their names, a lane as people write it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum

from webordinary.core.lane import Lane


def to_json(value: object) -> object:
    """Turn a value into what JSON has."""
    match value:
        case Lane():
            return str(value)
        case Enum():
            return value.value
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case Mapping():
            return {str(to_json(key)): to_json(item) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
        case _:
            return value


def fields(value: object) -> dict[str, object]:
    """Turn one of our dataclasses into a JSON object."""
    result = to_json(value)
    assert isinstance(result, dict)
    return result
