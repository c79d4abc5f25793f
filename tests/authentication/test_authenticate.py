"""The policy alone: facts in, a verdict out."""

from dataclasses import replace

import pytest

from tests.authentication.world import OWNER, UPSTREAM, US, parsed
from webordinary.core.errors import BadInput
from webordinary.core.mail import Authenticated, NotAuthenticated, SignedOnly, SignedParts
from webordinary.intake.authenticate import Trust, authenticate
from webordinary.ports.mail_checks import Checks, Dmarc, Signature, Spf, Upstream

DOMAIN = "victim.example"
MAIL = parsed(OWNER)
NOTHING = Checks(OWNER, DOMAIN, peer="192.0.2.10", to=(US,))
PARTS = SignedParts(frozenset({"from", "to", "subject", "date", "message-id"}))
SIGNED_ONLY = SignedOnly(PARTS, (US,))
GOOD = Signature(DOMAIN, DOMAIN, parts=PARTS, age_seconds=60.0)
OF_A_SUBDOMAIN = replace(GOOD, domain=f"mail.{DOMAIN}")
OF_A_STRANGER = replace(GOOD, domain="evil.example", organization="evil.example")
TRIED_OUT = Trust(loopback=True)
OURS = Trust(addresses=(US,))


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_a_local_tryout_may_trust_its_own_machine(peer: str) -> None:
    verdict = authenticate(MAIL, replace(NOTHING, peer=peer), TRIED_OUT)
    assert verdict == Authenticated(OWNER, "loopback, trusted by a setting")


@pytest.mark.parametrize("peer", ["192.0.2.10", "", "127.0.0.1.evil.example", "::2", "localhost"])
def test_trusting_the_own_machine_trusts_no_other(peer: str) -> None:
    assert isinstance(authenticate(MAIL, replace(NOTHING, peer=peer), TRIED_OUT), NotAuthenticated)


def test_the_own_machine_is_not_trusted_unless_a_setting_says_so() -> None:
    """Behind a local relay all mail of the world comes from 127.0.0.1."""
    assert isinstance(authenticate(MAIL, replace(NOTHING, peer="127.0.0.1"), Trust()), NotAuthenticated)


def test_a_relay_on_this_machine_is_an_upstream_even_if_this_machine_is_trusted() -> None:
    """What it passes on is the world's mail; its word about that counts, its address does not."""
    trust = Trust((UPSTREAM,), ("127.0.0.1",), loopback=True)
    assert isinstance(authenticate(MAIL, replace(NOTHING, peer="127.0.0.1"), trust), NotAuthenticated)


def test_doubt_beats_every_pass() -> None:
    """If two readers see two senders, a pass is about one of them, and we act for the other."""
    checks = replace(NOTHING, signatures=(GOOD,), doubt="2 From headers", peer="127.0.0.1")
    verdict = authenticate(MAIL, checks, TRIED_OUT)
    assert verdict == NotAuthenticated("the sender can't be told for sure: 2 From headers")


def test_checks_of_another_address_prove_nothing() -> None:
    """Whoever mixes up two mails must not let one vouch for the other."""
    checks = replace(NOTHING, from_address="intern@victim.example", signatures=(GOOD,))
    assert isinstance(authenticate(MAIL, checks, Trust()), NotAuthenticated)


def test_one_good_signature_among_broken_ones_is_enough() -> None:
    """Lists and forwarders break signatures, and add their own."""
    broken = replace(GOOD, problem="the body was changed after signing")
    checks = replace(NOTHING, signatures=(broken, OF_A_STRANGER, GOOD))
    assert authenticate(MAIL, checks, OURS) == Authenticated(OWNER, f"dkim {DOMAIN}", SIGNED_ONLY)


@pytest.mark.parametrize("policy", ["", "none", "quarantine", "reject"])
def test_an_aligned_pass_needs_no_policy(policy: str) -> None:
    checks = replace(NOTHING, spf=Spf("pass", DOMAIN, DOMAIN), dmarc=Dmarc(policy))
    assert authenticate(MAIL, checks, OURS) == Authenticated(OWNER, f"spf {DOMAIN}")


@pytest.mark.parametrize(
    ("policy", "weak"), [("", True), ("none", True), ("quarantine", False), ("reject", False)]
)
def test_without_a_pass_the_domains_own_policy_says_how_bad_that_is(policy: str, *, weak: bool) -> None:
    """A member whose server proves little may be asked; one whose domain asks to reject may not."""
    checks = replace(NOTHING, signatures=(OF_A_STRANGER,), dmarc=Dmarc(policy))
    verdict = authenticate(MAIL, checks, Trust())
    assert isinstance(verdict, NotAuthenticated)
    assert verdict.weak is weak


def test_while_the_policy_is_not_known_only_the_very_same_domain_counts() -> None:
    """A server that keeps us from reading the record must not make alignment laxer."""
    unknown = replace(NOTHING, dmarc=Dmarc(known=False), unsure=True)
    verdict = authenticate(MAIL, replace(unknown, signatures=(OF_A_SUBDOMAIN,)), OURS)
    assert isinstance(verdict, NotAuthenticated)
    assert "could not be looked up just now" in verdict.reason
    assert isinstance(authenticate(MAIL, replace(unknown, signatures=(GOOD,)), OURS), Authenticated)


def test_strict_is_asked_for_dkim_and_spf_apart() -> None:
    checks = replace(
        NOTHING,
        signatures=(OF_A_SUBDOMAIN,),
        spf=Spf("pass", "b.victim.example", DOMAIN),
        dmarc=Dmarc("reject"),
    )
    strict_dkim = replace(checks, dmarc=Dmarc("reject", strict_dkim=True))
    strict_both = replace(checks, dmarc=Dmarc("reject", strict_dkim=True, strict_spf=True))
    strict_spf = replace(checks, dmarc=Dmarc("reject", strict_spf=True))
    by_dkim = Authenticated(OWNER, "dkim mail.victim.example", SIGNED_ONLY)
    assert authenticate(MAIL, strict_spf, OURS) == by_dkim
    assert authenticate(MAIL, strict_dkim, OURS) == Authenticated(OWNER, "spf b.victim.example")
    assert isinstance(authenticate(MAIL, strict_both, OURS), NotAuthenticated)


def test_domains_without_an_organization_are_not_of_the_same_one() -> None:
    """Two names that could not be read are not equal for that."""
    checks = Checks(OWNER, "", signatures=(Signature("evil.example", ""), Signature("", "")), spf=Spf("pass"))
    assert isinstance(authenticate(MAIL, checks, Trust()), NotAuthenticated)


# --- bound to us -----------------------------------------------------------------------------------

ASKED = "it may be a copy of a mail to somebody else"


@pytest.mark.parametrize("header", ["from", "subject", "date", "message-id", "to"])
def test_a_signature_counts_by_itself_only_if_it_covers_what_binds_a_mail_to_us(header: str) -> None:
    """Whoever has a copy can change the rest. The member is asked, whatever the domain's policy is."""
    parts = SignedParts(PARTS.headers - {header})
    checks = replace(NOTHING, signatures=(replace(GOOD, parts=parts),), dmarc=Dmarc("reject"))
    verdict = authenticate(MAIL, checks, OURS)
    assert isinstance(verdict, NotAuthenticated)
    assert verdict.weak
    assert ASKED in verdict.reason


def test_a_signed_cc_binds_as_well_as_to_and_an_unsigned_one_does_not() -> None:
    copied = replace(NOTHING, to=("eve@evil.example",), cc=("Edit+s1.abc@us.example".lower(),))
    covered = replace(GOOD, parts=SignedParts(PARTS.headers | {"cc"}))
    verdict = authenticate(MAIL, replace(copied, signatures=(covered,)), OURS)
    assert isinstance(verdict, Authenticated)
    assert verdict.signed_only is not None
    assert verdict.signed_only.recipients == ("edit+s1.abc@us.example",)
    assert isinstance(authenticate(MAIL, replace(copied, signatures=(GOOD,)), OURS), NotAuthenticated)


@pytest.mark.parametrize(
    ("days", "believed"), [(-2, False), (-0.5, True), (0, True), (6, True), (8, False), (None, False)]
)
def test_an_old_signature_is_asked_about(days: float | None, *, believed: bool) -> None:
    """A mail of last year is true for ever; that its sender wants it done today is not."""
    signature = replace(GOOD, age_seconds=None if days is None else days * 86_400)
    verdict = authenticate(MAIL, replace(NOTHING, signatures=(signature,)), OURS)
    assert isinstance(verdict, Authenticated) is believed


def test_a_signed_mail_without_a_message_id_is_asked_about() -> None:
    """Nothing would tell its second copy from a second mail."""
    checks = replace(NOTHING, signatures=(GOOD,))
    assert isinstance(authenticate(replace(MAIL, message_id=""), checks, OURS), NotAuthenticated)


@pytest.mark.parametrize(
    ("mailbox", "to", "believed"),
    [
        (OWNER, "eve@evil.example", True),  # Bcc, through the owner's own server
        ("eve+caf=edit=us.example@victim.example", "eve@victim.example", False),  # a forwarding neighbour
        ("", "eve@victim.example", False),
        ("bounces+12@victim.example", US, True),
    ],
)
def test_spf_of_another_mailbox_needs_a_mail_that_names_us(mailbox: str, to: str, *, believed: bool) -> None:
    """Two customers of one provider: what one wrote to the other, the other can have forwarded to us."""
    spf = Spf("pass", DOMAIN, DOMAIN, mailbox=mailbox)
    verdict = authenticate(MAIL, replace(NOTHING, spf=spf, to=(to,)), OURS)
    assert isinstance(verdict, Authenticated) is believed
    assert believed or (isinstance(verdict, NotAuthenticated) and verdict.weak)


@pytest.mark.parametrize(
    ("said", "claimed", "to", "believed"),
    [
        (Spf("pass", DOMAIN, DOMAIN, mailbox=OWNER), (), "eve@evil.example", True),
        (Spf("pass", DOMAIN, DOMAIN), (), "eve@evil.example", False),
        (Spf("fail", "evil.example", "evil.example"), (GOOD,), US, True),
        (Spf("fail", "evil.example", "evil.example"), (GOOD,), "eve@evil.example", False),
        (Spf("fail", "evil.example", "evil.example"), (), US, False),
        (Spf(), (GOOD, replace(GOOD, parts=SignedParts(frozenset({"from"})))), US, False),
        (Spf(), (GOOD, replace(GOOD, problem="it covers only a part of the body")), US, False),
        (Spf(), (GOOD, Signature("", problem="it is too long, or not written in ASCII")), US, False),
        (Spf(), (OF_A_STRANGER,), US, False),
        (Spf(), (), US, True),
        (Spf(), (), "eve@evil.example", False),
    ],
)
def test_an_upstreams_word_needs_the_same_bond(
    said: Spf, claimed: tuple[Signature, ...], to: str, *, believed: bool
) -> None:
    """It says who wrote a mail, as a signature does. Which of two signatures was good, it does not say."""
    word = replace(PASSED, spf=said)
    checks = replace(NOTHING, peer="", upstream=word, claimed=claimed, to=(to,), dmarc=Dmarc(known=False))
    verdict = authenticate(MAIL, checks, Trust((UPSTREAM,), addresses=(US,)))
    assert isinstance(verdict, Authenticated) is believed
    assert believed or (isinstance(verdict, NotAuthenticated) and verdict.weak)


# --- a server before us ---------------------------------------------------------------------------

PASSED = Upstream(UPSTREAM, dmarc="pass", dmarc_domain=DOMAIN)


@pytest.mark.parametrize(
    ("peer", "believed"),
    [
        ("198.51.100.5", True),
        ("", True),
        ("2001:db8::7", True),
        ("198.51.101.5", False),
        ("127.0.0.1", False),
    ],
)
def test_an_upstreams_word_counts_only_in_mail_that_came_through_it(peer: str, *, believed: bool) -> None:
    """Its name is no secret: whoever connects directly can write it on top."""
    trust = Trust((UPSTREAM,), ("198.51.100.0/24", "2001:db8::/64"), addresses=(US,))
    verdict = authenticate(MAIL, replace(NOTHING, peer=peer, upstream=PASSED), trust)
    assert isinstance(verdict, Authenticated) is believed
    if isinstance(verdict, Authenticated):
        assert verdict.by == f"dmarc {DOMAIN}, says {UPSTREAM}"


def test_an_upstreams_word_counts_for_nothing_unless_its_name_is_pinned() -> None:
    assert isinstance(
        authenticate(MAIL, replace(NOTHING, peer="", upstream=PASSED), Trust()), NotAuthenticated
    )


def test_spf_of_our_own_is_not_asked_about_an_upstream() -> None:
    """A large provider is in the SPF of many owners, and relays for everybody."""
    checks = replace(NOTHING, peer="198.51.100.5", spf=Spf("pass", DOMAIN, DOMAIN))
    assert isinstance(authenticate(MAIL, checks, Trust((UPSTREAM,), ("198.51.100.5",))), NotAuthenticated)


def test_a_signature_survives_an_upstream_that_says_nothing() -> None:
    checks = replace(NOTHING, peer="198.51.100.5", signatures=(GOOD,))
    verdict = authenticate(MAIL, checks, Trust((UPSTREAM,), ("198.51.100.5",), addresses=(US,)))
    assert verdict == Authenticated(OWNER, f"dkim {DOMAIN}", SIGNED_ONLY)


@pytest.mark.parametrize("peers", [("mx.upstream.example",), ("198.51.100.1/24",), ("",)])
def test_a_peer_that_could_never_match_is_refused_as_a_setting(peers: tuple[str, ...]) -> None:
    with pytest.raises(BadInput):
        Trust((UPSTREAM,), peers)


def test_peers_without_a_name_are_refused_as_a_setting() -> None:
    with pytest.raises(BadInput):
        Trust(upstream_peers=("198.51.100.5",))


@pytest.mark.parametrize(
    ("names", "server", "believed"),
    [
        (("mx.google.com", UPSTREAM), UPSTREAM, True),
        (("MX.Upstream.example",), UPSTREAM, True),
        (("*.messagingengine.com",), "mx3.messagingengine.com", True),
        (("*.messagingengine.com",), "messagingengine.com", False),
        (("*.messagingengine.com",), "mx3.evilmessagingengine.com", False),
        (("*.messagingengine.com",), "messagingengine.com.evil.example", False),
        (("microsoft365",), "", True),
        (("microsoft365",), "mx.google.com", False),
        ((UPSTREAM,), "", False),
    ],
)
def test_several_upstreams_can_be_named_also_those_with_a_name_per_host(
    names: tuple[str, ...], server: str, *, believed: bool
) -> None:
    word = replace(PASSED, server=server)
    checks = replace(NOTHING, peer="", upstream=word, upstream_run=word)
    verdict = authenticate(MAIL, checks, Trust(names, addresses=(US,)))
    assert isinstance(verdict, Authenticated) is believed


@pytest.mark.parametrize("name", ["*", "*.com", "mx*.example.com", "*example.com"])
def test_a_wildcard_that_trusts_too_many_is_refused_as_a_setting(name: str) -> None:
    with pytest.raises(BadInput):
        Trust((name,))
