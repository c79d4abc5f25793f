"""Members by the address they write from."""

from __future__ import annotations

from webordinary.core.addresses import without_tag
from webordinary.ports.directory import Directory


async def address_on_file(address: str, directory: Directory) -> str:
    """The member's address that another one stands for: `name+tag@domain` is a mailbox of `name@domain`."""
    if without_tag(address) == address or await directory.lanes_of(address):
        return address
    return without_tag(address) if await directory.lanes_of(without_tag(address)) else address


async def is_member(address: str, directory: Directory) -> bool:
    """Say whether somebody may edit anything by mail from this address."""
    return bool(await directory.lanes_of(await address_on_file(address, directory)))
