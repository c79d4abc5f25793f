"""Mails that want to hurt, read with the limits that the gateway has."""

from __future__ import annotations

import pytest

from tests.intake.hostile import HOSTILE, many_parts, nested_containers, text
from tests.waiting import HANG_SECONDS
from webordinary.core.mail import ParsedMail, StretchKind, UnreadableMail
from webordinary.intake.limits import FIELD_CHARACTERS, MIME_DEPTH, MIME_PARTS, CannotRead
from webordinary.intake.mime_parts import check_size
from webordinary.intake.read import read
from webordinary.mail.reader import TOO_MUCH, PooledMailReader
from webordinary.system.function_pool import FunctionPool

MEMORY_BYTES = 768 * 1024 * 1024

REFUSED = {
    "oversized": "it is larger than 25 MB",
    "10,000 parts": "it is made of more than 300 parts",
    "1,900 parts": "it is made of more than 300 parts",
    "1,000 nested containers": "it has mails inside mails, more than 25 deep",
    "190 nested containers": "it has mails inside mails, more than 25 deep",
    "1,000 nested mails": "it has mails inside mails, more than 25 deep",
    "190 nested mails": "it has mails inside mails, more than 25 deep",
    "90 nested digests": "it has mails inside mails, more than 25 deep",
    "1 MB header": "its header is longer than 256 KB",
    "1 MB folded header": "its header is longer than 256 KB",
    "10,000 header fields": "its header has more than 400 lines",
    "binary garbage": "its header is longer than 256 KB",
    "deep tags": "its text is made of too many pieces",
}
SHARES = 4  # for as many cores
NOBODY = {"1 MB header", "1 MB folded header", "10,000 header fields", "binary garbage"}


@pytest.mark.parametrize("share", range(SHARES))
async def test_no_hostile_mail_takes_long_or_much(share: int) -> None:
    """None of them needs the process's limits: those are for the mail that nobody has thought of."""
    async with FunctionPool(seconds=HANG_SECONDS, memory_bytes=MEMORY_BYTES) as pool:
        reader = PooledMailReader(pool)
        for name in list(HOSTILE)[share::SHARES]:
            mail = await reader.read(HOSTILE[name]())
            reason = mail.reason if isinstance(mail, UnreadableMail) else ""
            assert reason != TOO_MUCH, name
            if name in REFUSED:
                assert isinstance(mail, UnreadableMail), name
                assert (name, reason) == (name, REFUSED[name])
                assert mail.reply_to == ("" if name in NOBODY else "scott@example.com"), name


@pytest.mark.parametrize(
    "name", ["oversized", "10,000 parts", "1,000 nested containers", "1,000 nested mails", "only line ends"]
)
def test_the_worst_are_refused_before_anything_is_parsed(name: str) -> None:
    """Counting on the raw bytes costs next to nothing."""
    with pytest.raises(CannotRead):
        check_size(HOSTILE[name]())


def test_the_limits_are_where_they_say_they_are() -> None:
    """One less is fine: a limit that also stops honest mail is a bug."""
    assert isinstance(read(nested_containers(MIME_DEPTH)), ParsedMail)
    assert isinstance(read(nested_containers(MIME_DEPTH + 1)), UnreadableMail)
    assert isinstance(read(many_parts(MIME_PARTS - 1)), ParsedMail)
    assert isinstance(read(many_parts(MIME_PARTS)), UnreadableMail)


def test_text_with_many_dashed_lines_is_no_mail_of_many_parts() -> None:
    """A dump of a database has thousands of lines that begin like a boundary."""
    mail = read(text(b"-- a comment\r\n" * 3_000))
    assert isinstance(mail, ParsedMail)
    assert mail.own_words.count("a comment") == 3_000


def test_a_long_header_of_a_part_is_cut_before_it_is_read() -> None:
    """Nothing of use is that long, and what is behind it does not matter."""
    filler = b"; x=" + b"y" * FIELD_CHARACTERS
    mail = read(text(b"hello", b"text/plain" + filler + b"; charset=nonsense"))
    assert isinstance(mail, ParsedMail)
    assert mail.own_words == "hello"


def test_text_that_is_too_long_is_refused_and_not_cut() -> None:
    """Half an instruction is another instruction."""
    mail = read(text(b"word " * 12_000))
    assert isinstance(mail, UnreadableMail)
    assert mail.reason == "its text is longer than 50,000 characters; please attach long texts as a file"
    assert mail.reply_to == "scott@example.com"


def test_forwarded_text_may_be_longer_than_an_instruction() -> None:
    """It is material, not an order: none of it is lost."""
    body = b"Use this.\n\n---------- Forwarded message ---------\n" + b"material, " * 20_000
    mail = read(text(body))
    assert isinstance(mail, ParsedMail)
    assert mail.own_words == "Use this."
    assert mail.stretches[1].kind is StretchKind.FORWARDED
    assert mail.stretches[1].text.count("material") == 20_000
