"""The words live in files, and the files are where an installed program looks for them."""

import re
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.reply.letters import JOB, MAIL
from webordinary.core.language import Language
from webordinary.core.mail import Letter, LetterKind
from webordinary.reply.facts import Case, facts_of
from webordinary.reply.filling import Fact, Paragraph, Sheet, as_text

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "src" / "webordinary" / "reply" / "templates"
SHEETS = sorted([*LetterKind, "opening", "closing"])
FILES = sorted([*SHEETS, "phrases"])
FACTS = facts_of(Letter("a", LetterKind.DONE), Case(MAIL, JOB), "edit@x")


@pytest.mark.parametrize("language", Language)
def test_every_kind_of_letter_has_its_template(language: Language) -> None:
    assert sorted(path.stem for path in (TEMPLATES / language).iterdir()) == FILES


def test_every_folder_of_templates_is_a_language() -> None:
    assert {path.name for path in TEMPLATES.iterdir() if path.is_dir()} == set(Language)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("name", SHEETS)
def test_a_template_names_only_facts_that_exist(name: str, language: Language) -> None:
    """A misspelt name would be found by the first person who should get the letter."""
    named = {fact for part in Sheet(name, language).paragraphs for fact in part.needs | part.forbids}
    assert named <= set(FACTS)


def test_every_fact_is_used() -> None:
    named = {fact for name in SHEETS for part in Sheet(name).paragraphs for fact in part.needs | part.forbids}
    assert set(FACTS) <= named


def test_a_letter_loads_nothing_from_anywhere() -> None:
    """Remote pictures tell a stranger when a letter is read, and programs hide letters that have them."""
    text = (TEMPLATES / "letter.html").read_text()
    assert not re.search(r"<img|src=|url\(|@import|https?:|<script|<link", text)


def test_a_template_becomes_text_and_html() -> None:
    """One file says it in both forms: nobody is told less because of the program they read mail with."""
    listed = "Files & more:\n${files}\n- reply *undo*\n- or *redo*\n"
    paragraph = Paragraph.read(listed + "> ${quote}\n[Look](${preview})\n[Undo](${answer})")
    facts: dict[str, Fact] = {
        "files": ("<a>.jpg", "b.jpg"),
        "quote": "*no* [mark](up)",
        "preview": "https://x/?a&b",
        "answer": "mailto:x",
    }
    assert paragraph.as_text(facts) == (
        "Files & more:\n- <a>.jpg\n- b.jpg\n- reply “undo”\n- or “redo”\n> *no* [mark](up)\nLook:\nhttps://x/?a&b"
    )
    html = re.sub(r' (?:style|dir)="[^"]*"', "", paragraph.as_html(facts))
    assert html.replace("\n", "") == (
        "<p>Files &amp; more:</p><ul><li>&lt;a&gt;.jpg</li><li>b.jpg</li></ul>"
        "<ul><li>reply <b>undo</b></li><li>or <b>redo</b></li></ul>"
        "<blockquote>*no* [mark](up)</blockquote>"
        '<p><a href="https://x/?a&amp;b">Look</a></p><p><a href="mailto:x">Undo</a></p>'
    )


def test_a_paragraph_without_its_fact_is_left_out() -> None:
    paragraph = Paragraph.read("?a !b\nHello ${c}")
    assert paragraph.wanted({"a": "yes", "b": "", "c": "you"})
    assert not paragraph.wanted({"a": "", "b": "", "c": "you"})
    assert not paragraph.wanted({"a": "yes", "b": "yes", "c": "you"})
    assert not paragraph.wanted({"a": "yes", "b": "", "c": ""})
    assert paragraph.as_text({"c": "you"}) == "Hello you"


def test_the_signature_is_parted_as_mail_programs_expect() -> None:
    """Two dashes and a space, alone on a line: programs fade what follows, and leave it out of answers."""
    assert "\n-- \nWebordinary" in as_text(LetterKind.HELP, FACTS)


def test_the_wheel_has_every_template(tmp_path: Path) -> None:
    """What works in a checkout must work when installed."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name.partition("/templates/")[2] for name in archive.namelist() if "/reply/templates/" in name
        }
    assert packed == {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.*")}
