"""Header lines: what they say, and what they can't do."""

from __future__ import annotations

import base64

import pytest

from webordinary.core.failure import MailProblem
from webordinary.core.mail import ParsedMail, UnreadableMail
from webordinary.intake.headers import base64_bytes, words_decoded
from webordinary.intake.limits import SUBJECT_CHARACTERS, THREAD_IDS
from webordinary.intake.mime_parts import kind_of_field, parameters
from webordinary.intake.read import read, unread


def mail_with(headers: bytes, body: bytes = b"hello\r\n") -> ParsedMail:
    mail = read(b"From: scott@example.com\r\n" + headers + b"\r\n" + body)
    assert isinstance(mail, ParsedMail)
    return mail


def encoded(content: bytes) -> bytes:
    return b"Subject: =?utf-8?B?" + base64.b64encode(content) + b"?=\r\n"


@pytest.mark.parametrize(
    "evil",
    [b"\r\n", b"\n", b"\r", b"\x00", b"\x0b", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\x1b[2J"],
)
def test_no_line_end_and_no_control_survives_in_a_subject(evil: bytes) -> None:
    """Our answer carries the subject in a header of its own: a line end in it would be a header of theirs."""
    mail = mail_with(encoded(b"Hello" + evil + b"Bcc: all@example.org"))
    assert "\n" not in mail.subject
    assert mail.subject.isprintable()
    assert mail.subject.startswith("Hello")
    assert mail.subject.endswith("Bcc: all@example.org")


def test_a_long_subject_is_cut() -> None:
    assert len(mail_with(b"Subject: " + b"x" * 5_000 + b"\r\n").subject) == SUBJECT_CHARACTERS


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("=?utf-8?q?a_b?=", "a b"),
        ("=?utf-8?q?a?= =?utf-8?q?b?=", "ab"),
        ("=?utf-8?q?a?=\r\n =?utf-8?q?b?=", "ab"),
        ("x =?utf-8?q?a?= y", "x a y"),
        ("=?utf-8?b?w7w=?=", "ü"),
        ("=?utf-8?b?ww==?= =?utf-8?b?vA==?=", "ü"),  # one character in two words
        ("=?utf-8?q?=C3?= =?utf-8?q?=BC?=", "ü"),
        ("=?iso-8859-1*de?q?=FC?=", "ü"),
        ("=?utf-8?q?=C3=BC?= =?iso-8859-1?q?=FC?=", "üü"),
        ("=?utf-8?q?a?= b =?utf-8?q?c?=", "a b c"),
        ("=?nonsense?q?a?=", "a"),
        ("=?utf-8?q?a", "=?utf-8?q?a"),
        ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
        ("=?punycode?q?a-b?=", "a-b"),
        ("=?utf-8?b?***?=", ""),
        ("a=?utf-8?q?b?=c", "abc"),
    ],
)
def test_encoded_words_are_read_as_their_writers_meant(written: str, meant: str) -> None:
    assert words_decoded(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"aGk=", b"hi"),
        (b"aGk", b"hi"),
        (b"a G\r\nk=!", b"hi"),
        (b"aGk=aGk=", b"hi"),
        (b"a", b""),
        (b"", b""),
    ],
)
def test_torn_base64_is_read_as_far_as_it_goes(written: bytes, meant: bytes) -> None:
    assert base64_bytes(written) == meant


def test_ids_keep_their_brackets_and_their_order() -> None:
    mail = mail_with(
        b"Message-ID:\r\n <a@x>\r\nIn-Reply-To: <b@x>\r\nReferences: <c@x> junk <d@x>\r\n <c@x>\r\n"
    )
    assert mail.message_id == "<a@x>"
    assert mail.in_reply_to == ("<b@x>",)
    assert mail.references == ("<c@x>", "<d@x>")


def test_of_a_very_long_thread_the_latest_ids_count() -> None:
    ids = [b"<%d@x>" % number for number in range(500)]
    mail = mail_with(b"References: " + b"\r\n ".join(ids) + b"\r\n")
    assert len(mail.references) == THREAD_IDS
    assert mail.references[-1] == "<499@x>"


@pytest.mark.parametrize(
    "line", [b"", b"Message-ID: none\r\n", b"Message-ID: <a@x>\r\nMessage-ID: <b@x>\r\n"]
)
def test_a_mail_without_one_clear_id_has_none(line: bytes) -> None:
    """Its content names it then: two names would make two jobs of one mail, or one of two."""
    assert mail_with(line).message_id == ""


def test_our_own_session_header_is_handed_on() -> None:
    assert mail_with(b"X-Webordinary-Session: abc.def\r\n").session_header == "abc.def"


def test_an_unread_mail_still_says_whom_to_answer() -> None:
    """Also when reading it was given up: the header alone is enough for that."""
    raw = b"From: scott@example.com\r\nMessage-ID: <a@x>\r\nAuto-Submitted: auto-replied\r\n\r\nx"
    mail = unread(raw, "it took too long")
    assert (mail.reply_to, mail.message_id, mail.reason) == ("scott@example.com", "<a@x>", "it took too long")
    assert mail.automatic
    assert unread(b"\x00", "no") == UnreadableMail(
        read(b"\x00").content_hash, "no", problem=MailProblem.TOO_LONG
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('text/plain; charset="utf-8"', {"charset": "utf-8"}),
        ("text/plain; Charset=UTF-8 (the usual)", {"charset": "UTF-8"}),
        ('x/y; name="a;b=\\"c\\""; z=1', {"name": 'a;b="c"', "z": "1"}),
        ("x/y; name=two words.pdf; z=1", {"name": "two words.pdf", "z": "1"}),
        ("x/y; name*=utf-8'de'%C3%BC.pdf; name=u.pdf", {"name": "ü.pdf"}),
        ('x/y; name*1="b"; name*0="a"', {"name": "ab"}),
        ("x/y; name*0*=iso-8859-1''%FC; name*1=b", {"name": "üb"}),
        ('x/y; name="=?utf-8?q?=C3=BC?="', {"name": "ü"}),
        ("x/y; a=1; a=2", {"a": "1"}),
        ("x/y;;; a ; =b; c=", {"c": ""}),
        ('x/y; a="never ended', {}),
        ("x/y", {}),
    ],
)
def test_parameters_are_read_in_every_way_that_programs_write_them(
    written: str, meant: dict[str, str]
) -> None:
    found = parameters(written)
    assert {name: found.get(name) for name in meant} == meant


@pytest.mark.parametrize("written", ["text", "text/", "/plain", "", "text plain", "a/b/c", "text/pl\x00ain"])
def test_a_kind_that_cannot_be_read_is_text(written: str) -> None:
    assert kind_of_field(written) == "text/plain"
