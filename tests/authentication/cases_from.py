"""Forgeries of the From header: two readers, two senders."""

import base64

from tests.authentication.case import Case, StoppedBy
from tests.authentication.world import EVIL, OWNER, Sent, by_evil, by_owner, by_relay, letter, signed
from webordinary.core.mail import Envelope

READING = StoppedBy.READING
MEMBERSHIP = StoppedBy.MEMBERSHIP
OVERSIGNED = ("from", "from", "subject", "message-id")
ENCODED = b"=?utf-8?b?" + base64.b64encode(b"<owner@victim.example>") + b"?="


def forged(lines: bytes, claimed: str = OWNER) -> Sent:
    """Sent for the spoofer's own domain; `lines` are all lines of its From header, or headers."""
    return Sent(letter(lines), claimed, by_evil())


def honest(lines: bytes = b"From: owner@victim.example") -> Sent:
    return Sent(letter(lines), OWNER, by_owner())


def insider(lines: bytes, covers: tuple[str, ...] = OVERSIGNED[1:]) -> Sent:
    """Another account of the owner's own provider, which signs whatever its users send."""
    return Sent(signed(letter(lines), covers=covers), OWNER, by_relay("intern@victim.example"))


def hidden_sender() -> Sent:
    """A bare CR ends a line for some: they see another header, an empty line, and never the true From."""
    lines = b"X-Note: a\rFrom: owner@victim.example\r\rB: c\r\nFrom: intern@victim.example"
    return insider(lines)


def truly_from(sender: str, **headers: str) -> Sent:
    return Sent(signed(letter(sender, **headers), "evil.example"), EVIL, by_evil())


def look_alike() -> Sent:
    address = "owner@xn--victm-jza.example"
    raw = signed(letter(f'"The Owner" <{address}>'), "xn--victm-jza.example")
    return Sent(raw, address, Envelope("203.0.113.66", "mail.evil.example", address))


FROM_CASES = [
    Case(
        "two From headers",
        lambda: forged(b"From: mallory@evil.example\r\nFrom: owner@victim.example"),
        honest,
        "2 From headers",
        number="a8",
        stopped_by=READING,
    ),
    Case(
        "a From header that begins with a space, above the other",
        lambda: forged(b" From: mallory@evil.example\r\nFrom: owner@victim.example"),
        honest,
        "a line in the headers that is no header",
        number="a9",
        stopped_by=READING,
    ),
    Case(
        "a space before the colon of one From header",
        lambda: forged(b"From: mallory@evil.example\r\nFrom : owner@victim.example"),
        honest,
        "a line in the headers that is no header",
        number="a10",
        stopped_by=READING,
    ),
    Case(
        "a From header folded before its colon",
        lambda: forged(b"From\r\n : mallory@evil.example\r\nFrom: owner@victim.example"),
        honest,
        "a line in the headers that is no header",
        number="a11",
        stopped_by=READING,
    ),
    Case(
        "the owner as Sender",
        lambda: truly_from(EVIL, Sender=OWNER),
        lambda: Sent(letter(OWNER, Sender="secretary@victim.example"), OWNER, by_owner()),
        EVIL,
        number="a12",
        stopped_by=MEMBERSHIP,
    ),
    Case(
        "the owner in From, the spoofer as Sender",
        lambda: Sent(signed(letter(OWNER, Sender=EVIL), "evil.example"), OWNER, by_evil()),
        lambda: Sent(letter(OWNER, Sender="secretary@victim.example"), OWNER, by_owner()),
        "the DKIM signature of evil.example is good, but that is not victim.example",
        number="a12",
    ),
    Case(
        "the owner in Resent-From",
        lambda: truly_from(EVIL, Resent_From=OWNER),
        lambda: Sent(letter(OWNER, Resent_From="secretary@victim.example"), OWNER, by_owner()),
        EVIL,
        number="a13",
        stopped_by=MEMBERSHIP,
    ),
    Case(
        "two addresses in one From header",
        lambda: forged(b"From: <mallory@evil.example>, <owner@victim.example>"),
        lambda: honest(b'From: "Mallory, Owner" <owner@victim.example>'),
        "a From header that is not plainly one name and one address",
        number="a14",
        stopped_by=READING,
    ),
    Case(
        "an address in an encoded word",
        lambda: forged(b"From: " + ENCODED + b",<mallory@evil.example>"),
        lambda: honest(b"From: =?utf-8?q?Ow=C3=B1er?= <owner@victim.example>"),
        "a From header in which two readers see two addresses",
        number="a15",
        stopped_by=READING,
    ),
    Case(
        "an encoded word that looks like the owner's address, before the spoofer's own",
        lambda: forged(b"From: " + ENCODED + b" <mallory@evil.example>"),
        lambda: honest(b"From: =?utf-8?b?" + base64.b64encode(OWNER.encode()) + b"?= <owner@victim.example>"),
        "two readers see two addresses",
        number="a15",
        stopped_by=READING,
    ),
    Case(
        "a route before the owner's address",
        lambda: forged(b"From: <@evil.example,@any.example:owner@victim.example>"),
        honest,
        "a From header that is not plainly one name and one address",
        number="a16",
        stopped_by=READING,
    ),
    Case(
        "a quoted pair between two addresses",
        lambda: forged(b"From: <owner@victim.example>\\,<mallory@evil.example>"),
        lambda: honest(b'From: "The \\"owner\\"" <owner@victim.example>'),
        "a From header that is not plainly one name and one address",
        number="a17",
        stopped_by=READING,
    ),
    Case(
        "a bare address, a comma, and another",
        lambda: forged(b"From: owner@victim.example,<mallory@evil.example>"),
        honest,
        "a From header that is not plainly one name and one address",
        number="a18",
        stopped_by=READING,
    ),
    Case(
        "an address after the brackets",
        lambda: forged(b"From: <mallory@evil.example>owner@victim.example"),
        honest,
        "a From header that is not plainly one name and one address",
        number="a19",
        stopped_by=READING,
    ),
    Case(
        "two From headers, sent through the owner's own provider",
        lambda: insider(b"From: intern@victim.example\r\nFrom: owner@victim.example", OVERSIGNED),
        lambda: insider(b"From: owner@victim.example"),
        "2 From headers",
        number="client_a1",
        stopped_by=READING,
        fools="dkimpy",
    ),
    Case(
        "two addresses, sent through the owner's own provider",
        lambda: insider(b"From: <intern@victim.example>, <owner@victim.example>"),
        lambda: insider(b"From: <owner@victim.example>"),
        "a From header that is not plainly one name and one address",
        number="client_a2",
        stopped_by=READING,
        fools="dkimpy",
    ),
    Case(
        "the true From hidden behind a bare CR, sent through the owner's own provider",
        hidden_sender,
        lambda: insider(b"X-Note: a\r\nFrom: owner@victim.example"),
        "line breaks of more than one kind in the headers",
        stopped_by=READING,
        fools="dkimpy",
    ),
    Case(
        "a NUL in the From header",
        lambda: forged(b"From: owner@victim.example\x00@evil.example"),
        honest,
        "a NUL or another control character in the headers",
        number="a3",
        stopped_by=READING,
    ),
    Case(
        "a bare address as a name, before the spoofer's own",
        lambda: forged(b"From: owner@victim.example <mallory@evil.example>"),
        lambda: honest(b'From: "owner@victim.example" <owner@victim.example>'),
        "a From header that is not plainly one name and one address",
        stopped_by=READING,
    ),
    Case(
        "an address in a comment",
        lambda: forged(b"From: mallory@evil.example (<owner@victim.example>)"),
        lambda: honest(b"From: The Owner (Spring Ltd) <owner@victim.example>"),
        "a From header that is not plainly one name and one address",
        stopped_by=READING,
    ),
    Case(
        "a From header folded around an empty line",
        lambda: forged(b"From:\r\n \r\n owner@victim.example"),
        lambda: honest(b"From: The Owner\r\n <owner@victim.example>"),
        "a From header folded or filled in an unusual way",
    ),
    Case(
        "no From header",
        lambda: forged(b"Sender: owner@victim.example"),
        honest,
        "no From headers",
        stopped_by=READING,
    ),
    Case(
        "a name that looks like the owner's",
        lambda: truly_from(f'"The Owner of Victim" <{EVIL}>'),
        lambda: honest(b'From: "The Owner of Victim" <owner@victim.example>'),
        EVIL,
        stopped_by=MEMBERSHIP,
    ),
    Case(
        "a name that is the owner's address",
        lambda: truly_from(f'"{OWNER}" <{EVIL}>'),
        lambda: honest(b'From: "owner@victim.example" <owner@victim.example>'),
        EVIL,
        stopped_by=MEMBERSHIP,
    ),
    Case(
        "a domain that looks like the owner's",
        look_alike,
        honest,
        "owner@xn--victm-jza.example",
        stopped_by=MEMBERSHIP,
    ),
    Case(
        "a stranger with a stolen session token",
        lambda: Sent(
            signed(letter(EVIL, In_Reply_To="<reply.1@us.example>"), "evil.example"),
            EVIL,
            Envelope("203.0.113.66", "mail.evil.example", EVIL, ("edit+s1.5f3a@us.example",)),
        ),
        lambda: Sent(
            letter(OWNER, In_Reply_To="<reply.1@us.example>"),
            OWNER,
            Envelope("192.0.2.10", "mail.victim.example", OWNER, ("edit+s1.5f3a@us.example",)),
        ),
        EVIL,
        stopped_by=MEMBERSHIP,
    ),
    Case(
        "a stranger who got a copy, and answers in the thread",
        lambda: truly_from(EVIL, Cc=OWNER, References="<1@victim.example> <reply.1@us.example>"),
        lambda: Sent(letter(OWNER, Cc=EVIL, References="<1@victim.example>"), OWNER, by_owner()),
        EVIL,
        stopped_by=MEMBERSHIP,
    ),
]
