"""Our values as JSON: as stores keep them and read them back, and as people and scripts are shown them.

A stored field that has its default is not written. So a field that was added since reads as its default in an
older row, and one that is gone is passed over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from webordinary.core.lane import Lane

T = TypeVar("T")


def encode(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """Turn a value into what JSON has."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [encode(one) for one in value]
    if not dataclasses.is_dataclass(value):
        return value
    given = ((name, getattr(value, name), default) for name, default in _defaults(_class_of(value)).items())
    return {name: encode(one) for name, one, default in given if one != default}


def decode(kind: type[T], data: Any) -> T:  # noqa: ANN401 - whatever JSON has
    """Read a value of one of our classes."""
    known: Any = kind
    return cast("T", _reader(known)(data))


def with_text(value: T, change: Callable[[str], str]) -> T:
    """Give a value whose texts, however deep, have been changed."""
    changed: Any = value
    if isinstance(value, str) and not isinstance(value, Enum):
        changed = change(value)
    elif isinstance(value, tuple):
        changed = tuple(with_text(one, change) for one in value)
    elif dataclasses.is_dataclass(value):
        kind = _class_of(value)
        changed = kind(**{name: with_text(getattr(value, name), change) for name in _defaults(kind)})
    return cast("T", changed)


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - any type
    """How a type is read, worked out once: a page reads hundreds of them."""
    if get_origin(kind) is tuple:
        item = _reader(get_args(kind)[0])
        return lambda data: tuple(map(item, data))
    if get_origin(kind) in (Union, UnionType):
        wanted = _reader(next(one for one in get_args(kind) if one is not NoneType))
        return lambda data: None if data is None else wanted(data)
    if not isinstance(kind, type):  # a name of our own for a text
        return _as_it_is
    if dataclasses.is_dataclass(kind):
        fields = {name: _reader(one) for name, one in get_type_hints(kind).items()}
        return lambda data: kind(**{name: fields[name](one) for name, one in data.items() if name in fields})
    return kind if issubclass(kind, Enum) else _as_it_is


def _as_it_is(data: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    return data


def _class_of(value: object) -> type:
    return type(value)


@cache
def _defaults(kind: Any) -> dict[str, object]:  # noqa: ANN401 - of dataclasses, which have no type in common
    return {field.name: field.default for field in dataclasses.fields(kind)}


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
