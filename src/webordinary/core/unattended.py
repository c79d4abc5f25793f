"""Addresses that, by their name, nobody reads."""

from __future__ import annotations

import re

_NOBODY = re.compile(
    r"(?:mailer[-_.]?daemon|post-?master|daemon|(?:no|do[-_.]?not|dont|never)[-_.]?reply|bounces?"
    r"|auto[-_.]?(?:reply|responder|confirm)|mail-?server|majordomo|listserv|root|cron|nobody)(?:[-+=_.].*)?",
    re.IGNORECASE | re.ASCII,
)


def is_unattended(address: str) -> bool:
    """Say whether an address is called like one that nobody reads. Its owner may still be a person."""
    return _NOBODY.fullmatch(address.rpartition("@")[0]) is not None
