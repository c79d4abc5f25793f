"""Real clients' mails, and what has to be understood of each. A new one is a .eml and a .toml in corpus/."""

from __future__ import annotations

import hashlib
import io

import pytest
from PIL import Image

from tests.intake.corpus import CORPUS, NAMES, expected, raw
from webordinary.core.mail import ParsedMail, UnreadableMail
from webordinary.intake.attachments import web_ready
from webordinary.intake.read import read
from webordinary.ports.images import NoImage, WebImage
from webordinary.sites.images import made_anew

OUR_DOMAINS = ("sites.example.net",)


class ImagesHere:
    """Makes pictures anew in this process; the one with the limits has its own tests."""

    async def web_ready(self, content: bytes) -> WebImage | NoImage:
        return made_anew(content)


def shown(mail: ParsedMail) -> tuple[list[str], list[str]]:
    files = [f"{file.name} {file.kind} {file.claimed_name}".rstrip() for file in mail.files]
    return files, [f"{file.claimed_name}: {file.problem}" for file in mail.skipped]


def test_the_corpus_is_large_enough_and_small_enough() -> None:
    assert len(NAMES) >= 200
    assert {path.stem for path in CORPUS.glob("*.toml")} == set(NAMES)
    assert sum(path.stat().st_size for path in CORPUS.iterdir()) < 2_000_000


@pytest.mark.parametrize("name", NAMES)
def test_a_mail_is_understood_as_its_sender_meant_it(name: str) -> None:
    """Every line here was a way in which some mail program surprised somebody."""
    wanted = expected(name)
    mail = read(raw(name), OUR_DOMAINS)
    assert mail.content_hash == hashlib.sha256(raw(name)).hexdigest()
    assert (mail.automatic.reason if mail.automatic else "") == wanted.automatic
    if isinstance(mail, UnreadableMail):
        assert (mail.reason, mail.reply_to) == (wanted.unreadable, wanted.reply_to)
        return
    assert wanted.unreadable == ""
    assert [{one.kind.value: one.text} for one in mail.stretches] == wanted.stretches
    assert (mail.from_address, mail.subject) == (wanted.from_, wanted.subject)
    assert shown(mail) == (wanted.files, wanted.skipped)


@pytest.mark.parametrize("name", [name for name in NAMES if expected(name).ready])
async def test_the_pictures_of_a_mail_become_web_ready(name: str) -> None:
    """A site shows what a person saw: upright, and nothing that says where it was taken."""
    before = read(raw(name))
    assert isinstance(before, ParsedMail)
    mail = await web_ready(before, ImagesHere())
    pictures = [file for file in mail.files if file.kind.startswith("image/")]
    described = []
    for file in pictures:
        with Image.open(io.BytesIO(file.content)) as image:
            described.append(f"{file.name} {file.kind} {image.width}x{image.height}")
            assert not image.getexif()
    refused = [f"{file.claimed_name}: {file.problem}" for file in mail.skipped[len(before.skipped) :]]
    assert described + refused == expected(name).ready
