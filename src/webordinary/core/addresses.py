"""Mail addresses: lower case, one @, no name. Which are ours, and which nobody reads."""

from __future__ import annotations

import re

POSTMASTER = "postmaster"  # whoever answers for a mail server; every server has this mailbox

_NOBODY = re.compile(
    r"(?:mailer[-_.]?daemon|post-?master|daemon|(?:no|do[-_.]?not|dont|never)[-_.]?reply|bounces?"
    r"|auto[-_.]?(?:reply|responder|confirm)|mail-?server|majordomo|listserv|root|cron|nobody)(?:[-+=_.].*)?",
    re.IGNORECASE | re.ASCII,
)


def without_tag(address: str) -> str:
    """Give the mailbox of a plus-address: `name+tag@domain` is the mailbox `name@domain`."""
    local, at, domain = address.rpartition("@")
    name = local.partition("+")[0]
    return f"{name}{at}{domain}" if name else address


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


def is_unattended(address: str) -> bool:
    """Say whether an address is called like one that nobody reads. Its owner may still be a person."""
    return _NOBODY.fullmatch(address.rpartition("@")[0]) is not None
