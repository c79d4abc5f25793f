"""The checks around the libraries: bounded in time, never an exception, and fair to honest mail."""

import time
from collections.abc import Callable
from email import message_from_bytes
from functools import cache
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.authentication.keys import rsa_record
from tests.authentication.world import (
    BODY,
    OWNER,
    US,
    Sent,
    by_evil,
    by_owner,
    by_relay,
    checked,
    dkimpy_says,
    letter,
    quoted,
    resolver,
    signed,
)
from webordinary.core.mail import Envelope
from webordinary.mail.checks.checks import ChecksWhereNeeded, OfflineChecks, OriginChecks
from webordinary.mail.checks.dkim_check import SIGNATURES_MAX
from webordinary.mail.checks.resolvers import ZoneResolver
from webordinary.ports.mail_checks import Checks, Dmarc
from webordinary.ports.resolver import LookupFailed, Resolver
from webordinary.system.clock import SystemClock


async def asked(sent: Sent, of: Resolver, seconds: float = 5.0) -> Checks:
    checks = OriginChecks(of, SystemClock(), seconds=seconds)
    try:
        return await checks.check(sent.raw, sent.envelope, sent.claimed)
    finally:
        checks.close()


async def timed(raw: bytes, of: Resolver | None = None) -> tuple[Checks, float]:
    """Check a mail; say how many seconds a processor was busy with it, however busy the machine is."""
    of = of or resolver()
    begun = time.process_time()
    found = await asked(Sent(raw), of)
    return found, time.process_time() - begun


# --- fair to honest mail --------------------------------------------------------------------------

BODIES = [
    "",
    "\r\n",
    "one line",
    BODY,
    BODY + "\r\n\r\n\r\n",
    "a  b\t c \r\n \r\n  d\r\n",
    " \r\n\r\n \t\r\n",
    "x\ry\r\r\n\r\n",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("form", ["simple", "relaxed", "simple/relaxed", "relaxed/simple", "relaxed/relaxed"])
async def test_every_form_of_signing_verifies_as_dkimpy_does(body: str, form: str) -> None:
    """The body is brought into its form before dkimpy does it; that must not change the answer."""
    raw = signed(letter(body=body), tags={"c": form})
    assert dkimpy_says(raw)
    assert [one.problem for one in (await checked(Sent(raw))).signatures] == [""]


async def test_a_mail_from_a_file_may_have_plain_newlines() -> None:
    raw = signed(letter()).replace(b"\r\n", b"\n")
    found = await checked(Sent(raw, envelope=Envelope()))
    assert [one.problem for one in found.signatures] == [""]


async def test_a_good_signature_is_found_among_many_others() -> None:
    """Forwarders add their own on top, and the owner's is what counts: it is looked at first."""
    raw = letter()
    own = signed(raw)
    noise = b"DKIM-Signature: v=1; d=evil.example; s=s1; a=rsa-sha256; h=from; bh=AA==; b=AA==\r\n"
    found = await checked(Sent(noise * 20 + own))
    assert found.signatures[0].problem == ""
    assert found.signatures[0].domain == "victim.example"
    assert len(found.signatures) == SIGNATURES_MAX
    assert found.unread == 21 - SIGNATURES_MAX


async def test_spf_follows_what_a_record_leads_to() -> None:
    """Includes, addresses, mail servers, names of addresses, aliases and redirects, over our own resolver."""
    zone = ZoneResolver(
        dedent("""
        $TTL 60
        a.example.       TXT "v=spf1 a -all"
        a.example.       A 192.0.2.10
        six.example.     TXT "v=spf1 a -all"
        six.example.     AAAA 2001:db8::10
        mx.example.      TXT "v=spf1 mx -all"
        mx.example.      MX 10 a.example.
        ptr.example.     TXT "v=spf1 ptr:a.example -all"
        10.2.0.192.in-addr.arpa. PTR a.example.
        include.example. TXT "v=spf1 include:a.example -all"
        redirect.example. TXT "v=spf1 redirect=alias.example"
        alias.example.   CNAME a.example.
        macro.example.   TXT "v=spf1 exists:%{l}.%{d} -all"
        owner.macro.example. A 127.0.0.2
        loop.example.    TXT "v=spf1 include:loop2.example -all"
        loop2.example.   TXT "v=spf1 include:loop.example -all"
        two.example.     TXT "v=spf1 +a -all"
        two.example.     TXT "v=spf1 -all"
        long.example.    TXT "v=spf1 a a:LONG.example -all"
        long.example.    A 192.0.2.10
        """).replace("LONG", '" "'.join(["a.a" * 50] * 3))
    )

    async def spf_of(domain: str, peer: str = "192.0.2.10") -> str:
        address = f"owner@{domain}"
        found = await asked(Sent(letter(address), address, Envelope(peer, "x.example", address)), zone)
        return found.spf.result

    for domain in ("a", "mx", "ptr", "include", "macro"):
        assert await spf_of(f"{domain}.example") == "pass", domain
        assert await spf_of(f"{domain}.example", "192.0.2.11") == ("pass" if domain == "macro" else "fail"), (
            domain
        )
    assert await spf_of("six.example", "2001:db8::10") == "pass"
    assert await spf_of("a.example", "::ffff:192.0.2.10") == "pass"
    assert await spf_of("redirect.example") == "pass"
    assert await spf_of("loop.example") == "permerror"
    assert await spf_of("two.example") == "permerror"
    assert await spf_of("long.example") == "permerror"
    assert await spf_of("none.example") == "none"
    assert await spf_of("a.example", "not an address") == "permerror"


# --- bounded --------------------------------------------------------------------------------------

HEAVY: dict[str, Callable[[], bytes]] = {
    "a body of spaces": lambda: letter(body=" " * 5_000_000 + "x"),
    "a body of tabs and words": lambda: letter(body=("\t" * 200 + "x") * 20_000),
    "a body of empty lines": lambda: letter(body="\r\n" * 2_000_000),
    "a header of spaces": lambda: letter(X_Long=" " * 200_000 + "x"),
    "many headers": lambda: letter().replace(b"\r\n\r\n", b"\r\n" + b"X: y\r\n" * 900 + b"\r\n", 1),
}


@pytest.mark.parametrize("heavy", HEAVY)
async def test_no_mail_takes_long(heavy: str) -> None:
    """dkimpy alone needs hours for five million spaces, and holds up every other thread meanwhile."""
    raw = b"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=evil.example; s=s1;\r\n"
    raw += b" h=from:subject:message-id; bh=AA==; b=AA==\r\n"
    found, seconds = await timed(raw + HEAVY[heavy]())
    assert found.signatures[0].problem == "the body was changed after signing"
    assert seconds < 2


@pytest.mark.parametrize(
    "value",
    [
        "v=1; b=" + "\r\n " * 1300 + "!",
        "v=1;" + " " * 4000,
        ";" * 4000,
        "v=1; h=" + " : " * 1300,
        "v=1; a=rsa-sha256; d=evil.example; s=s1; bh=AA==; h=from:message-id:subject; b="
        + "\r\n " * 1000
        + "!",
    ],
)
async def test_no_signature_takes_long(value: str) -> None:
    found, seconds = await timed(f"DKIM-Signature: {value}\r\n".encode() * 8 + letter())
    assert all(one.problem for one in found.signatures)
    assert seconds < 2


async def test_no_key_takes_long() -> None:
    """An exponent of thousands of bits keeps a processor busy, and Python does nothing else meanwhile."""
    record = rsa_record(2**12_000 + 1, 2**11_000 + 1)
    zone = ZoneResolver(f"$TTL 60\ns1._domainkey.evil.example. TXT {quoted(record)}\n")
    found, seconds = await timed(signed(letter(), "evil.example"), zone)
    assert found.signatures[0].problem == "its key is too large to be used"
    assert seconds < 1


class Slow:
    """A spoofer's name servers: they answer, some day."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.lookups = seconds, 0

    def txt(self, name: str) -> list[bytes]:
        assert name
        self.lookups += 1
        time.sleep(self.seconds)
        return []

    def a(self, name: str) -> list[str]:
        return [str(text) for text in self.txt(name)]

    aaaa = ptr = a

    def mx(self, name: str) -> list[tuple[int, str]]:
        return [(0, str(text)) for text in self.txt(name)]


class Failing(Slow):
    def txt(self, name: str) -> list[bytes]:
        raise LookupFailed(name)


class Broken(Slow):
    def txt(self, name: str) -> list[bytes]:
        raise ZeroDivisionError(name)


async def test_slow_name_servers_cost_no_more_than_the_time_of_one_mail() -> None:
    slow = Slow(0.2)
    found = await asked(Sent(signed(letter(), "evil.example"), envelope=by_evil()), slow, seconds=0.3)
    assert slow.lookups <= 2
    assert found.spf.result == "temperror"


async def test_no_answer_is_told_apart_from_no() -> None:
    """Asking again later may help, so a sender's server is asked to come back, not told off."""
    found = await asked(Sent(signed(letter()), envelope=by_owner()), Failing(0))
    assert found.unsure
    assert not found.dmarc.known
    assert found.signatures[0].problem == "its key could not be looked up just now"
    answered = await checked(Sent(letter(), envelope=by_evil("x@evil.example")))
    assert not answered.unsure


async def test_what_a_stranger_does_not_answer_makes_nobody_unsure() -> None:
    """Else anybody could be told to come back for ever."""

    class EvilIsDown(ZoneResolver):
        def txt(self, name: str) -> list[bytes]:
            if name.endswith("evil.example"):
                raise LookupFailed(name)
            return resolver().txt(name)

    sent = Sent(signed(letter(), "evil.example"), envelope=by_evil())
    found = await asked(sent, EvilIsDown("$TTL 60\nx.example. TXT x\n"))
    assert found.spf.result == "temperror"
    assert not found.unsure


async def test_a_fault_of_ours_is_a_doubt_and_no_exception(caplog: pytest.LogCaptureFixture) -> None:
    found = await asked(Sent(letter()), Broken(0))
    assert found.doubt == "its checks failed (ZeroDivisionError)"
    assert found.unsure
    assert "the checks of a mail failed" in caplog.text


async def test_checks_that_never_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webordinary.mail.checks.checks.GRACE_SECONDS", 0.1)
    found = await asked(Sent(letter()), Slow(1.0), seconds=0.1)
    assert found.doubt == "its checks took too long"
    assert found.unsure


async def test_offline_checks_ask_nobody_but_still_read_strictly() -> None:
    """For a local try-out without a network: no lookup may hold it up."""
    offline = OfflineChecks()
    clear = await offline.check(letter(), by_relay(), OWNER)
    assert clear == Checks(OWNER, "victim.example", peer=by_relay().peer, to=(US,), dmarc=Dmarc(known=False))
    unclear = await offline.check(
        letter(b"From: a@b.example\r\nFrom: c@d.example"), by_relay(), "a@b.example"
    )
    assert unclear.doubt == "2 From headers"


# --- never an exception ---------------------------------------------------------------------------

PIECES = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\x00",
    b":",
    b";",
    b"=",
    b" ",
    b"(",
    b'"',
    b"From: ",
    b"DKIM-Signature: ",
    b"\xff",
]


@cache
def whole() -> bytes:
    return signed(letter())


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_whatever_is_cut_from_or_put_into_a_mail_breaks_it_or_does_not_matter(data: st.DataObject) -> None:
    """A change may break the mail or its signature; never us, and never what the owner is taken to say."""
    at = data.draw(st.integers(0, len(whole())))
    cut = data.draw(st.integers(0, 40))
    put = data.draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=20)))
    raw = whole()[:at] + put + whole()[at + cut :]
    found = OriginChecks(resolver(), SystemClock())._checked(raw, by_relay(), OWNER)
    if not found.doubt and any(not one.problem for one in found.signatures):
        read, meant = message_from_bytes(raw), message_from_bytes(whole())
        for name in ("From", "Subject", "Message-ID"):
            assert str(read[name]).split() == str(meant[name]).split()
        assert str(read.get_payload()).split() == str(meant.get_payload()).split()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000), st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_no_bytes_and_no_envelope_are_an_exception(raw: bytes, helo: str, mail_from: str, peer: str) -> None:
    envelope = Envelope(peer, helo, mail_from)
    checks = OriginChecks(resolver(), SystemClock())
    assert checks._checked(raw, envelope, OWNER).doubt
    found = checks._checked(letter(), envelope, OWNER)
    assert not found.doubt
    assert found.spf.result in {"none", "permerror", "temperror", "neutral", "fail", "softfail"}


async def test_nobody_is_asked_about_mail_that_is_believed_anyway() -> None:
    """A try-out on a machine without a network must not wait for name servers."""
    asked_about: list[str] = []

    class Asked(OfflineChecks):
        async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
            asked_about.append(envelope.peer)
            return await super().check(raw, envelope, from_address)

    checks = ChecksWhereNeeded(Asked(), lambda peer: peer == "127.0.0.1")
    raw = b"From: scott@example.com\r\n\r\nhello\r\n"
    for peer in ("127.0.0.1", "192.0.2.7"):
        found = await checks.check(raw, Envelope(peer=peer), "scott@example.com")
        assert (found.peer, found.doubt) == (peer, "")
    assert asked_about == ["192.0.2.7"]
