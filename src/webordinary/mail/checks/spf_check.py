"""SPF of the MAIL FROM domain, by pyspf, which asks our resolver instead of the network.

Guards around pyspf:
- it splits MAIL FROM at the first @, so that `x@victim.example'@evil.example` is looked up in evil's zone
- with an empty MAIL FROM it silently answers for HELO, a name the client made up
- its lookups are a function of the module, shared by all; here a query brings its own
- its expressions take long on long terms
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import spf  # type: ignore[import-untyped]

from webordinary.core.mail import Envelope
from webordinary.mail.checks.dmarc import organization
from webordinary.mail.checks.headers import Address, plain_address, plain_domain
from webordinary.ports.mail_checks import Spf
from webordinary.ports.resolver import LookupFailed, Resolver

TERM_CHARACTERS_MAX = 300


def check_spf(envelope: Envelope, resolver: Resolver) -> Spf:
    """Ask whether the peer may send mail from the MAIL FROM domain."""
    if not envelope.peer:
        return Spf(note="SPF was not asked: nobody knows which server handed the mail over")
    if not _is_address(envelope.peer):
        note = f"SPF was not asked: {envelope.peer} does not show which server handed the mail over"
        return Spf("permerror", note=note)
    if not envelope.mail_from:
        return Spf(note="SPF says nothing: the mail has a null sender")
    sender = plain_address(envelope.mail_from)
    if sender is None:
        return Spf("permerror", note="SPF was not asked: the MAIL FROM address is not plainly one address")
    return _asked(envelope, sender, resolver)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _asked(envelope: Envelope, sender: Address, resolver: Resolver) -> Spf:
    known = Spf(
        domain=sender.domain,
        organization=organization(sender.domain),
        mailbox=f"{sender.local}@{sender.domain}".lower(),
    )
    try:
        query = _Query(
            i=str(ip_address(envelope.peer)),
            s=f"{sender.local}@{sender.domain}",
            h=plain_domain(envelope.helo) or "unknown",
            resolver=resolver,
        )
        result = str(query.check()[0])
    except Exception:  # noqa: BLE001 - pyspf meets what a stranger publishes; whatever it trips over is no pass
        return replace(known, result="permerror")
    if result == "pass" and _lets_anybody(query.mechanism):
        return replace(known, result="neutral", note=f"SPF of {sender.domain} lets everybody send its mail")
    return replace(known, result=result)


def _lets_anybody(mechanism: object) -> bool:
    """Tell a record that was never meant to say anything: it matches every address there is."""
    return str(mechanism).lower() in {"all", "+all"} or str(mechanism).endswith("/0")


class _Query(spf.query):  # type: ignore[misc]
    """One question, asked of our resolver."""

    def __init__(self, *, i: str, s: str, h: str, resolver: Resolver) -> None:
        super().__init__(i=i, s=s, h=h)
        self._resolver = resolver

    def check0(self, record: str | None, recursion: int) -> Any:  # noqa: ANN401 - as in pyspf
        """Evaluate one record, unless a term is longer than any honest one."""
        if record and max(map(len, record.split(" "))) > TERM_CHARACTERS_MAX:
            raise spf.PermError("a term is too long")
        return super().check0(record, recursion)

    def dns(self, name: object, kind: str, _: object = None, ignore_void: bool = False) -> list[Any]:  # noqa: FBT001, FBT002 - as in pyspf
        """Look a name up, and count the lookups that find nothing, as pyspf does."""
        try:
            found = self._found(str(name).rstrip("."), kind)
        except LookupFailed as error:
            raise spf.TempError(str(error)) from error
        if not found and not ignore_void:
            self.void_lookups += 1
            if self.void_lookups > spf.MAX_VOID_LOOKUPS:
                raise spf.PermError("too many lookups that find nothing")
        return found

    def _found(self, name: str, kind: str) -> list[Any]:
        match kind:
            case "TXT":
                return [(text,) for text in self._resolver.txt(name)]
            case "A":
                return list(self._resolver.a(name))
            case "AAAA":
                return list(self._resolver.aaaa(name))
            case "MX":
                return list(self._resolver.mx(name))
            case "PTR":
                return list(self._resolver.ptr(name))
            case _:
                return []
