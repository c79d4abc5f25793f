"""Whom a mail in a mailbox was for: by what servers wrote into its header, and only if that is us."""

import pytest

from tests.flows.door import ADDRESS, KEY
from webordinary.core.addresses import is_ours
from webordinary.core.mail import SessionId
from webordinary.core.signed_addresses import session_address, session_from_addresses
from webordinary.intake.headers import RECIPIENTS_MAX, UNKNOWN, envelope_of, names_us

TOKEN = session_address(SessionId("confirm-abc"), KEY, ADDRESS)
OTHER = session_address(SessionId("another"), KEY, ADDRESS)


def raw(*fields: str) -> bytes:
    return "\r\n".join([*fields, "From: Scott <scott@example.com>", "", "Yes", ""]).encode()


@pytest.mark.parametrize(
    "fields",
    [
        (f"Delivered-To: {TOKEN}",),
        (f"X-Original-To: {TOKEN}", f"To: {ADDRESS}"),
        (f"Envelope-To: <{TOKEN}>",),
        (f"X-Delivered-To: {TOKEN.upper()}",),
        (f"X-Forwarded-To: me@home.example, {TOKEN}",),
        (f"To: Webordinary\r\n <{TOKEN}>, Mary <mary@example.com>",),
        (f'To: "Mary, of the office" <mary@example.com>,\r\n\t"Edit" <{TOKEN}>',),
        (f"To: Undisclosed:; ({TOKEN})",),
        (f"Cc: {TOKEN}", "To: mary@example.com"),
        # The mailbox has a name of its own; below is that of the server that sent it on.
        ("Delivered-To: scott@mail.example", f"Delivered-To: {TOKEN}"),
        # Some servers take the tag away when they deliver.
        (f"Delivered-To: {ADDRESS}", f"X-Original-To: {TOKEN}"),
    ],
)
def test_a_token_is_found_wherever_servers_and_programs_write_it(fields: tuple[str, ...]) -> None:
    """Confirming and session addresses are answered to; out of a mailbox only the header tells."""
    recipients = envelope_of(raw(*fields), ADDRESS).recipients
    assert session_from_addresses(recipients, "", KEY) == "confirm-abc"


def test_what_servers_wrote_counts_before_what_the_sender_wrote() -> None:
    """A mail to two conversations at once belongs where it was delivered."""
    recipients = envelope_of(raw(f"To: {OTHER}", f"Delivered-To: {TOKEN}"), ADDRESS).recipients
    assert recipients == (TOKEN, OTHER)


def test_the_topmost_field_counts_first() -> None:
    """The last server writes on top; whatever a sender made up stands below."""
    recipients = envelope_of(raw(f"Delivered-To: {TOKEN}", f"Delivered-To: {OTHER}"), ADDRESS).recipients
    assert session_from_addresses(recipients, "", KEY) == "confirm-abc"


@pytest.mark.parametrize(
    "field",
    [
        "Delivered-To: edit@elsewhere.example",
        "Delivered-To: edit+confirm-abc.aaaaaaaaaaaaaaaa@evil.example",
        "Delivered-To: editor@webordinary.example",
        "Delivered-To: edit@webordinary.example.evil.example",
        "Delivered-To:",
        "To: nobody",
    ],
)
def test_an_address_that_is_not_ours_is_none(field: str) -> None:
    """Then the mail is for us because it lies in our mailbox, and for nobody in particular."""
    assert envelope_of(raw(field), ADDRESS).recipients == (ADDRESS,)
    assert not names_us(raw(field), ADDRESS)


def test_mail_for_the_postmaster_is_that_in_a_mailbox_too() -> None:
    """Whoever answers for the server gets it, and not an editor of sites."""
    postmaster = f"postmaster@{ADDRESS.partition('@')[2]}"
    assert envelope_of(raw(f"To: {postmaster}"), ADDRESS).is_for_postmaster
    assert not envelope_of(raw(f"To: {postmaster}, {ADDRESS}"), ADDRESS).is_for_postmaster
    assert not envelope_of(raw("To: postmaster@elsewhere.example"), ADDRESS).is_for_postmaster


def test_a_made_up_token_routes_nowhere() -> None:
    """Anybody can write these fields; nobody else can sign a name."""
    forged = ADDRESS.replace("@", "+confirm-abc.aaaaaaaaaaaaaaaa@")
    recipients = envelope_of(raw(f"Delivered-To: {forged}"), ADDRESS).recipients
    assert recipients == (forged,)
    assert session_from_addresses(recipients, "", KEY) == ""


@pytest.mark.parametrize(
    ("field", "sender"),
    [
        ("Return-Path: <scott@example.com>", "scott@example.com"),
        ("Return-Path: scott@example.com", "scott@example.com"),
        ("Return-Path: <>", ""),
        ("Return-Path:", UNKNOWN),
        ("Return-Path: <broken", UNKNOWN),
        ("X-Mailer: none", UNKNOWN),
        ("Return-Path: <>\r\nReturn-Path: <scott@example.com>", ""),
        ("Return-Path: <scott@example.com>\r\nReturn-Path: <>", "scott@example.com"),
    ],
)
def test_the_topmost_return_path_is_the_sender(field: str, sender: str) -> None:
    """The null sender is that of a bounce; a sender that is not told is not the null sender."""
    assert envelope_of(raw(field), ADDRESS).mail_from == sender


def test_a_header_that_cannot_be_read_still_has_an_envelope() -> None:
    """Why it can't be read is said when the mail is read."""
    broken = b"no header\r\n\r\ntext"
    assert envelope_of(broken, ADDRESS).recipients == (ADDRESS,)
    assert names_us(broken, ADDRESS)


def test_a_thousand_recipients_are_cut() -> None:
    many = ", ".join(ADDRESS.replace("@", f"+{number}@") for number in range(1000))
    assert len(envelope_of(raw(f"To: {many}"), ADDRESS).recipients) == RECIPIENTS_MAX


@pytest.mark.parametrize(
    ("address", "ours", "expected"),
    [
        ("Edit@Example.com", "edit@example.COM", True),
        ("edit+a@example.com", "edit@example.com", True),
        ("edit+a+b@example.com", "edit+a@example.com", True),
        ("edit@example.com", "edit+a@example.com", False),
        ("edit+ab@example.com", "edit+a@example.com", False),
        ("edit", "edit@example.com", False),
        ("edits@example.com", "edit@example.com", False),
        ("", "edit@example.com", False),
    ],
)
def test_our_address_and_its_plus_addresses_are_ours(address: str, ours: str, expected: bool) -> None:
    """Also where our own address is a plus-address of a mailbox that somebody else uses, too."""
    assert is_ours(address, ours) is expected


def test_a_mail_to_an_alias_is_for_us() -> None:
    """Owners have an address of their own domain forwarded to us."""
    alias = "web@owner.example"
    for to in (alias, "Web+x@Owner.Example"):
        assert names_us(raw(f"Delivered-To: {to}"), ADDRESS, alias)
        assert envelope_of(raw(f"Delivered-To: {to}"), ADDRESS, alias).recipients == (to,)
        assert envelope_of(raw(f"Delivered-To: {to}"), ADDRESS).recipients == (ADDRESS,)
