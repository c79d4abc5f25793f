"""Forgeries in what the line says: MAIL FROM and HELO, and whose SPF they are about."""

from tests.authentication.case import Case
from tests.authentication.world import (
    EVIL_SERVER,
    MAIL_SERVER,
    OWNER,
    Sent,
    by_evil,
    by_owner,
    by_relay,
    letter,
    signed,
)
from webordinary.core.mail import Envelope
from webordinary.intake.authenticate import Trust


def forged(mail_from: str, helo: str = "mail.evil.example") -> Sent:
    return Sent(letter(), OWNER, by_evil(mail_from, helo))


def honest(mail_from: str = OWNER) -> Sent:
    return Sent(letter(), OWNER, by_owner(mail_from))


def at(domain: str, peer: str = MAIL_SERVER, mail_from: str = "") -> Sent:
    address = f"owner@{domain}"
    return Sent(letter(address), address, Envelope(peer, "mail.example", mail_from or address))


def null_sender() -> Sent:
    """From a machine that may say HELO in the owner's name, such as a web server with a contact form."""
    return Sent(letter(), OWNER, Envelope(MAIL_SERVER, "helo.victim.example", ""))


ENVELOPE_CASES = [
    Case(
        "a MAIL FROM under the owner's domain that does not exist",
        lambda: forged("any@mailfrom.notexist.victim.example"),
        lambda: honest("any@bounce.victim.example"),
        "mailfrom.notexist.victim.example publishes no SPF record",
        number="a1",
    ),
    Case(
        "a MAIL FROM that some read as empty, and then look at HELO",
        lambda: forged(f"({OWNER}", "evil.example"),
        honest,
        "the MAIL FROM address is not plainly one address",
        number="a2",
    ),
    Case(
        "a null sender with a HELO that passes SPF in the owner's name",
        null_sender,
        honest,
        "the mail has a null sender",
        number="a2",
    ),
    Case(
        "a MAIL FROM with a comment in its domain",
        lambda: forged("any@victim.example(a.evil.example"),
        honest,
        "the MAIL FROM address is not plainly one address",
        number="a5",
        fools="pyspf",
    ),
    Case(
        "a MAIL FROM with two @",
        lambda: forged("any@victim.example'@any.evil.example"),
        honest,
        "the MAIL FROM address is not plainly one address",
        number="a6",
        fools="pyspf",
    ),
    Case(
        "a MAIL FROM with a route",
        lambda: forged("@victim.example,@any.example:'any@evil.example"),
        honest,
        "the MAIL FROM address is not plainly one address",
        number="a7",
    ),
    Case(
        "a MAIL FROM with a NUL",
        lambda: forged("any@victim.example\x00.evil.example"),
        honest,
        "the MAIL FROM address is not plainly one address",
        number="a3",
    ),
    Case(
        "a MAIL FROM of the spoofer's own, that passes SPF",
        lambda: forged("bounce@evil.example"),
        honest,
        "SPF of evil.example passed, but that is not victim.example",
    ),
    Case(
        "the owner's MAIL FROM, sent by a server that is not the owner's",
        lambda: forged(OWNER),
        honest,
        "says by SPF that this server does not send its mail (fail)",
    ),
    Case(
        "the same where nobody asks to reject it, but SPF disowns the server",
        lambda: at("firm.example", EVIL_SERVER),
        lambda: at("firm.example"),
        "says by SPF that this server does not send its mail (fail)",
    ),
    Case(
        "the same where SPF is not sure",
        lambda: at("soft.example", EVIL_SERVER),
        lambda: at("soft.example"),
        "says by SPF that this server does not send its mail (softfail)",
        weak=True,
    ),
    Case(
        "a domain that publishes nothing at all",
        lambda: at("nothing.example", EVIL_SERVER),
        lambda: Sent(
            signed(letter("owner@quiet.example"), "quiet.example"), "owner@quiet.example", by_relay()
        ),
        "nothing.example publishes no SPF record",
        weak=True,
    ),
    Case(
        "a domain whose SPF lets everybody send",
        lambda: at("open.example", EVIL_SERVER),
        lambda: at("soft.example"),
        "lets everybody send its mail",
        weak=True,
        fools="pyspf",
    ),
    Case(
        "a domain whose SPF lets a network of everybody send",
        lambda: at("wide.example", EVIL_SERVER),
        lambda: at("firm.example"),
        "lets everybody send its mail",
        weak=True,
        fools="pyspf",
    ),
    Case(
        "SPF of a subdomain, where the owner's domain asks for strict alignment",
        lambda: at("strict.example", mail_from="any@mail.strict.example"),
        lambda: at("strict.example"),
        "SPF of mail.strict.example passed, but strict.example accepts only its very own name",
    ),
    Case(
        "a subdomain that does not exist, of a domain that asks to reject those",
        lambda: at("shop.parent.example", EVIL_SERVER),
        lambda: at("parent.example"),
        "shop.parent.example asks by DMARC to reject such mail",
    ),
    Case(
        "SPF of a neighbour under the same public suffix",
        lambda: at("shop.co.uk", EVIL_SERVER, "any@evil.co.uk"),
        lambda: at("shop.co.uk", MAIL_SERVER),
        "SPF of evil.co.uk passed, but that is not shop.co.uk",
        weak=True,
    ),
    Case(
        "a relay before us that is also named in the owner's SPF, forwarding a stranger's mail",
        lambda: Sent(letter(), OWNER, by_relay(OWNER)),
        lambda: Sent(signed(letter()), OWNER, by_relay("anybody@anywhere.example")),
        "the topmost Authentication-Results header is not one of mx.upstream.example",
        trust=Trust(("mx.upstream.example",), ("198.51.100.0/24",)),
        fools="pyspf",
    ),
]
