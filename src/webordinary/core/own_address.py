"""Which addresses are ours: the one mailbox, its aliases, and the plus-addresses of each."""

from __future__ import annotations

from webordinary.core.mail import POSTMASTER


def is_ours(address: str, *ours: str) -> bool:
    """Say whether mail to an address is for us. The case of letters makes no difference."""
    local, at, domain = address.strip().lower().rpartition("@")
    own = [one.lower().rpartition("@") for one in ours]
    return bool(at) and any(
        domain == our_domain and (local == our_local or local.startswith(f"{our_local}+"))
        for our_local, _, our_domain in own
    )


def lives_here(address: str, *ours: str) -> bool:
    """The same, or whether it is for whoever answers for this server (RFC 5321, 4.5.1)."""
    postmasters = {POSTMASTER, *(f"{POSTMASTER}@{one.lower().rpartition('@')[2]}" for one in ours)}
    return is_ours(address, *ours) or address.strip().lower() in postmasters
