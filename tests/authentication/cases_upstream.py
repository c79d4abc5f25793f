"""Forgeries of the word of a server before us: what it never wrote, or was made to write."""

from tests.authentication.case import Case
from tests.authentication.world import (
    OWNER,
    RELAY,
    UPSTREAM,
    US,
    Sent,
    by_evil,
    from_mailbox,
    key_of,
    letter,
    signed,
)
from webordinary.core.mail import Envelope
from webordinary.intake.authenticate import Trust

TRUST = Trust((UPSTREAM,), (RELAY,))
PASS = f"{UPSTREAM}; dmarc=pass (p=reject dis=none) header.from=victim.example"
FAIL = f"{UPSTREAM}; dmarc=fail (p=reject dis=none) header.from=victim.example"
NOT_ITS_WORD = f"the topmost Authentication-Results header is not one of {UPSTREAM}"


def said(*results: str, name: str = "Authentication-Results") -> bytes:
    """A mail with these headers on top, the last one lowest."""
    return b"".join(f"{name}: {result}\r\n".encode() for result in results) + letter()


def verified(*results: str) -> Sent:
    """A mail with a signature that only the upstream could verify: its key is not published any more."""
    raw = signed(letter(), selector="gone", key=key_of("victim.example"))
    top = b"".join(f"Authentication-Results: {result}\r\n".encode() for result in results)
    return Sent(top + raw, OWNER, Envelope(RELAY, UPSTREAM, "bounce@evil.example", (US,)))


def relayed(*results: str) -> Sent:
    return Sent(said(*results), OWNER, Envelope(RELAY, UPSTREAM, "bounce@evil.example", ("edit@us.example",)))


def collected(*results: str) -> Sent:
    """Out of a mailbox that the upstream fills."""
    return Sent(said(*results), OWNER, from_mailbox())


def case(name: str, forgery: Sent, reason: str, twin: Sent | None = None, number: str = "") -> Case:
    return Case(name, lambda: forgery, lambda: twin or relayed(PASS), reason, number, trust=TRUST)


UPSTREAM_CASES = [
    case(
        "its header, in mail that a stranger hands over directly",
        Sent(said(PASS), OWNER, by_evil()),
        "SPF of evil.example passed, but that is not victim.example",
    ),
    case(
        "a forged one below its own",
        relayed(FAIL, PASS),
        f"{UPSTREAM} says that DMARC failed",
        relayed(PASS, FAIL),
    ),
    case(
        "the same out of a mailbox",
        collected(FAIL, PASS),
        f"{UPSTREAM} says that DMARC failed",
        collected(PASS, FAIL),
    ),
    case("a look-alike name on top", relayed(PASS.replace("mx.", "mx-"), PASS), NOT_ITS_WORD),
    case(
        "its name with a stranger's behind it", relayed(PASS.replace(";", ".evil.example;", 1)), NOT_ITS_WORD
    ),
    case("its name in a comment", relayed(f"({UPSTREAM}) evil.example; {PASS.split('; ')[1]}"), NOT_ITS_WORD),
    case("a comment before its name", relayed(f"(hello) {PASS}"), NOT_ITS_WORD),
    case("a comment glued to its name", relayed(PASS.replace(";", "(.evil.example);", 1)), NOT_ITS_WORD),
    case(
        "its name, folded in an odd way",
        relayed(f"\r\n \r\n {PASS}"),
        NOT_ITS_WORD,
        relayed(PASS.replace("; ", ";\r\n\t")),
    ),
    case(
        "a header of nearly the same name",
        Sent(said(PASS, name="X-Authentication-Results"), OWNER, from_mailbox()),
        NOT_ITS_WORD,
        collected(PASS),
    ),
    case(
        "DMARC that passed for another From",
        relayed(PASS.replace("victim.example", "evil.example")),
        "DMARC passed, but for another From domain",
    ),
    case(
        "DMARC that passed for nobody knows whom",
        relayed(f"{UPSTREAM}; dmarc=pass"),
        "DMARC passed, but for another From domain",
    ),
    case("DMARC twice", relayed(f"{FAIL}; {PASS.split('; ')[1]}"), NOT_ITS_WORD),
    case(
        "a MAIL FROM that opens a comment",
        relayed(f"{UPSTREAM}; spf=pass smtp.mailfrom=any@victim.example(.evil.example; dkim=none (no key)"),
        NOT_ITS_WORD,
        relayed(f"{UPSTREAM}; spf=pass (it may) smtp.mailfrom=any@victim.example; dkim=none (no key)"),
        number="a5",
    ),
    case(
        "a MAIL FROM that looks like a comment and more",
        relayed(f"{UPSTREAM}; spf=pass smtp.mailfrom=any@victim.example (x) a.b=c@evil.example"),
        "SPF says nothing",
        relayed(f"{UPSTREAM}; spf=pass smtp.mailfrom=any@victim.example smtp.helo=mail.victim.example"),
        number="a6",
    ),
    case(
        "a signature's domain with a quote",
        relayed(f"{UPSTREAM}; dkim=pass header.d=victim.example'a.evil.example"),
        "SPF says nothing",
        verified(f"{UPSTREAM}; dkim=pass header.d=victim.example header.s=s1 header.b=abc"),
        number="a4",
    ),
    case(
        "a signature's domain with a property behind it",
        relayed(f"{UPSTREAM}; dkim=pass header.d=victim.example header.b=.evil.example"),
        "SPF says nothing",
        verified(f"{UPSTREAM}; dkim=pass header.d=victim.example header.a=rsa-sha256"),
        number="a4",
    ),
    case(
        "a signature's domain with a comment glued to more",
        relayed(f"{UPSTREAM}; dkim=pass header.d=victim.example (x)header.s=evil.example"),
        NOT_ITS_WORD,
        verified(f"{UPSTREAM}; dkim=pass header.d=victim.example (x) header.s=s1"),
        number="a4",
    ),
    case(
        "SPF that passed for a stranger",
        relayed(
            f"{UPSTREAM}; spf=pass smtp.mailfrom=bounce@evil.example; dmarc=none header.from=victim.example"
        ),
        "SPF of evil.example passed, but that is not victim.example",
        relayed(f"{UPSTREAM}; spf=pass smtp.mailfrom=victim.example; dmarc=none header.from=victim.example"),
    ),
    case(
        "a signature that passed for a stranger",
        relayed(f"{UPSTREAM}; dkim=pass header.i=@evil.example; dkim=fail header.i=@victim.example"),
        "nothing shows that it is from victim.example",
        verified(f"{UPSTREAM}; dkim=fail header.i=@evil.example; dkim=pass header.i=@victim.example"),
    ),
]
