"""Lists of `tag=value` pairs, as in DKIM signatures, DKIM keys and DMARC records."""

from __future__ import annotations

import re

_TAG = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII | re.IGNORECASE)
_SPACE = " \t\r\n"


def read_tags(text: str) -> dict[str, str] | None:
    """Read a list; None if it is none, or if a tag is there twice. A last semicolon is fine."""
    found: dict[str, str] = {}
    parts = text.strip(_SPACE).removesuffix(";").split(";")
    for part in parts:
        tag, equals, value = part.partition("=")
        tag = tag.strip(_SPACE)
        if not equals or not _TAG.fullmatch(tag) or tag in found:
            return None
        found[tag] = value.strip(_SPACE)
    return found
