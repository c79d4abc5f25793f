"""Resolvers: the network, a zone file for try-outs, and a limit on what one mail may ask of either."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.ANY.MX
import dns.rdtypes.ANY.PTR
import dns.rdtypes.ANY.TXT
import dns.rdtypes.IN.A
import dns.rdtypes.IN.AAAA
import dns.resolver
import dns.zone

from webordinary.ports.resolver import LookupFailed, Resolver

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


LOOKUP_SECONDS = 4.0  # for one name, over all servers and retries
REMEMBERED_NAMES_MAX = 2000
REMEMBERED_BYTES_MAX = 8192  # of one answer; a larger one is used, and forgotten
REMEMBERED_SECONDS_MAX = 600.0
NOTHING_SECONDS = 60.0  # how long it is remembered that there is nothing


@dataclass(frozen=True, slots=True)
class _Remembered:
    records: list[dns.rdata.Rdata]
    until: float


class LiveResolver(Answers):
    """Asks the DNS. May be used by several threads at once."""

    def __init__(
        self,
        servers: Sequence[str] = (),
        *,
        port: int = 53,
        seconds: float = LOOKUP_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask these servers; if none are named, those that this machine is configured with."""
        self._dns = dns.resolver.Resolver(configure=not servers)
        if servers:
            self._dns.nameservers = list(servers)
            self._dns.port = port
        self._seconds, self._monotonic = seconds, monotonic
        self._memory: OrderedDict[tuple[dns.name.Name, dns.rdatatype.RdataType], _Remembered] = OrderedDict()
        self._lock = threading.Lock()

    def _ask(self, name: str, kind: dns.rdatatype.RdataType) -> list[dns.rdata.Rdata]:
        asked = question(name)
        if asked is None:
            return []
        with self._lock:
            remembered = self._memory.get((asked, kind))
            if remembered is not None and remembered.until > self._monotonic():
                self._memory.move_to_end((asked, kind))
                return remembered.records
        records, seconds = self._asked(asked, kind)
        self._remember((asked, kind), _Remembered(records, self._monotonic() + seconds))
        return records

    def _asked(
        self, name: dns.name.Name, kind: dns.rdatatype.RdataType
    ) -> tuple[list[dns.rdata.Rdata], float]:
        """Ask the servers; say for how long the answer may be remembered."""
        try:
            answer = self._dns.resolve(
                name, kind, search=False, lifetime=self._seconds, raise_on_no_answer=False
            )
        except dns.resolver.NXDOMAIN:
            return [], NOTHING_SECONDS
        except dns.exception.DNSException as error:
            raise LookupFailed(f"no answer about {name}: {type(error).__name__}") from error
        if answer.rrset is None:
            return [], NOTHING_SECONDS
        return readable(answer.rrset), min(answer.rrset.ttl, REMEMBERED_SECONDS_MAX)

    def _remember(self, key: tuple[dns.name.Name, dns.rdatatype.RdataType], remembered: _Remembered) -> None:
        if sum(len(record.to_text()) for record in remembered.records) > REMEMBERED_BYTES_MAX:
            return
        with self._lock:
            self._memory[key] = remembered
            self._memory.move_to_end(key)
            while len(self._memory) > REMEMBERED_NAMES_MAX:
                self._memory.popitem(last=False)


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


TEXT_BYTES_MAX = 4096  # of one TXT record; longer ones make libraries work hard, and nobody honest needs them
ANSWERS_MAX = 50

T = TypeVar("T")


class LookupBudget:
    """A resolver for one mail: so many lookups, until then."""

    def __init__(
        self, resolver: Resolver, *, lookups: int, until: float, monotonic: Callable[[], float]
    ) -> None:
        """Pass lookups on to this resolver."""
        self._resolver, self._left, self._until, self._monotonic = resolver, lookups, until, monotonic

    def txt(self, name: str) -> list[bytes]:
        """See `Resolver.txt`."""
        return [text for text in self._ask(self._resolver.txt, name) if len(text) <= TEXT_BYTES_MAX]

    def a(self, name: str) -> list[str]:
        """See `Resolver.a`."""
        return self._ask(self._resolver.a, name)

    def aaaa(self, name: str) -> list[str]:
        """See `Resolver.aaaa`."""
        return self._ask(self._resolver.aaaa, name)

    def mx(self, name: str) -> list[tuple[int, str]]:
        """See `Resolver.mx`."""
        return self._ask(self._resolver.mx, name)

    def ptr(self, name: str) -> list[str]:
        """See `Resolver.ptr`."""
        return self._ask(self._resolver.ptr, name)

    def _ask(self, question: Callable[[str], list[T]], name: str) -> list[T]:
        self._left -= 1
        if self._left < 0 or self._monotonic() > self._until:
            raise LookupFailed("one mail may not ask more")
        return question(name)[:ANSWERS_MAX]
