"""Domains and addresses that can be read in one way only. Anything else is no name here.

Names reach us from envelopes, signatures and headers that a stranger wrote. Quotes, brackets, backslashes,
NULs and the like are legal in some of these places, and every known trick lives there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DOMAIN_CHARACTERS_MAX = 253
ADDRESS_CHARACTERS_MAX = 320

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII | re.IGNORECASE)
_SELECTOR = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){0,9}", re.ASCII | re.IGNORECASE)
_LOCAL_PART = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,256}", re.ASCII | re.IGNORECASE)


class Address(NamedTuple):
    """A mail address."""

    local: str
    domain: str  # lower case


def plain_domain(text: str) -> str:
    """Read a domain, lower case; "" if it is none, or not plainly so."""
    if len(text) > DOMAIN_CHARACTERS_MAX or not _DOMAIN.fullmatch(text):
        return ""
    return text.lower()


def plain_selector(text: str) -> str:
    """Read a DKIM selector; "" if it is none, or not plainly so."""
    return text if _SELECTOR.fullmatch(text) else ""


def plain_address(text: str) -> Address | None:
    """Read an address; None if it is none, or not plainly so: no quotes, no routes, no second @."""
    if len(text) > ADDRESS_CHARACTERS_MAX:
        return None
    local, at, domain = text.partition("@")
    if not at or not _LOCAL_PART.fullmatch(local) or not plain_domain(domain):
        return None
    return Address(local, domain.lower())
