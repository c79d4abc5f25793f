"""Mail that must never be answered, and mail that must be."""

from __future__ import annotations

import pytest

from webordinary.core.mail import Envelope, ParsedMail
from webordinary.intake.noise import why_automatic_line
from webordinary.intake.read import read

OWN = ("sites.example.net",)
THREAD = "In-Reply-To: <a@example.net>\r\n"

MACHINES = [
    "Auto-Submitted: auto-generated",
    "Auto-Submitted: auto-replied; owner-email=x",
    "AUTO-SUBMITTED: AUTO-NOTIFIED",
    "Precedence: bulk",
    "Precedence: List",
    "Precedence: junk",
    "List-Id: <x>",
    "List-Unsubscribe: <mailto:x@example.org>",
    "List-Post: <mailto:x@example.org>",
    "X-Auto-Response-Suppress: All",
    "X-Auto-Response-Suppress: DR, OOF, AutoReply",
    "X-Autoreply: yes",
    "X-Autorespond: x",
    "X-Failed-Recipients: a@example.org",
    "Return-Path: <>",
    "Content-Type: multipart/report; report-type=disposition-notification; boundary=x",
    "Message-ID: <done.0123456789abcdef01234567@Sites.Example.Net>",
    THREAD + "Subject: Out of Office: hello",
    THREAD + "Subject: =?utf-8?q?R=C3=A9ponse_automatique=C2=A0=3A?= x",
    THREAD + "Subject: Automatische Antwort: x",
    THREAD + "Subject: Undeliverable: x",
]
PEOPLE = [
    "Auto-Submitted: no",
    "Precedence: normal",
    "Subject: Out of office in May",
    THREAD + "Subject: Re: Out of office in May",
    THREAD + "Subject: Please write about absence",
    "X-Auto-Response-Suppress: DR, RN, NRN",
    "X-Auto-Response-Suppress: None",
    "Return-Path: <scott@example.com>",
    "Message-ID: <x@example.com>",
    "Message-ID: <x@sites.example.net>",
    "Message-ID: <0123456789abcdef@sites.example.net>",
    "Message-ID: <done.0123456789abcdef01234567@evil.sites.example.net>",
    "X-Mailer: List-Id",
]
NOBODY_READS = [
    "mailer-daemon@example.org",
    "MAILER-DAEMON@example.org",
    "postmaster@example.org",
    "noreply@example.org",
    "no-reply@example.org",
    "no_reply+abc@example.org",
    "donotreply@example.org",
    "do-not-reply@example.org",
    "bounce+x=y@example.org",
    "bounces-123@example.org",
]
PERSONS = ["scott@example.org", "norbert@example.org", "noreplyhere@example.org", "rebounce@example.org"]


def automatic(header: str, sender: str = "scott@example.org") -> str:
    mail = read(f"From: {sender}\r\n{header}\r\n\r\nhello\r\n".encode(), OWN)
    return mail.automatic


@pytest.mark.parametrize("header", MACHINES)
def test_a_machine_is_known_by_its_header(header: str) -> None:
    """64 automatic answers to banks and bounces: that was one bug of another gateway."""
    assert automatic(header)


@pytest.mark.parametrize("header", PEOPLE)
def test_a_person_is_not_taken_for_a_machine(header: str) -> None:
    """Silence to somebody who wrote to us is worse than a stray answer."""
    assert automatic(header) == ""


@pytest.mark.parametrize("sender", NOBODY_READS)
def test_nobody_is_answered_where_nobody_reads(sender: str) -> None:
    assert automatic("Subject: x", sender)
    assert why_automatic_line(Envelope(mail_from=sender, recipients=("edit@sites.example.net",)))


@pytest.mark.parametrize("sender", PERSONS)
def test_a_name_that_only_resembles_a_machine_is_a_person(sender: str) -> None:
    assert automatic("Subject: x", sender) == ""
    assert why_automatic_line(Envelope(mail_from=sender, recipients=("edit@sites.example.net",))) == ""


def test_the_null_sender_of_the_line_is_a_machine() -> None:
    """Bounces come from nobody. A mail that was read from a file did not come over a line at all."""
    assert why_automatic_line(Envelope(mail_from="", recipients=("edit@sites.example.net",)))
    assert why_automatic_line(Envelope(mail_from="<>", recipients=("edit@sites.example.net",)))
    assert why_automatic_line(Envelope()) == ""


def test_an_automatic_mail_is_read_all_the_same() -> None:
    """The operator may want to see what it says."""
    mail = read(b"From: scott@example.org\r\nPrecedence: bulk\r\n\r\nhello\r\n")
    assert isinstance(mail, ParsedMail)
    assert (mail.instruction, mail.automatic) == ("hello", "it says that it is bulk mail (bulk)")
