"""Small readers of what strangers write: names, organizations, DMARC records, headers and senders."""

import pytest

from webordinary.mail.checks.authentication_results import read_upstream
from webordinary.mail.checks.dmarc import dmarc_of, organization
from webordinary.mail.checks.headers import (
    Ambiguous,
    plain_address,
    plain_domain,
    plain_selector,
    read_message,
    sender_of,
)
from webordinary.mail.checks.resolvers import ZoneResolver
from webordinary.ports.mail_checks import Dmarc, Signature, Spf, Upstream


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("shop.co.uk", "shop.co.uk"),
        ("www.shop.co.uk", "shop.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("a.site.github.io", "site.github.io"),
        ("github.io", "github.io"),
        ("x.y.kawasaki.jp", "x.y.kawasaki.jp"),
        ("a.x.y.kawasaki.jp", "x.y.kawasaki.jp"),
        ("a.city.kawasaki.jp", "city.kawasaki.jp"),
        ("host.unknowntop", "host.unknowntop"),
        ("a.host.unknowntop", "host.unknowntop"),
        ("www.xn--55qx5d.cn", "www.xn--55qx5d.cn"),
        ("localhost", "localhost"),
        # In the list since 2025: a neighbour must not vouch for a neighbour.
        ("shop.rice-labs.com", "shop.rice-labs.com"),
        ("a.shop.bank.in", "shop.bank.in"),
        ("site.servebolt.cloud", "site.servebolt.cloud"),
    ],
)
def test_an_organization_is_one_label_below_a_public_suffix(domain: str, expected: str) -> None:
    """Too short, and all of co.uk may vouch for each other."""
    assert organization(domain) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a..b",
        ".a",
        "a.",
        "-a.b",
        "a-.b",
        "a_b.c",
        "a b.c",
        "a\x00b.c",
        "a\n.b",
        "ä.example",
        "a" * 64 + ".b",
    ],
)
def test_what_is_not_plainly_a_domain_is_none(text: str) -> None:
    assert plain_domain(text) == ""
    assert plain_address(f"a@{text}") is None


def test_names_are_read_in_lower_case() -> None:
    assert plain_domain("Mail.Example.COM") == "mail.example.com"
    assert plain_address("Bounce+x=Y@Example.COM") == ("Bounce+x=Y", "example.com")
    assert plain_selector("k1._b") == "k1._b"
    assert plain_selector("k1/2") == ""


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("", Dmarc()),
        ('_dmarc.a.org.example. TXT "v=DMARC1; p=reject"', Dmarc("reject")),
        ('_dmarc.a.org.example. TXT "v=DMARC1;p=Quarantine;adkim=S;aspf=s"', Dmarc("quarantine", True, True)),
        ('_dmarc.org.example. TXT "v=DMARC1; p=reject; adkim=s"', Dmarc("reject", strict_dkim=True)),
        ('_dmarc.org.example. TXT "v=DMARC1; p=none; sp=reject"', Dmarc("reject")),
        ('_dmarc.org.example. TXT "v=DMARC1; p=reject; sp=none"', Dmarc("none")),
        ('_dmarc.a.org.example. TXT "v=DMARC1; p=none; sp=reject"', Dmarc("none")),
        ('_dmarc.a.org.example. TXT "v=DMARC1; p=nonsense"', Dmarc("none")),
        ('_dmarc.a.org.example. TXT "v=DMARC1; nonsense; ; p=reject"', Dmarc("reject")),
        ('_dmarc.a.org.example. TXT "p=reject; v=DMARC1"', Dmarc()),
        (
            '_dmarc.a.org.example. TXT "v=DMARC1; p=none"\n_dmarc.a.org.example. TXT "v=DMARC1; p=reject"',
            Dmarc(),
        ),
        (
            '_dmarc.a.org.example. TXT "hello"\n_dmarc.a.org.example. TXT "v=DMARC1; p=reject"',
            Dmarc("reject"),
        ),
    ],
)
def test_a_dmarc_record_is_found_at_the_domain_or_its_organization(zone: str, expected: Dmarc) -> None:
    """`sp=` is for subdomains only; a library that applies it to the domain itself would let forgeries in."""
    assert dmarc_of("a.org.example", ZoneResolver(f"$TTL 60\nx.example. TXT x\n{zone}\n")) == expected


# --- headers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "expected"),
    [
        ("a@b.example", ("a", "b.example")),
        ("<a@b.example>", ("a", "b.example")),
        ("A Name <A@B.example>", ("A", "b.example")),
        ('"Name, A \\"x\\"" <a@b.example>', ("a", "b.example")),
        ("A Name\r\n <a@b.example>", ("a", "b.example")),
        ("Dr. A. Name (Sales: EU) [x] <a@b.example> ", ("a", "b.example")),
        ("Jürgen <a@b.example>", ("a", "b.example")),
        ("=?utf-8?q?J=C3=BCrgen?= <a@b.example>", ("a", "b.example")),
    ],
)
def test_a_sender_as_real_programs_write_it_is_read(sender: str, expected: tuple[str, str]) -> None:
    assert sender_of(read_message(f"From: {sender}\r\nTo: x\r\n\r\nbody".encode())) == expected


def test_the_line_that_a_mailbox_file_puts_before_a_mail_is_not_part_of_it() -> None:
    raw = b"From c@d.example Mon Jan  1 00:00:00 2026\nFrom: a@b.example\n\nbody"
    assert sender_of(read_message(raw)) == ("a", "b.example")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"From: a@b.example",
        b"\r\nFrom: a@b.example\r\n\r\n",
        b" From: a@b.example\r\n\r\n",
        b"From a@b.example Mon\r\nFrom: a@b.example\r\n\r\n",
        b"From : a@b.example Mon Jan  1 00:00:00 2026\r\nFrom: a@b.example\r\n\r\n",
        b"X: y\r\nFrom a@b.example Mon Jan  1 00:00:00 2026\r\nFrom: a@b.example\r\n\r\n",
        b"From: a@b.example\r\nTo: x\n\r\n",
        b"From: a@b.example\nTo: x\r\n\n",
        b"From: a@b.example\r\nX: y\rTo: z\r\n\r\n",
        b"From: a@b.example\r\nX: \x0b\r\n\r\n",
        b"From: a@b.example\r\nnonsense\r\n\r\n",
        b"From: a@b.example\r\nX\xff: y\r\n\r\n",
        b"From: a@b.example\r\n" + b"X: y\r\n" * 2000 + b"\r\n",
        b"From: a@b.example\r\nX: " + b"y" * 300_000 + b"\r\n\r\n",
        b"From: a@b.example" + b" " * 300_000 + b"\r\n\r\n",
    ],
)
def test_headers_that_some_reader_would_have_to_repair_are_refused(raw: bytes) -> None:
    with pytest.raises(Ambiguous):
        read_message(raw)


# --- the header of a server before us -------------------------------------------------------------

VICTIM = ("victim.example", "victim.example")
GMAIL = """mx.google.com;
       dkim=pass header.i=@victim.example header.s=20230601 header.b=aB+/x1Zq;
       spf=pass (google.com: domain of o@victim.example designates 192.0.2.1 as permitted sender)
       smtp.mailfrom=o@victim.example;
       dmarc=pass (p=REJECT sp=QUARANTINE dis=NONE) header.from=victim.example;
       dara=pass header.i=@gmail.com"""
FASTMAIL = """mx6.messagingengine.com;
    x-csa=none; x-me-sender=none;
    dkim=pass (2048-bit rsa key sha256) header.d=victim.example header.i=@victim.example
      header.b=P1 header.a=rsa-sha256 header.s=s1 x-bits=2048;
    dmarc=pass policy.published-domain-policy=reject policy.applied-disposition=none
      (p=reject,d=none,d.eval=none) policy.policy-from=p header.from=victim.example;
    iprev=pass smtp.remote-ip=192.0.2.1 (mail.victim.example);
    spf=pass smtp.mailfrom=o@victim.example smtp.helo=mail.victim.example"""
RSPAMD = """mail.us.example;
    dkim=pass header.d=victim.example header.s=s1 header.b="a/b+c=";
    spf=pass (mail.us.example: domain of o@victim.example designates 192.0.2.1 as permitted sender)
    smtp.mailfrom=o@victim.example;
    dmarc=pass (policy=reject) header.from=victim.example"""
OPENDMARC = "mail.us.example; dmarc=pass (p=reject dis=none) header.from=victim.example"
NONE = "mail.us.example; none"


SPF_PASS = Spf("pass", *VICTIM, mailbox="o@victim.example")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GMAIL, Upstream("mx.google.com", "pass", VICTIM[0], SPF_PASS, (Signature(*VICTIM),))),
        (
            FASTMAIL,
            Upstream("mx6.messagingengine.com", "pass", VICTIM[0], SPF_PASS, (Signature(*VICTIM),)),
        ),
        (RSPAMD, Upstream("mail.us.example", "pass", VICTIM[0], SPF_PASS, (Signature(*VICTIM),))),
        (OPENDMARC, Upstream("mail.us.example", "pass", VICTIM[0])),
        (NONE, Upstream("mail.us.example")),
        ("dmarc=pass action=none header.from=victim.example", Upstream("", "pass", VICTIM[0])),
        (
            "mail.us.example 1; dmarc = pass header.from = victim.example",
            Upstream("mail.us.example", "pass", VICTIM[0]),
        ),
        (
            "mail.us.example; dmarc=pass (a (nested (three)) one) header.from=victim.example",
            Upstream("mail.us.example", "pass", VICTIM[0]),
        ),
    ],
)
def test_the_word_of_real_servers_is_understood(text: str, expected: Upstream) -> None:
    """Strict, but not so strict that a well-known server has nothing to say."""
    raw = f"Authentication-Results: {text}\nFrom: o@victim.example\n\n".encode()
    assert read_upstream(read_message(raw)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mx.us.example",
        "mx.us.example; dmarc",
        "mx.us.example; dmarc=pass (open",
        "mx.us.example; dmarc=pass closed)",
        "mx.us.example; dmarc=pass \\",
        'mx.us.example; dmarc=pass reason="open',
        "mx.us.example; dmarc=pass header.from=a.example header.from=b.example",
        "mx.us.example; spf=pass smtp.mailfrom=a@victim.example; spf=fail smtp.mailfrom=b@victim.example",
        "mx.us.example 2; dmarc=pass header.from=a.example",
        "mx.us.example mx.evil.example; dmarc=pass header.from=a.example",
        "spf pass smtp.mailfrom=a.example; dmarc=pass header.from=a.example",
        "(x) spf=pass smtp.mailfrom=a.example; dmarc=pass header.from=a.example",
        "mx.us.example; dmarc=pass header.from=ä.example",
        "mx.us.example" + "; x=y" * 100,
        "mx.us.example; x=" + "y" * 9000,
    ],
)
def test_an_odd_header_says_nothing_at_all(text: str) -> None:
    raw = f"Authentication-Results: {text}\r\nFrom: o@victim.example\r\n\r\n".encode()
    assert read_upstream(read_message(raw)) in {None, Upstream("mx.us.example")}
