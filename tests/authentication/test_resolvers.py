"""Resolvers: the one that reads a zone file, and the one that asks servers; here that is one of our own."""

import socket
import threading
from collections.abc import Iterator
from textwrap import dedent

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from webordinary.mail.checks import resolvers
from webordinary.mail.checks.resolvers import TEXT_BYTES_MAX, LiveResolver, LookupBudget, ZoneResolver
from webordinary.ports.resolver import LookupFailed, Resolver

ZONE = dedent(r"""
    $TTL 300
    a.example.      TXT "one " "text"
    a.example.      TXT "another"
    a.example.      A 192.0.2.2
    a.example.      A 192.0.2.1
    a.example.      AAAA 2001:db8::1
    a.example.      MX 20 b.example.
    a.example.      MX 10 a.example.
    alias.example.  CNAME a.example.
    loop.example.   CNAME loop.example.
    1.2.0.192.in-addr.arpa. PTR a.example.
    odd\000.example. TXT "reached by an escape"
    a\.b.example.   TXT "a label with a dot"
    """)


class Server:
    """A name server on this machine."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ttl, self.silent, self.failing = 300, False, False
        self._zone = ZoneResolver(ZONE)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            wire, who = self._socket.recvfrom(4096)
            if not wire:
                return
            query = dns.message.from_wire(wire)
            self.asked.append(str(query.question[0].name))
            if not self.silent:
                self._socket.sendto(self._answer(query).to_wire(), who)

    def _answer(self, query: dns.message.Message) -> dns.message.Message:
        question = query.question[0]
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if self.failing:
            answer.set_rcode(dns.rcode.SERVFAIL)
            return answer
        found = self._zone._records(question.name, question.rdtype)
        if found:
            answer.answer.append(dns.rrset.from_rdata_list(question.name, self.ttl, found))
        elif not self._zone._records(question.name, dns.rdatatype.A):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer

    def close(self) -> None:
        self._socket.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join()
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


@pytest.fixture
def now() -> list[float]:
    """A clock that a test sets."""
    return [0.0]


@pytest.fixture
def live(server: Server, now: list[float]) -> LiveResolver:
    return LiveResolver(["127.0.0.1"], port=server.port, seconds=0.5, monotonic=lambda: now[0])


@pytest.fixture(params=["zone", "live"])
def resolver(request: pytest.FixtureRequest, live: LiveResolver) -> Resolver:
    return ZoneResolver(ZONE) if request.param == "zone" else live


def test_every_kind_of_record_is_a_plain_value(resolver: Resolver) -> None:
    assert resolver.txt("a.example") == [b"another", b"one text"]
    assert resolver.a("A.Example.") == ["192.0.2.1", "192.0.2.2"]
    assert resolver.aaaa("a.example") == ["2001:db8::1"]
    assert resolver.mx("a.example") == [(10, "a.example"), (20, "b.example")]
    assert resolver.ptr("1.2.0.192.in-addr.arpa") == ["a.example"]


def test_what_is_not_there_has_no_answers(resolver: Resolver) -> None:
    assert resolver.txt("nobody.example") == []
    assert resolver.mx("1.2.0.192.in-addr.arpa") == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "a..example",
        "odd\x00.example",
        r"odd\000.example",
        r"a\.b.example",
        "ä.example",
        "a" * 64,
        "a." * 130,
        "@",
    ],
)
def test_text_that_is_no_name_is_looked_up_nowhere_else(resolver: Resolver, name: str) -> None:
    """An escape that a library understands turns a stranger's text into another name."""
    assert resolver.txt(name) == []


def test_an_alias_is_followed_in_a_zone_file() -> None:
    assert ZoneResolver(ZONE).a("alias.example") == ["192.0.2.1", "192.0.2.2"]
    assert ZoneResolver(ZONE).a("loop.example") == []


def test_an_answer_is_remembered_as_long_as_it_lasts(
    live: LiveResolver, server: Server, now: list[float]
) -> None:
    server.ttl = 50
    assert live.txt("a.example") == live.txt("a.example")
    assert server.asked == ["a.example."]
    now[0] = 51.0
    live.txt("a.example")
    assert len(server.asked) == 2


def test_nothing_is_remembered_too_but_not_for_long(
    live: LiveResolver, server: Server, now: list[float]
) -> None:
    assert live.txt("nobody.example") == live.txt("nobody.example") == []
    assert len(server.asked) == 1
    now[0] = resolvers.NOTHING_SECONDS + 1
    live.txt("nobody.example")
    assert len(server.asked) == 2


def test_only_so_much_is_remembered(
    live: LiveResolver, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers choose the names, so they could fill the memory."""
    monkeypatch.setattr(resolvers, "REMEMBERED_NAMES_MAX", 3)
    for number in range(10):
        live.txt(f"n{number}.example")
    assert len(live._memory) == 3
    monkeypatch.setattr(resolvers, "REMEMBERED_BYTES_MAX", 5)
    assert live.txt("a.example")
    assert len(live._memory) == 3


@pytest.mark.parametrize("fault", ["silent", "failing"])
def test_a_server_that_does_not_answer_is_told_apart_from_no_answers(
    live: LiveResolver, server: Server, fault: str
) -> None:
    setattr(server, fault, True)
    with pytest.raises(LookupFailed):
        live.txt("a.example")
    setattr(server, fault, False)
    assert live.txt("a.example"), "a failure is not remembered"


def test_one_mail_may_ask_only_so_often_and_so_long() -> None:
    now = [0.0]
    budget = LookupBudget(ZoneResolver(ZONE), lookups=3, until=10.0, monotonic=lambda: now[0])
    assert budget.a("a.example")
    now[0] = 11.0
    with pytest.raises(LookupFailed):
        budget.a("a.example")
    now[0] = 0.0
    assert budget.mx("a.example")
    with pytest.raises(LookupFailed):
        budget.txt("a.example")


def test_a_text_longer_than_any_honest_one_is_left_out() -> None:
    """Long records make the libraries' expressions take long."""
    long = " ".join(['"' + "x" * 250 + '"'] * (TEXT_BYTES_MAX // 250 + 1))
    zone = ZoneResolver(f"$TTL 60\nl.example. TXT {long}\nl.example. TXT short\n")
    budget = LookupBudget(zone, lookups=9, until=1.0, monotonic=lambda: 0.0)
    assert budget.txt("l.example") == [b"short"]
    assert (budget.aaaa("l.example"), budget.ptr("l.example")) == ([], [])
