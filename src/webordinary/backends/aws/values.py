"""Plain Python values as DynamoDB writes them, and long texts in as little room as they need."""

from __future__ import annotations

import zlib
from typing import Any

Item = dict[str, Any]  # attribute -> str, int, float, bool, bytes, list, dict

LONG_BYTES = 2_000  # from here on a text is worth compressing: writes are paid by the kilobyte


def packed(item: Item) -> dict[str, Any]:
    """Write an item; what is None is left out."""
    return {name: pack(value) for name, value in item.items() if value is not None}


def unpacked(item: dict[str, Any]) -> Item:
    """Read an item."""
    return {name: unpack(value) for name, value in item.items()}


def pack(value: object) -> dict[str, Any]:
    """Write one value."""
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": str(value)}  # of an enum, too
        case int() | float():
            return {"N": repr(value)}
        case bytes():
            return {"B": value}
        case list() | tuple():
            return {"L": [pack(one) for one in value]}
        case dict():
            return {"M": packed(value)}
        case _:
            raise TypeError(f"{type(value).__name__} can't be kept in a table")


def unpack(value: dict[str, Any]) -> Any:  # noqa: ANN401 - a table keeps values of all kinds
    """Read one value."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return float(content) if set(content) & set(".eE") else int(content)
        case "L":
            return [unpack(one) for one in content]
        case "M":
            return unpacked(content)
        case "B":
            return bytes(content)
        case _:
            return content


def shortened(text: str) -> str | bytes:
    """Write a text, compressed if it is long."""
    raw = text.encode()
    return text if len(raw) <= LONG_BYTES else zlib.compress(raw)


def lengthened(text: str | bytes) -> str:
    """Read such a text."""
    return zlib.decompress(text).decode() if isinstance(text, bytes) else text
