"""Who a mail says it is from: exactly one From header with exactly one address, or nobody.

Everything that servers, libraries and people could read differently is refused. What is accepted here was
read by our own narrow grammar *and* by the standard library, and both found the same address.
"""

from __future__ import annotations

import re
import unicodedata
from email.policy import default as default_policy

from webordinary.intake.headers import Headers, words_decoded
from webordinary.intake.limits import ADDRESS_CHARACTERS, FROM_BYTES, LOCAL_PART_CHARACTERS
from webordinary.intake.problems import CannotRead

NO_FROM = "it does not say who it is from"
TWO_FROM = "it has more than one From line"
UNCLEAR_FROM = "it is not clear who it is from"
SEVERAL_ADDRESSES = "its From line names more than one address, or a group"
OTHER_ADDRESS = "its sender's name looks like another address than the one it is from"

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"(?P<local>{_ATOM}(?:\.{_ATOM})*)@(?P<domain>{_LABEL}(?:\.{_LABEL})*)", re.ASCII)
# A name, then the address in angle brackets. The name's words have nothing in them that means something in an
# address; a quoted name may.
_MAILBOX = re.compile(
    r"""(?P<name>(?:[^<>@,;:"\\\x00-\x1f\x7f]|"(?:[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*+")*+)<(?P<address>[^<>\s]+)>"""
)
_LOOKS_LIKE_ADDRESS = re.compile(r"[^\s@<>()\[\]\"',;:]+@[^\s@<>()\[\]\"',;:]+\.[^\s@<>()\[\]\"',;:]+")


def one_sender(headers: Headers) -> str:
    """The one address in the one From header, in lower case."""
    values = headers.all("from")
    if not values:
        raise CannotRead(NO_FROM)
    if len(values) > 1:
        raise CannotRead(TWO_FROM)
    if len(values[0]) > FROM_BYTES:
        raise CannotRead(UNCLEAR_FROM)
    try:
        value = values[0].decode("utf-8").replace("\t", " ").strip(" ")
    except UnicodeDecodeError:
        raise CannotRead(UNCLEAR_FROM) from None
    address = _by_our_grammar(value)
    if _by_the_library(value) != address:
        raise CannotRead(UNCLEAR_FROM)
    return address


def _by_our_grammar(value: str) -> str:
    mailbox = _MAILBOX.fullmatch(value)
    address = _ADDRESS.fullmatch(mailbox["address"] if mailbox else value)
    if address is None:
        raise CannotRead(SEVERAL_ADDRESSES if value.count("@") > 1 else UNCLEAR_FROM)
    written = address[0].lower()
    is_too_long = len(written) > ADDRESS_CHARACTERS or len(address["local"]) > LOCAL_PART_CHARACTERS
    if is_too_long or "=?" in written:
        raise CannotRead(UNCLEAR_FROM)
    if mailbox and not _harmless(mailbox["name"], written):
        raise CannotRead(OTHER_ADDRESS)
    return written


def _harmless(name: str, address: str) -> bool:
    """A name may repeat the address it stands before, as many programs do; it may not show another one."""
    shown = unicodedata.normalize("NFKC", words_decoded(name.replace("\\", "")))
    return all(found.lower().strip(".") == address for found in _LOOKS_LIKE_ADDRESS.findall(shown))


def _by_the_library(value: str) -> str:
    """The standard library's second opinion; "" if it sees anything but one address."""
    try:
        parsed = default_policy.header_factory("from", value)
        addresses = [str(address.addr_spec) for address in parsed.addresses]
        is_group = any(group.display_name is not None for group in parsed.groups)
    except Exception:  # noqa: BLE001 - it raises in many ways, none of them documented
        return ""
    return addresses[0].lower() if len(addresses) == 1 and not is_group else ""
