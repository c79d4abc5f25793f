"""Which addresses are ours: the one mailbox, and its plus-addresses."""

from __future__ import annotations


def is_ours(address: str, ours: str) -> bool:
    """Say whether mail to an address is for us. The case of letters makes no difference."""
    local, at, domain = address.strip().lower().rpartition("@")
    our_local, _, our_domain = ours.lower().rpartition("@")
    return bool(at) and domain == our_domain and (local == our_local or local.startswith(f"{our_local}+"))
