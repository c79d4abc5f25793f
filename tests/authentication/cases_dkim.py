"""Forgeries with signatures: somebody else's, broken ones, and true ones used again."""

import time
from collections.abc import Callable

from tests.authentication.case import Case, StoppedBy
from tests.authentication.keys import ed25519_key
from tests.authentication.world import BODY, HEADERS, OWNER, Sent, by_evil, by_relay, key_of, letter, signed

WITHOUT_FROM = tuple(name for name in HEADERS if name != "from")
WITHOUT_SUBJECT = tuple(name for name in HEADERS if name != "subject")
WITHOUT_ID = tuple(name for name in HEADERS if name != "message-id")
PART = {"l": str(len(BODY))}


def resent(raw: bytes, claimed: str = OWNER) -> Sent:
    """From anybody's server: only the signature can speak for it."""
    return Sent(raw, claimed, by_relay("anybody@anywhere.example"))


def honest() -> Sent:
    return resent(signed(letter()))


def by_spoofer(domain: str, tags: dict[str, str] | None = None) -> Sent:
    """Signed by the spoofer's key, for a domain that is looked up in the spoofer's zone."""
    return Sent(signed(letter(), domain, key=key_of("evil.example"), tags=tags), OWNER, by_evil())


def changed(
    old: bytes, new: bytes, raw: Callable[[], bytes] = lambda: signed(letter()), claimed: str = OWNER
) -> Sent:
    """A true mail of the owner's that somebody had, and changed."""
    true = raw()
    assert true.count(old) == 1
    return resent(true.replace(old, new), claimed)


def tagged(covers: tuple[str, ...] = HEADERS, selector: str = "s1", **tags: str) -> Sent:
    return resent(signed(letter(), selector=selector, covers=covers, tags=tags))


def of(domain: str, signer: str) -> Sent:
    return resent(signed(letter(f"owner@{domain}"), signer), f"owner@{domain}")


DKIM_CASES = [
    Case(
        "the spoofer's own good signature under the owner's From",
        lambda: by_spoofer("evil.example"),
        honest,
        "the DKIM signature of evil.example is good, but that is not victim.example",
        fools="dkimpy",
    ),
    Case(
        "a NUL in the selector, that leads some to the spoofer's zone",
        lambda: by_spoofer("victim.example", {"s": "s1._domainkey.evil.example.\x00.any"}),
        honest,
        "a NUL or another control character in the headers",
        number="a3",
        stopped_by=StoppedBy.AUTHENTICATION,
    ),
    Case(
        "a quote in the signature's domain",
        lambda: by_spoofer("victim.example'a.evil.example"),
        honest,
        "its domain or selector is not plainly a name",
        number="a4",
        fools="dkimpy",
    ),
    Case(
        "a parenthesis in the signature's domain",
        lambda: by_spoofer("victim.example(.evil.example"),
        honest,
        "its domain or selector is not plainly a name",
        number="a4",
    ),
    Case(
        "the signature's domain named twice",
        lambda: changed(b"d=victim.example;", b"d=evil.example; d=victim.example;"),
        honest,
        "it can't be read, or its parts are missing",
    ),
    Case(
        "text added after the part of the body that is signed",
        lambda: resent(signed(letter(), tags=PART) + b"Also delete the site.\r\n"),
        lambda: resent(signed(letter(), tags=PART)),
        "it covers only a part of the body",
        number="replay",
        fools="dkimpy",
    ),
    Case(
        "a signature of no body at all",
        lambda: tagged(l="0"),
        lambda: resent(signed(letter(body=""), tags={"l": "0"})),
        "it covers only a part of the body",
        number="replay",
        fools="dkimpy",
    ),
    Case(
        "a signature that does not cover From, used again under the owner's",
        lambda: changed(
            b"From: intern@victim.example",
            b"From: owner@victim.example",
            lambda: signed(letter("intern@victim.example"), covers=WITHOUT_FROM),
        ),
        honest,
        "it does not cover the From header",
        number="replay",
        fools="dkimpy",
    ),
    Case(
        "a signature that does not cover Subject, used again with another one",
        lambda: changed(
            b"Subject: The homepage", b"Subject: undo", lambda: signed(letter(), covers=WITHOUT_SUBJECT)
        ),
        lambda: resent(signed(letter(Subject=""), covers=WITHOUT_SUBJECT)),
        "its signature does not cover Subject",
        number="replay",
        weak=True,
        fools="dkimpy",
    ),
    Case(
        "a second Subject above the signed one",
        lambda: resent(b"Subject: undo\r\n" + signed(letter())),
        honest,
        "the Subject header is there more than once",
        number="replay",
        fools="dkimpy",
    ),
    Case(
        "a second Content-Type above the signed one",
        lambda: resent(b"Content-Type: text/html\r\n" + signed(letter())),
        honest,
        "the Content-Type header is there more than once",
        number="replay",
        fools="dkimpy",
    ),
    Case(
        "an old mail as a new one, with a Message-ID that is not signed",
        lambda: changed(
            b"<1@victim.example>", b"<2@victim.example>", lambda: signed(letter(), covers=WITHOUT_ID)
        ),
        honest,
        "its signature does not cover Message-Id",
        number="replay",
        weak=True,
        fools="dkimpy",
    ),
    Case(
        "an instruction that was changed",
        lambda: changed(b"Spring Sale", b"Closed Down"),
        honest,
        "the body was changed after signing",
    ),
    Case(
        "a Subject that was changed",
        lambda: changed(b"Subject: The homepage", b"Subject: undo"),
        honest,
        "it does not match the mail or its key",
    ),
    Case(
        "a From that was changed to another account of the same provider",
        lambda: changed(
            b"From: intern@victim.example",
            b"From: owner@victim.example",
            lambda: signed(letter("intern@victim.example")),
        ),
        honest,
        "it does not match the mail or its key",
    ),
    Case(
        "a signature that expired an hour ago",
        lambda: tagged(t=str(int(time.time()) - 7200), x=str(int(time.time()) - 3600)),
        lambda: tagged(x=str(int(time.time()) + 3600)),
        "it has expired",
        fools="dkimpy",
    ),
    Case(
        "a key that was revoked",
        lambda: resent(signed(letter(), selector="revoked", key=key_of("victim.example"))),
        honest,
        "its key was revoked",
    ),
    Case(
        "a key that is not published any more",
        lambda: resent(signed(letter(), selector="gone", key=key_of("victim.example"))),
        honest,
        "its key is not published",
    ),
    Case(
        "a selector with two keys, of which one is the spoofer's",
        lambda: resent(signed(letter(), selector="twice", key=key_of("evil.example"))),
        honest,
        "more than one key is published for it",
    ),
    Case(
        "an algorithm that is not the key's",
        lambda: tagged(a="ed25519-sha256"),
        honest,
        "its key is of another kind than its algorithm",
        fools="dkimpy",
    ),
    Case(
        "a key so short that it can be broken",
        lambda: tagged(selector="short"),
        lambda: tagged(selector="old"),
        "its key is too short (768 bits)",
    ),
    Case(
        "an algorithm that can be broken",
        lambda: tagged(a="rsa-sha1"),
        honest,
        "its algorithm is too weak or unknown",
        fools="dkimpy",
    ),
    Case(
        "a signature of a subdomain, where the owner's domain asks for strict alignment",
        lambda: of("strict.example", "mail.strict.example"),
        lambda: of("strict.example", "strict.example"),
        "of mail.strict.example is good, but strict.example accepts only its very own name",
        fools="dkimpy",
    ),
    Case(
        "a signature of a neighbour under the same public suffix",
        lambda: of("shop.co.uk", "evil.co.uk"),
        lambda: of("shop.co.uk", "shop.co.uk"),
        "the DKIM signature of evil.co.uk is good, but that is not shop.co.uk",
        weak=True,
        fools="dkimpy",
    ),
    Case(
        "a signature of the public suffix itself",
        lambda: of("shop.co.uk", "co.uk"),
        lambda: of("www.shop.co.uk", "shop.co.uk"),
        "the DKIM signature of co.uk is good, but that is not shop.co.uk",
        weak=True,
        fools="dkimpy",
    ),
    Case(
        "a signature of another customer of the same hosting provider",
        lambda: of("site.github.io", "evil.github.io"),
        lambda: of("site.github.io", "site.github.io"),
        "the DKIM signature of evil.github.io is good, but that is not site.github.io",
        weak=True,
        fools="dkimpy",
    ),
    Case(
        "a broken signature of a domain that publishes no policy",
        lambda: changed(
            b"Spring Sale",
            b"Closed Down",
            lambda: signed(letter("owner@quiet.example"), "quiet.example"),
            "owner@quiet.example",
        ),
        lambda: of("quiet.example", "quiet.example"),
        "the body was changed after signing",
        weak=True,
    ),
    Case(
        "an ed25519 signature of a mail that was changed",
        lambda: changed(
            b"Spring Sale", b"Closed Down", lambda: signed(letter(), selector="ed", key=ed25519_key(1))
        ),
        lambda: resent(signed(letter(), selector="ed", key=ed25519_key(1))),
        "the body was changed after signing",
        needs="nacl",
    ),
]
