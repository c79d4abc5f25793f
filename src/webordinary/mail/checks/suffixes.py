"""Organizational domains, by the public suffix list as it was when the requirements were last locked.

Private suffixes count too: two customers of one hosting provider are two organizations.
"""

from __future__ import annotations

from functools import cache

from publicsuffixlist import PublicSuffixList


def organization(domain: str) -> str:
    """Name the organizational domain: one label more than the public suffix; a suffix stands for itself."""
    return str(_list().privatesuffix(domain) or domain)


@cache
def _list() -> PublicSuffixList:
    return PublicSuffixList()
