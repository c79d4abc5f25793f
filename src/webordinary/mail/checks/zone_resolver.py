"""A resolver that reads a zone file: for tests and try-outs, where nobody may ask the network."""

from __future__ import annotations

from collections.abc import Iterable

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.zone

from webordinary.mail.checks.dns_answers import Answers, question, readable

CNAMES_MAX = 8


class ZoneResolver(Answers):
    """Answers from the text of a zone in master-file format; names are complete, so `$ORIGIN` is the root."""

    def __init__(self, text: str) -> None:
        """Read a zone."""
        self._zone = dns.zone.from_text(text, origin=dns.name.root, relativize=False, check_origin=False)

    def _ask(self, name: str, kind: dns.rdatatype.RdataType) -> list[dns.rdata.Rdata]:
        asked = question(name)
        for _ in range(CNAMES_MAX):
            if asked is None:
                break
            if found := self._records(asked, kind):
                return readable(found)
            aliases = self._records(asked, dns.rdatatype.CNAME)
            asked = dns.name.from_text(aliases[0].to_text()) if aliases else None
        return []

    def _records(self, name: dns.name.Name, kind: dns.rdatatype.RdataType) -> list[dns.rdata.Rdata]:
        found: Iterable[dns.rdata.Rdata] | None = self._zone.get_rdataset(name, kind)
        return list(found or ())
