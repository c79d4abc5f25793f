"""Hypothesis strategies for values of our own classes, every field filled in."""

import dataclasses
from enum import Enum
from types import NoneType, UnionType
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st


def any_value(kind: Any, text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any type
    """Values of a type, with texts that this strategy gives."""
    while isinstance(kind, NewType):
        kind = kind.__supertype__
    if get_origin(kind) is tuple:
        return st.lists(any_value(get_args(kind)[0], text), max_size=2).map(tuple)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of([any_value(one, text) for one in get_args(kind)])
    if kind is NoneType:
        return st.none()
    if kind is str:
        return text
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{name: any_value(hint, text) for name, hint in hints.items()})
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    return st.integers(0, 10**9) if kind is int else st.from_type(kind)
