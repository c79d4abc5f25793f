"""Mail addresses: lower case, one @, no name."""

from __future__ import annotations


def without_tag(address: str) -> str:
    """Give the mailbox of a plus-address: `name+tag@domain` is the mailbox `name@domain`."""
    local, at, domain = address.rpartition("@")
    name = local.partition("+")[0]
    return f"{name}{at}{domain}" if name else address
