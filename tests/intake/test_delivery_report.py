"""Delivery reports as mail servers write them: which say that a letter failed for good, and which do not."""

import base64
import quopri
import time
from collections.abc import Callable

import pytest

from webordinary.intake.auto_replies import why_undeliverable


def report(*groups: str, kind: str = "message/delivery-status", before: str = "", after: str = "") -> bytes:
    """A report with its groups of fields: about the message first, then about each recipient."""
    fields = "\n\n".join(("Reporting-MTA: dns; mx.example.org\nArrival-Date: Tue, 12 May 2026", *groups))
    text = f"""From: MAILER-DAEMON@mx.example.org
To: edit@sites.example.net
Subject: Undelivered Mail Returned to Sender
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"

--b1
Content-Type: text/plain

{before or "I'm sorry to have to inform you that your message could not be delivered."}

--b1
Content-Description: Delivery report
Content-Type: {kind}

{fields}

--b1
Content-Type: message/rfc822

{after or "Subject: Re: Site"}

--b1--
"""
    return text.replace("\n", "\r\n").encode()


def recipient(action: str, status: str, diagnostic: str = "smtp; 550 no such user") -> str:
    return (
        f"Final-Recipient: rfc822; scott@example.com\nAction: {action}\nStatus: {status}\n"
        f"Diagnostic-Code: {diagnostic}"
    )


FAILED = recipient("failed", "5.1.1", "smtp; 550 5.1.1 <scott@example.com>: no such user")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (report(FAILED), "5.1.1 smtp; 550 5.1.1 <scott@example.com>: no such user"),
        (report(recipient("Failed", "5.2.2 (mailbox full)", "")), "5.2.2"),
        (report(recipient("failed (permanent)", "5.7.1")), "5.7.1 smtp; 550 no such user"),
        (report(FAILED, kind="message/global-delivery-status"), "5.1.1 smtp"),
        (report(FAILED, kind='Message/Delivery-Status; charset="us-ascii"'), "5.1.1 smtp"),
        (report("ACTION:failed\nSTATUS:5.0.0"), "5.0.0"),
        (
            report("Action: failed\nStatus: 5.1.10\nDiagnostic-Code: smtp;550 a\n\tfold"),
            "5.1.10 smtp;550 a fold",
        ),
        # somebody's address goes on to two mailboxes, and one of them is gone
        (report(recipient("relayed", "2.1.9"), FAILED), "5.1.1"),
        (report(FAILED).replace(b"\r\n", b"\n"), "5.1.1"),
    ],
)
def test_a_letter_that_failed_for_good_is_known(raw: bytes, reason: str) -> None:
    assert why_undeliverable(raw).startswith(reason)


@pytest.mark.parametrize(
    "raw",
    [
        report(recipient("delayed", "4.4.7")),
        report(recipient("delayed", "5.1.1")),  # still being tried, whatever was said
        report(recipient("failed", "4.4.7")),  # given up after days; the server may be back tomorrow
        report(recipient("delivered", "2.0.0")),
        report(recipient("relayed", "2.1.9")),
        report(recipient("expanded", "2.1.5")),
        report("Action: failed"),  # no status: nothing is made up
        report(recipient("failed", "55.1.1")),
        report(),
        # words of the letter that is returned, or of a person, are no report
        report(recipient("delayed", "4.4.7"), after=FAILED),
        report(recipient("delayed", "4.4.7"), before=f"{FAILED} (#5.1.1)"),
        report(FAILED, kind="message/disposition-notification"),
        b"From: scott@example.com\r\nAuto-Submitted: auto-replied\r\n\r\nI am away. Status: 5.1.1\r\n",
        b"From: scott@example.com\r\nAuto-Submitted: auto-replied\r\n\r\nSee ticket (#5.1.1)\r\n",
        b"",
    ],
)
def test_what_is_no_failure_for_good_is_none(raw: bytes) -> None:
    """A delay that counts as a failure stops the mail of somebody who reads it."""
    assert why_undeliverable(raw) == ""


@pytest.mark.parametrize(
    ("name", "encode"), [("base64", base64.encodebytes), ("quoted-printable", quopri.encodestring)]
)
def test_a_report_that_a_gateway_encoded_is_read(name: str, encode: Callable[[bytes], bytes]) -> None:
    fields = f"Reporting-MTA: dns; mx.example.org\r\n\r\n{FAILED}\r\n".replace("\n", "\r\n").encode()
    raw = report().partition(b"Content-Type: message/delivery-status")[0]
    raw += f"Content-Type: message/delivery-status\r\nContent-Transfer-Encoding: {name}\r\n\r\n".encode()
    assert why_undeliverable(raw + encode(fields) + b"\r\n--b1--\r\n").startswith("5.1.1")


QMAIL = (
    b"From: MAILER-DAEMON@example.com\r\nSubject: failure notice\r\n\r\nHi. This is the mail program.\r\n\r\n"
    b"<scott@example.com>:\r\nSorry, no mailbox here by that name. (#5.1.1)\r\n"
)
EXIM = b"X-Failed-Recipients: scott@example.com\r\nSubject: Mail delivery failed\r\n\r\nno such user\r\n"
PLAIN = (
    b"From: Mail Delivery System <postmaster@example.com>\r\nSubject: Undelivered mail\r\n\r\n"
    b"The remote server 192.0.2.5 said:\r\n550 Requested action not taken: mailbox unavailable\r\n"
)


@pytest.mark.parametrize("raw", [QMAIL, EXIM, PLAIN])
def test_servers_from_before_the_standard_are_understood(raw: bytes) -> None:
    assert why_undeliverable(raw)


@pytest.mark.parametrize(
    "raw",
    [
        QMAIL.replace(b"(#5.1.1)", b"(#4.4.1)"),
        EXIM.replace(b"Mail delivery failed", b"Warning: message delayed 24 hours"),
        PLAIN.replace(b"Undelivered mail", b"Delivery Status Notification (Delay)"),
        PLAIN.replace(b"550 Requested action not taken", b"450 4.2.0 Requested action not taken"),
        PLAIN.replace(b"550 Requested", b"see 5.1.1.20:5500"),
        PLAIN.replace(b"postmaster@", b"scott@"),  # a person, or their note of absence
    ],
)
def test_what_older_servers_say_otherwise_is_no_failure(raw: bytes) -> None:
    assert why_undeliverable(raw) == ""


@pytest.mark.parametrize(
    "raw",
    [
        report("Action: failed\n" * 20_000),
        report("Status: 5.1.1\n " * 50_000),
        report(FAILED).replace(b"5.1.1", b"5." + b"1" * 200_000),
        b"Content-Type: message/delivery-status\n" * 10_000,
        b"\n" * 1_000_000,
        bytes(range(256)) * 8_000,
    ],
)
def test_a_hostile_report_takes_no_time(raw: bytes) -> None:
    started = time.process_time()
    assert len(why_undeliverable(raw)) <= 200
    assert time.process_time() - started < 2
