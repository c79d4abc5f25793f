"""A resolver that asks the name servers of this machine, with a limit on time and on what it remembers."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dns.exception
import dns.name
import dns.rdata
import dns.rdatatype
import dns.resolver

from webordinary.mail.checks.dns_answers import Answers, question, readable
from webordinary.ports.resolver import LookupFailed

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
