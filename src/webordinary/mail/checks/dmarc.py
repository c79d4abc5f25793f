"""DMARC: what a domain, else its organization, publishes about mail in its name.

Organizations are found by the public suffix list as it was when the requirements were last locked. Private
suffixes count too: two customers of one hosting provider are two organizations.
"""

from __future__ import annotations

from functools import cache

from publicsuffixlist import PublicSuffixList

from webordinary.ports.mail_checks import Dmarc
from webordinary.ports.resolver import LookupFailed, Resolver


def organization(domain: str) -> str:
    """Name the organizational domain: one label more than the public suffix; a suffix stands for itself."""
    return str(_list().privatesuffix(domain) or domain)


@cache
def _list() -> PublicSuffixList:
    return PublicSuffixList()


POLICIES = ("none", "quarantine", "reject")


def dmarc_of(domain: str, resolver: Resolver) -> Dmarc:
    """Find the record of a domain, else that of its organization."""
    above = organization(domain)
    try:
        record = _record(domain, resolver)
        if record is None and above != domain:
            record = _record(above, resolver)
            return _meaning(record, policy_tag="sp") if record else Dmarc()
    except LookupFailed:
        return Dmarc(known=False)
    return _meaning(record, policy_tag="p") if record else Dmarc()


def _record(domain: str, resolver: Resolver) -> dict[str, str] | None:
    """Read the one DMARC record there; two are none (RFC 7489, 6.6.3)."""
    texts = (text.decode("ascii", "replace") for text in resolver.txt(f"_dmarc.{domain}"))
    records = [record for text in texts if (record := _tags(text)).get("v") == "DMARC1"]
    return records[0] if len(records) == 1 else None


def _tags(text: str) -> dict[str, str]:
    """Read a record; what is no tag is skipped, for the rest may still ask for strictness."""
    version, _, rest = text.partition(";")
    if version.replace(" ", "") != "v=DMARC1":
        return {}
    tags = {"v": "DMARC1"}
    for part in rest.split(";"):
        tag, equals, value = part.partition("=")
        if equals:
            tags.setdefault(tag.strip().lower(), value.strip())
    return tags


def _meaning(record: dict[str, str], *, policy_tag: str) -> Dmarc:
    policy = record.get(policy_tag, record.get("p", "")).lower()
    return Dmarc(
        policy=policy if policy in POLICIES else "none",
        strict_dkim=record.get("adkim", "r").lower() == "s",
        strict_spf=record.get("aspf", "r").lower() == "s",
    )
