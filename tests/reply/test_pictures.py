"""A small before and after, shown in the letter itself."""

import re
from dataclasses import replace

from tests.reply.letters import MAIL, NOW, OURS, job, read
from webordinary.core.job import JobState
from webordinary.core.language import Language
from webordinary.core.mail import Letter, LetterKind
from webordinary.reply.compose import Composed, LetterPicture, When, compose
from webordinary.reply.context import Case

PNG = b"\x89PNG\r\n\x1a\n"
BOTH = (LetterPicture(When.BEFORE, PNG + b"1"), LetterPicture(When.AFTER, PNG + b"2"))


def composed(*pictures: LetterPicture, language: Language = Language.ENGLISH) -> bytes:
    letter, about = Letter("j1", LetterKind.DONE), job(JobState.DONE)
    made = compose(letter, Case(replace(MAIL, language=language), about), OURS, NOW, pictures)
    assert isinstance(made, Composed)
    return made.content


def test_pictures_are_shown_in_the_letter_with_words_for_those_who_do_not_see_them() -> None:
    letter = read(composed(*BOTH, language=Language.GERMAN))
    sources = re.findall(r'<img src="cid:([^"]+)" alt="([^"]+)"', letter.html)
    assert [label for _, label in sources] == ["Vorher", "Jetzt"]
    images = [part for part in letter.message.walk() if part.get_content_maintype() == "image"]
    assert [part["Content-ID"] for part in images] == [f"<{cid}>" for cid, _ in sources]
    assert [part.get_content() for part in images] == [picture.content for picture in BOTH]


def test_pictures_hang_on_the_html_alone() -> None:
    """Else programs that show text list them as files that somebody attached."""
    message = read(composed(*BOTH)).message
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "multipart/related"]
    assert not any(part.get_content_disposition() == "attachment" for part in message.walk())


def test_a_letter_is_the_same_whenever_it_is_composed() -> None:
    assert composed(*BOTH) == composed(*BOTH)


def test_without_pictures_there_is_no_place_for_them() -> None:
    assert "<img" not in read(composed()).html
    assert "<!-- pictures -->" not in read(composed()).html
