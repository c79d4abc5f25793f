"""What dnspython finds, as plain values; shared by the resolvers that use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import dns.exception
import dns.name
import dns.rdata
import dns.rdatatype
import dns.rdtypes.ANY.MX
import dns.rdtypes.ANY.PTR
import dns.rdtypes.ANY.TXT
import dns.rdtypes.IN.A
import dns.rdtypes.IN.AAAA

RECORDS_MAX = 100


def question(name: str) -> dns.name.Name | None:
    """Make a name out of text in which only dots are special; None if it can't be one.

    `dns.name.from_text` is not used: it knows escapes, so that text of a stranger could become another name.
    """
    if not name.isascii() or any(character < " " or character == "\x7f" for character in name):
        return None
    try:
        return dns.name.Name([*(label.encode("ascii") for label in name.removesuffix(".").split(".")), b""])
    except dns.exception.DNSException:
        return None


def readable(found: Iterable[dns.rdata.Rdata]) -> list[dns.rdata.Rdata]:
    """Keep a bounded number of records, in an order that does not change from answer to answer."""
    return sorted(found, key=lambda record: record.to_text())[:RECORDS_MAX]


class Answers(ABC):
    """The verbs of `Resolver`, on top of one that asks for records."""

    @abstractmethod
    def _ask(self, name: str, kind: dns.rdatatype.RdataType) -> list[dns.rdata.Rdata]:
        """Find records, following aliases; raise `LookupFailed` if nobody knows just now."""

    def txt(self, name: str) -> list[bytes]:
        """See `Resolver.txt`."""
        found = self._ask(name, dns.rdatatype.TXT)
        return [b"".join(one.strings) for one in found if isinstance(one, dns.rdtypes.ANY.TXT.TXT)]

    def a(self, name: str) -> list[str]:
        """See `Resolver.a`."""
        found = self._ask(name, dns.rdatatype.A)
        return [one.address for one in found if isinstance(one, dns.rdtypes.IN.A.A)]

    def aaaa(self, name: str) -> list[str]:
        """See `Resolver.aaaa`."""
        found = self._ask(name, dns.rdatatype.AAAA)
        return [one.address for one in found if isinstance(one, dns.rdtypes.IN.AAAA.AAAA)]

    def mx(self, name: str) -> list[tuple[int, str]]:
        """See `Resolver.mx`."""
        found = self._ask(name, dns.rdatatype.MX)
        return [
            (one.preference, _text(one.exchange)) for one in found if isinstance(one, dns.rdtypes.ANY.MX.MX)
        ]

    def ptr(self, name: str) -> list[str]:
        """See `Resolver.ptr`."""
        found = self._ask(name, dns.rdatatype.PTR)
        return [_text(one.target) for one in found if isinstance(one, dns.rdtypes.ANY.PTR.PTR)]


def _text(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True)
