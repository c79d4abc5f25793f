"""Addresses have one spelling, and none that could be taken for another is let in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webordinary.core.errors import BadInput
from webordinary.identify.onboarding import canonical_address


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("scott@example.org", "scott@example.org"),
        ("  scott@example.org ", "scott@example.org"),
        ("Scott.Smith+web@Mail.Example.ORG", "scott.smith+web@mail.example.org"),
        ("o'brien_99@a-b.co", "o'brien_99@a-b.co"),
        ("me@localhost", "me@localhost"),
        ("info@bäckerei.de", "info@xn--bckerei-5wa.de"),
        ("info@BÄCKEREI.de", "info@xn--bckerei-5wa.de"),
        ("info@smørrebrød.dk", "info@xn--smrrebrd-64af.dk"),
        ("info@łódź.pl", "info@xn--d-uga0v4h.pl"),
        ("info@xn--bckerei-5wa.de", "info@xn--bckerei-5wa.de"),
        ("info@xn--80ak6aa92e.com", "info@xn--80ak6aa92e.com"),
    ],
)
def test_an_address_is_kept_in_its_one_spelling(written: str, kept: str) -> None:
    assert canonical_address(written) == kept
    assert canonical_address(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "scott",
        "scott@",
        "@example.org",
        "scott@example",
        "scott@.org",
        "scott@example..org",
        "scott@example.org.",
        "scott@-example.org",
        "scott@example-.org",
        "scott@exam_ple.org",
        "scott@10.0.0.1",
        "scott@[10.0.0.1]",
        "scott@example.org@evil.org",
        "owner@example.org <x@evil.org>",
        "Scott <scott@example.org>",
        '"scott"@example.org',
        "scott smith@example.org",
        "scott@example.org,tara@example.org",
        "scott(comment)@example.org",
        ".scott@example.org",
        "scott.@example.org",
        "sc..ott@example.org",
        "scott@xn--.org",
        "scott@xn--99999999999.org",
        "scott@" + "a" * 64 + ".org",
        "a" * 65 + "@example.org",
        "a@" + ".".join(["b" * 60] * 5),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="address"):
        canonical_address(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("scоtt@example.org", "CYRILLIC SMALL LETTER O"),
        ("scött@example.org", "before the @"),
        ("scott@аmelia.com", "CYRILLIC SMALL LETTER A.*xn--melia-3ve.com"),
        ("scott@аррӏе.com", "CYRILLIC.*xn--80ak6aa92e.com"),
        ("scott@αmelia.com", "GREEK SMALL LETTER ALPHA"),
        ("scott@ａmelia.com", "FULLWIDTH LATIN SMALL LETTER A"),
        ("scott@ɑmelia.com", "LATIN SMALL LETTER ALPHA"),
        ("scott@amelıa.com", "DOTLESS I"),
        ("scott@ameliạ.com", "LATIN SMALL LETTER A WITH DOT BELOW"),
        ("scott@ﬁre.com", "LATIN SMALL LIGATURE FI"),
        ("scott@straße.de", "SHARP S"),
        ("scott@\u212aelvin.org", "KELVIN SIGN"),
        ("scott@ba\u0308ckerei.de", "COMBINING DIAERESIS"),
        ("scott@amelia\u3002com", "IDEOGRAPHIC FULL STOP"),
        ("scott@日本.jp", "CJK.*xn--wgv71a.jp"),
        ("scott\uff20example.org", "is no address"),
        ("scott@exam\u200bple.org", "ZERO WIDTH SPACE"),
        ("scott@\u202eexample.org", "RIGHT-TO-LEFT OVERRIDE"),
        ("scott@example.org\n", "U\\+000A"),
        ("scott\x00@example.org", "U\\+0000"),
        ("scott@\ud800.org", "U\\+D800"),
        ("scott@example.org\u00a0", "NO-BREAK SPACE"),
    ],
)
def test_what_may_look_like_another_address_is_refused_by_its_name(text: str, reason: str) -> None:
    """An address copied from a mail may be a trick; the operator must see which letter it is."""
    with pytest.raises(BadInput, match=reason) as refused:
        canonical_address(text)
    assert str(refused.value).isprintable()


@given(st.text() | st.from_regex(r"[a-zA-Zäßаø.+-]{1,9}@[a-zA-Zäßаø.-]{1,9}\.[a-zö]{2,3}", fullmatch=True))
def test_whatever_is_let_in_is_plain_and_has_one_spelling(text: str) -> None:
    try:
        address = canonical_address(text)
    except BadInput:
        return
    assert address.isascii()
    assert address.isprintable()
    assert address == address.lower() == canonical_address(address)
    assert address.count("@") == 1
