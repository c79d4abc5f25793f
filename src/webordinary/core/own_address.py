"""Which addresses are ours: the one mailbox, and its plus-addresses."""

from __future__ import annotations

from webordinary.core.mail import POSTMASTER


def is_ours(address: str, ours: str) -> bool:
    """Say whether mail to an address is for us. The case of letters makes no difference."""
    local, at, domain = address.strip().lower().rpartition("@")
    our_local, _, our_domain = ours.lower().rpartition("@")
    return bool(at) and domain == our_domain and (local == our_local or local.startswith(f"{our_local}+"))


def lives_here(address: str, ours: str) -> bool:
    """The same, or whether it is for whoever answers for this server (RFC 5321, 4.5.1)."""
    domain = ours.lower().rpartition("@")[2]
    return is_ours(address, ours) or address.strip().lower() in (POSTMASTER, f"{POSTMASTER}@{domain}")
