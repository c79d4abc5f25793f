"""A conversation's name in an address: nobody makes one up, and mail servers may shout it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webordinary.core.errors import BadInput
from webordinary.core.mail import MailId, SessionId
from webordinary.core.signed_addresses import (
    LOCAL_PART_CHARACTERS,
    MAILBOX_NAME_CHARACTERS,
    lengthened_id,
    session_address,
    session_from_address,
    session_from_addresses,
    session_token,
    shortened_id,
)
from webordinary.flows.receive import CONFIRMATION

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
OURS = "edit@webordinary.example"
SESSION = SessionId("6f1ed002ab559585")


@given(st.from_regex(r"[a-z0-9]{1,2}(-?[a-z0-9]){0,20}", fullmatch=True))
def test_what_we_sign_we_read(name: str) -> None:
    session = SessionId(name)
    address = session_address(session, KEY, OURS)
    assert session_from_address(address, KEY) == session
    assert session_from_address(address.upper(), KEY) == session  # some servers change the case
    assert session_from_address(session_token(session, KEY), KEY) == session
    assert session_from_address(address, OTHER_KEY) is None


@given(st.text())
def test_whatever_stands_in_an_address_it_is_read_without_an_error(text: str) -> None:
    assert session_from_address(text, KEY) is None
    assert session_from_address(f"edit+{text}@webordinary.example", KEY) is None
    assert session_from_addresses([text], text, KEY) == ""


@given(st.text())
def test_a_name_that_could_not_be_part_of_an_address_leaves_the_address_as_it_is(name: str) -> None:
    """Its thread is still found by Message-ID."""
    address = session_address(SessionId(f"{name}\n"), KEY, OURS)
    assert address == OURS


@pytest.mark.parametrize("place", range(16))
def test_one_wrong_character_in_the_signature_is_enough(place: int) -> None:
    token = session_token(SESSION, KEY)
    name, _, signature = token.partition(".")
    wrong = signature[:place] + ("a" if signature[place] != "a" else "b") + signature[place + 1 :]
    assert session_from_address(f"edit+{name}.{wrong}@webordinary.example", KEY) is None


def test_the_signature_of_one_conversation_opens_no_other() -> None:
    signature = session_token(SESSION, KEY).partition(".")[2]
    assert session_from_address(f"edit+6f1ed002ab559586.{signature}@webordinary.example", KEY) is None


def test_the_longest_name_that_we_use_fits_an_address() -> None:
    """Some servers refuse a longer one, and then a member could not say yes."""
    confirmation = SessionId(CONFIRMATION + shortened_id(MailId("f" * 32)))
    longest = f"{'m' * MAILBOX_NAME_CHARACTERS}@webordinary.example"
    local = session_address(confirmation, KEY, longest).partition("@")[0]
    assert len(local) <= LOCAL_PART_CHARACTERS


@pytest.mark.parametrize("mail", ["0" * 32, "f" * 32, "0123456789abcdef" * 2, "m1", "", "f" * 31])
def test_a_shortened_id_is_read_again(mail: str) -> None:
    assert lengthened_id(shortened_id(MailId(mail))) == mail


def test_the_address_that_a_mail_was_sent_to_goes_before_its_header() -> None:
    other = SessionId("another")
    mine, theirs = session_address(SESSION, KEY, OURS), session_token(other, KEY)
    assert session_from_addresses(["x@y", mine], theirs, KEY) == SESSION
    assert session_from_addresses(["x@y"], theirs, KEY) == other
    assert session_from_addresses([], "", KEY) == ""


def test_a_short_key_is_refused() -> None:
    with pytest.raises(BadInput, match="16 bytes"):
        session_token(SESSION, b"short")
