"""Who a mail says it is from. One reading, or none."""

from __future__ import annotations

import pytest

from webordinary.core.mail import ParsedMail, UnreadableMail
from webordinary.intake.read import read

ONE_ADDRESS = {
    "scott@example.com": "scott@example.com",
    "<scott@example.com>": "scott@example.com",
    "Scott <scott@example.com>": "scott@example.com",
    '"Miller, Scott" <scott@example.com>': "scott@example.com",
    '"Scott \\"the baker\\" Miller" <scott@example.com>': "scott@example.com",
    "Scott (Sales) <scott@example.com>": "scott@example.com",
    "Scott J. Miller <SCOTT@Example.COM>": "scott@example.com",
    "=?utf-8?b?0JjQstCw0L0=?= <ivan@example.org>": "ivan@example.org",
    '"=?utf-8?b?0JjQstCw0L0=?=" <ivan@example.org>': "ivan@example.org",
    "Zoë <zoe@example.org>": "zoe@example.org",
    '"scott@example.com" <scott@example.com>': "scott@example.com",
    "scott+site@mail.example.com": "scott+site@mail.example.com",
    "o'neil@example.com": "o'neil@example.com",
    "owner@localhost": "owner@localhost",
    '"Scott @ Amelia" <scott@example.com>': "scott@example.com",
    # Unusual, but there is only one way to read it.
    "scott@example.com (comment)": "scott@example.com",
    "(comment) scott@example.com": "scott@example.com",
    "Miller, Scott <scott@example.com>": "scott@example.com",
    "[Amelia] Scott <scott@example.com>": "scott@example.com",
    "Scott [Amelia, Inc.] <scott@example.com> (away)": "scott@example.com",
    "scott@example.com <scott@example.com>": "scott@example.com",
    "Scott@Example.com <scott@example.com>": "scott@example.com",
}
NOBODY = [
    "",
    "<>",
    "Scott",
    "scott@",
    "@example.com",
    "scott@example.com, mallory@evil.example.org",
    "scott@example.com; mallory@evil.example.org",
    "scott@example.com mallory@evil.example.org",
    "Scott <scott@example.com>, Mallory <mallory@evil.example.org>",
    "Scott <scott@example.com> <mallory@evil.example.org>",
    "<scott@example.com><mallory@evil.example.org>",
    "<<scott@example.com>>",
    "scott@example.com (mallory@evil.example.org)",
    "scott@example.com (a (nested) one)",
    "Miller, mallory@evil.example.org <scott@example.com>",
    "mallory@evil.example.org, <scott@example.com>",
    "scott, mallory@evil.example.org",
    "Team: Scott <scott@example.com>",
    "[mallory@evil.example.org] <scott@example.com>",
    "<mallory@evil.example.org>scott@example.com",
    "scott@example.com <mallory@evil.example.org>",
    "scott@example.com<mallory@evil.example.org>",
    "'scott@example.com' <scott@example.com>",
    "scott@example.com, <scott@example.com>",
    '"scott@example.com" <mallory@evil.example.org>',
    '"Scott <scott@example.com>" <mallory@evil.example.org>',
    '"scott@example.com"@evil.example.org',
    '"scott@example.com" mallory@evil.example.org',
    '"a b"@example.com',
    '""@example.com',
    "=?utf-8?q?scott=40example.com?= <mallory@evil.example.org>",
    "=?utf-8?q?scott=40example.com=3E?= <mallory@evil.example.org>",
    "scott＠example.com <mallory@evil.example.org>",
    "=?utf-8?q?scott?=@example.com",
    "=?utf-8?q?=3Cscott=40example.com=3E?=",
    "Group: scott@example.com;",
    "Group:;",
    "Group: scott@example.com, a@example.org;",
    "undisclosed-recipients:;",
    "scott@example.com (mallory@evil.example.org)",
    "Scott ( <scott@example.com>",
    'Scott "(" ( <scott@example.com>',
    "scott(comment)@example.com",
    "scott@(comment)example.com",
    "scott@example.com@evil.example.org",
    "scott@example.com\\@evil.example.org",
    "scott@[192.0.2.1]",
    "scott@example..com",
    "scott@.example.com",
    "scott@example.com.",
    "scott@-example.com",
    "scott@exam_ple.com",
    "scott..miller@example.com",
    ".scott@example.com",
    "scott@example.com\x00",
    "scott\x00@example.com",
    "Scott <scott@example.com\x00@evil.example.org>",
    "Scott <scott@ex\u0430mple.com>",  # a Cyrillic letter
    "Sc\x1bott <scott@example.com>",
    "Scott <scott @example.com>",
    "Scott <scott@example.com",
    "Scott scott@example.com>",
    "Amelia: Scott <scott@example.com>",
    "<@evil.example.org:scott@example.com>",
    "x" * 65 + "@example.com",
    "scott@" + "x." * 130 + "com",
    "S" * 1_000 + " <scott@example.com>",
]


def mail_from(line: bytes) -> ParsedMail | UnreadableMail:
    return read(line + b"\r\nSubject: x\r\n\r\nhello\r\n")


@pytest.mark.parametrize("value", ONE_ADDRESS)
def test_one_clear_address_is_the_sender(value: str) -> None:
    mail = mail_from(b"From: " + value.encode())
    assert isinstance(mail, ParsedMail)
    assert mail.from_address == ONE_ADDRESS[value]


@pytest.mark.parametrize("value", NOBODY)
def test_anything_else_is_nobody(value: str) -> None:
    """Each of these is read as one address by some program and as another one by the next."""
    mail = mail_from(b"From: " + value.encode())
    assert isinstance(mail, UnreadableMail)
    assert mail.reply_to == ""
    assert mail.reason


@pytest.mark.parametrize(
    "lines",
    [
        b"From: scott@example.com\r\nFrom: mallory@evil.example.org",
        b"From: scott@example.com\r\nfrom: scott@example.com",
        b"From: scott@example.com\r\nFROM:mallory@evil.example.org",
        b"From: scott@example.com\r\nFrom : mallory@evil.example.org",
        b"From: scott@example.com\r\nFrom\t: mallory@evil.example.org",
        b"From: scott@example.com\r\nFrom\x00: mallory@evil.example.org",
        b"From: scott@example.com\r\n\x00From: mallory@evil.example.org",
        b"From: scott@example.com\r\nX: y\rFrom: mallory@evil.example.org",
        b"From: scott@example.com\r\nFro\xc3\xadm: mallory@evil.example.org",
        b"From: scott@example.com\r\nFrom\r\n : mallory@evil.example.org",
        b"From: scott@example.com\r\nno header line\r\nFrom: mallory@evil.example.org",
        b" From: scott@example.com",
        b" \r\nFrom: scott@example.com",
        b"From : scott@example.com",
        b"From scott@example.com\r\nFrom : scott@example.com",
        b"From:\xff scott@example.com",
        b"Sender: scott@example.com",
        b"Resent-From: scott@example.com",
        b"X-From: scott@example.com",
    ],
)
def test_lines_that_two_programs_read_differently_name_nobody(lines: bytes) -> None:
    """Servers check one line and people see the other: that is how forged mail gets through."""
    mail = mail_from(lines)
    assert isinstance(mail, UnreadableMail)
    assert mail.reply_to == ""


def test_a_folded_line_is_one_line() -> None:
    mail = mail_from(b"From: Scott\r\n\t<scott@example.com>")
    assert isinstance(mail, ParsedMail)
    assert mail.from_address == "scott@example.com"


def test_a_from_in_the_body_is_text() -> None:
    mail = read(b"From: scott@example.com\r\n\r\nFrom: mallory@evil.example.org\r\nhello\r\n")
    assert isinstance(mail, ParsedMail)
    assert mail.from_address == "scott@example.com"


def test_line_ends_without_carriage_returns_are_line_ends() -> None:
    """Files on disk have them, and IMAP servers made of such files."""
    mail = read(b"From: scott@example.com\nSubject: x\n\nhello\n")
    assert isinstance(mail, ParsedMail)
    assert (mail.from_address, mail.subject, mail.own_words) == ("scott@example.com", "x", "hello")


def test_a_name_in_latin_1_does_not_hide_an_address() -> None:
    mail = mail_from("From: J\xfcrgen <scott@example.com>".encode("latin-1"))
    assert isinstance(mail, ParsedMail)
    assert mail.from_address == "scott@example.com"


def test_an_unclear_sender_leaves_all_that_could_be_asked() -> None:
    mail = mail_from(b"From: Scott <Scott@example.com>, Mallory <mallory@evil.example.org>")
    assert isinstance(mail, UnreadableMail)
    assert mail.maybe_from == ("scott@example.com", "mallory@evil.example.org")
