"""Members by the address they write from: addresses that look alike, and those whose letters come back."""

from __future__ import annotations

import re
import unicodedata

from webordinary.core.addresses import without_tag
from webordinary.core.errors import BadInput
from webordinary.ports.bounces import Bounces, Bouncing
from webordinary.ports.directory import Directory

ADDRESS_CHARACTERS = 254
LOCAL_CHARACTERS = 64
LOCAL_DOMAIN = "localhost"  # the only one without a dot: a try-out on one machine

_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_ENCODED = "xn--"
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz")
_LAST_EUROPEAN = "\u017f"  # beyond it, marks are small enough to be overlooked
_LATIN_OF_THEIR_OWN = frozenset("æøœłđðþħ")  # letters that are no a-z with a mark, and look like nothing else


def canonical_address(text: str) -> str:
    """Give an address in its one spelling; refuse what is none, or may look like another one."""
    written = text.strip(" ")
    _refuse_invisible(written)
    if written.count("@") != 1 or any(mark in written for mark in '<>"(), '):
        raise BadInput(f"{text!r} is no address: write only the address, such as scott@example.org")
    local, _, domain = written.partition("@")
    address = f"{_canonical_local(local, text)}@{_canonical_domain(domain, text)}"
    if len(address) > ADDRESS_CHARACTERS:
        raise BadInput(
            f"the address has {len(address)} characters; at most {ADDRESS_CHARACTERS} are possible"
        )
    return address


def _refuse_invisible(text: str) -> None:
    for character in text:
        if not character.isprintable():
            raise BadInput(f"the address {text!r} has a character that can't be seen ({_name(character)})")


def _canonical_local(local: str, whole: str) -> str:
    if not local.isascii():
        strange = next(character for character in local if not character.isascii())
        raise BadInput(
            f"the address {whole!r} has {strange!r} ({_name(strange)}) before the @; "
            "we only know addresses with plain letters there"
        )
    lower = local.lower()
    if not _LOCAL.fullmatch(lower) or len(lower) > LOCAL_CHARACTERS:
        raise BadInput(f"{whole!r} is no address: {local!r} can't stand before the @")
    return lower


def _canonical_domain(domain: str, whole: str) -> str:
    labels = [_canonical_label(label, domain, whole) for label in domain.split(".")]
    if labels == [LOCAL_DOMAIN]:
        return LOCAL_DOMAIN
    if len(labels) == 1 or labels[-1].isdigit():
        raise BadInput(f"{whole!r} is no address: {domain!r} is no domain, such as example.org")
    return ".".join(labels)


def _canonical_label(label: str, domain: str, whole: str) -> str:
    ascii_label = label.lower() if label.isascii() else _encoded(label, domain, whole)
    if not _LABEL.fullmatch(ascii_label):
        raise BadInput(f"{whole!r} is no address: {domain!r} is no domain, such as example.org")
    if ascii_label.startswith(_ENCODED) and _decoded(ascii_label) is None:
        raise BadInput(f"{whole!r} is no address: {ascii_label!r} is the ASCII form of nothing")
    return ascii_label


def _encoded(label: str, domain: str, whole: str) -> str:
    """Turn a label into its ASCII form, if all of its letters are Latin ones that people can tell apart."""
    lower = label.lower()
    strange = next((character for character in label + lower if not _is_clearly_latin(character)), None)
    encoded = _ascii_form(lower)
    if strange is None and encoded is not None and _decoded(encoded) == lower:
        return encoded
    what = f"{strange!r} ({_name(strange)})" if strange else repr(label)
    meant = _ascii_form(domain)
    hint = f". If it is meant, write the domain in its ASCII form, {meant}" if meant else ""
    raise BadInput(f"the domain of {whole!r} has {what}, which may look like something else{hint}")


def _is_clearly_latin(character: str) -> bool:
    """Whether it is a letter of western or central Europe: a-z with a mark, or one of a few others."""
    if character.isascii() or character.lower() in _LATIN_OF_THEIR_OWN:
        return True
    is_composed = unicodedata.normalize("NFC", character) == character
    base = unicodedata.normalize("NFD", character)[0]
    return is_composed and character <= _LAST_EUROPEAN and base.lower() in _LATIN


def _ascii_form(text: str) -> str | None:
    try:
        return text.encode("idna").decode()
    except UnicodeError:
        return None


def _decoded(label: str) -> str | None:
    try:
        return label.encode().decode("idna")
    except UnicodeError:
        return None


def _name(character: str) -> str:
    return unicodedata.name(character, f"U+{ord(character):04X}")


async def address_on_file(address: str, directory: Directory) -> str:
    """The member's address that another one stands for: `name+tag@domain` is a mailbox of `name@domain`."""
    if without_tag(address) == address or await directory.lanes_of(address):
        return address
    return without_tag(address) if await directory.lanes_of(without_tag(address)) else address


async def is_member(address: str, directory: Directory) -> bool:
    """Say whether somebody may edit anything by mail from this address."""
    return bool(await directory.lanes_of(await address_on_file(address, directory)))


async def unreachable(bounces: Bounces, directory: Directory, *, limit: int) -> list[Bouncing]:
    """List the marked addresses that still are somebody's who may edit a site."""
    return [
        one for one in await bounces.all(limit=limit) if one.marked and await directory.lanes_of(one.address)
    ]
